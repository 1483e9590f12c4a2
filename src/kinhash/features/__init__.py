"""What pictures are compared by, and the cache of features that are slow to extract."""
