"""Measuring methods, and showing what was measured: tables, plots, a report and the demo."""
