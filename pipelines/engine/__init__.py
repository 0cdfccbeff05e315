"""How Dagster's runs reach a worker and what they work with there: launcher, coordinator, worker, resources.

What belongs here: our implementations of Dagster's extension points, and what all subjects of `pipelines.defs` share.
What does not: the definitions (`pipelines.defs`), and what a run does to data (`pipelines.writing` and its siblings).
"""
