"""What reproduces a table or a figure: comparisons, records, the demos, the paper's experiments."""
