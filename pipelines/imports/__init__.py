"""Runs an import from submission to its end: queued, claimed by a run, written in chunks, completed or failed, polled.

One file per part: the API calls `submit`, `process` does the work, `report` makes the rows of the error report,
`settle` ends an import. `warehouse.imports` has a run's claim and the answers to polls. `pipelines.reading` reads the
file; `pipelines.writing.write` writes its rows. Nothing here imports Dagster.
"""
