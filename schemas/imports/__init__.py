"""Imports: files that are sent, and what becomes of their rows: the modules of `schemas` about it."""
