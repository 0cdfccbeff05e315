"""Imports: files that are sent, and what becomes of their rows: the modules of `api` about it."""
