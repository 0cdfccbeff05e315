"""Statements about packaging law, checked against its provisions."""
