"""What people and operators ask for that is no pipeline: review, suppliers, connections, drafts, files, the audit.

What belongs here: application services that `api` and `connector` share, each a plain function over a database
connection. What does not: web frameworks, Dagster, and what a write is (`pipelines.writing`).
"""
