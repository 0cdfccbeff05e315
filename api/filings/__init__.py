"""Declarations to schemes and registers, over REST, on pages and by command."""
