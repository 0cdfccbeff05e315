"""Processes data, a folder for each pipeline, and contains the Dagster definitions that run them.

`reading`, `writing`, `imports`, `regrading`, `figures`, `declarations`, `catalogue` and `housekeeping` are plain
functions. `defs`, `engine` and `shown` are for Dagster, and only they import it.
"""
