"""How methods train a network."""
