"""Suppliers: what they are asked, and what they answer: the modules of `warehouse` about it."""
