"""Everything that imports torch: the networks, their losses and the training loop."""
