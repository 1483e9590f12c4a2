"""What several methods fit: projections, rotations, Gaussian units."""
