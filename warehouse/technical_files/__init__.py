"""Metadata of technical files; their bytes lie in the object store."""
