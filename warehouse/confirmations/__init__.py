"""Confirmation codes for what an assistant proposes."""
