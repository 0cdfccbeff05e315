"""The Dagster assets, one file per group; each body calls a step and says in metadata what came of it.

No step is written here: what happens to a row is `pipelines.steps`. What an analyst sees of it is `preview`.
"""
