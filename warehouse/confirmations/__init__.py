"""Stores confirmation codes for proposals of an assistant."""
