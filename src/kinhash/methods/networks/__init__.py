"""How methods train networks: one function that fits, and what its recipes are made of."""
