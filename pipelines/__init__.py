"""What happens to data: the steps of a write, and the Dagster assets, checks and jobs that run them.

`steps/` are plain functions that every door uses; everything else here is for Dagster, and only this package
imports it.
"""
