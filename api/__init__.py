"""The REST door and the command line: what callers and operators see.

A handler authenticates, validates, calls one step or one query, and answers. What a write is stands in
`pipelines.writing`, what a read is in `warehouse`; nothing here computes a grade, and nothing imports Dagster.
"""
