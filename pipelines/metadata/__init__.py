"""Prepares what runs show of their work in Dagster: tables, plots, pictures, and the meaning of columns, by subject.

What belongs here: metadata of assets. What does not: the assets (`pipelines.defs`) and how runs are run
(`pipelines.engine`).
"""
