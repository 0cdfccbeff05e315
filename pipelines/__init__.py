"""Processes data, a module or folder for each pipeline, and contains the Dagster definitions that run them.

What happens to data is plain functions: `reading`, `writing`, `imports`, `rules`, `figures`, `filings` and others.
`defs`, `checks`, `metadata` and `engine` are for Dagster; the import contracts in `pyproject.toml` list them.
"""
