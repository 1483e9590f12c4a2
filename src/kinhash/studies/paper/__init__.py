"""The paper's experiments with one modality."""
