"""Declarations of conformity (DoC) over REST, on pages and by command."""
