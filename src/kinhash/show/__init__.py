"""How results are shown: tables, figures and one HTML page."""
