"""Declarations of conformity (DoC): the modules of `api` about it."""
