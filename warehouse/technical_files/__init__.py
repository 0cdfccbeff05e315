"""Stores the metadata of technical files; their bytes are in the object store."""
