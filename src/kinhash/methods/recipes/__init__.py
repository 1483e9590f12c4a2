"""How `SparseHash` learns: the recipes, and which parameters belong to which."""
