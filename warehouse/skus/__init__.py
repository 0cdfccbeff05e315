"""Stores and reads SKUs: their versions, lists and search, the archive, and where stored values came from."""
