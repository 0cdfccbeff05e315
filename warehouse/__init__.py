"""Where data rests: Postgres under row-level security, objects, and what every process opens them with.

What belongs here: settings, clock, logs, the embedded server, pools, tables, migrations, queries, the object store.
What does not: what a write means (`pipelines.writing`) and what the law says (`compliance`).
"""
