"""Exact search over packed codes, within a radius or for the k nearest."""
