"""Statements about packaging law: the modules of `api` about them."""
