"""Provides the services outside the pipelines: review, suppliers, connections, drafts, files, the audit.

What belongs here: application services that `api` and `connector` share, each a plain function over a database
connection. What does not: web frameworks, Dagster, and the steps of a write (`pipelines.writing`).
"""
