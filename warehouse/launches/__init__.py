"""Hands Dagster's runs to the workers, and finds the runs whose worker is lost."""
