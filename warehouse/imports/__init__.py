"""Imports, their errors, and the mappings that a company keeps."""
