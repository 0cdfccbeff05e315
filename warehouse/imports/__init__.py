"""Stores imports, their claims and errors, and the mappings that a company keeps."""
