"""The experiments with several modalities."""
