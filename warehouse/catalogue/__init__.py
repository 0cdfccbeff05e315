"""Stores the loaded jurisdiction catalogue."""
