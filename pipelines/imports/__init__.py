"""Runs an import from its claim by a run to its end: written in chunks, completed or failed.

One module a part: `process` does the work and ends an import, `report` makes the rows of the error report, `rejections`
the file of rejected rows. `warehouse.imports` has a run's claim and the answers to polls. `pipelines.reading` reads the
file; `pipelines.writing.write` writes its rows. Nothing here imports Dagster.
"""
