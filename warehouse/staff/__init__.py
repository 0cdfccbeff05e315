"""Stores staff of the operator and their sessions."""
