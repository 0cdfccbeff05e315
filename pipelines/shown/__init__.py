"""Prepares an asset's page in the Dagster UI for analysts: its columns (`columns`), tables and pictures of a run."""
