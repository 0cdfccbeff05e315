"""Imports of files over REST, on pages and by command: sending, following, correcting, undoing."""
