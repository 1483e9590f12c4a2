"""Methods of several modalities: their common face, and what goes in."""
