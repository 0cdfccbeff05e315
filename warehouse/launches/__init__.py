"""Dagster runs on their way to a worker."""
