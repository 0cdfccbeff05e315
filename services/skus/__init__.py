"""Writes, lists, archives and shows SKUs, for requests, pages and tools alike."""
