"""From what the user has (labels, tags, pairs, or vectors alone) to sources of training pairs."""
