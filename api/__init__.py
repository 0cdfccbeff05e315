"""REST API, web pages and command line of the service: what callers and operators use.

A handler authenticates, validates, calls one step or one query, and answers. `pipelines.writing` defines writes,
`warehouse` defines reads. Nothing here computes a grade, and nothing imports Dagster.
"""
