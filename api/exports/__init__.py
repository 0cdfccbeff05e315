"""Exports: the whole portfolio as files: the modules of `api` about it."""
