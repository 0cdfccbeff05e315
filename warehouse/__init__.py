"""Stores and reads data: Postgres under row-level security, the object store, and the settings to open both.

What belongs here: settings, clock, logs, the embedded server, pools, tables, migrations, queries, the object store.
What does not: the meaning of a write (`pipelines.writing`) and the rules of the law (`compliance`).
"""
