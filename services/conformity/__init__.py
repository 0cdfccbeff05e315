"""Declarations of conformity (DoC): the modules of `services` about it."""
