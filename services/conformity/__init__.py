"""Drafts, issues, renews and withdraws declarations of conformity (DoC)."""
