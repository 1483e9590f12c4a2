"""The user's own files as data sets."""
