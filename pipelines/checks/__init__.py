"""Holds what is stored against its contracts: the factory of Dagster's checks, and what they look at by subject."""
