"""Stores companies, their plans and counters, and the slugs by which Dagster identifies them."""
