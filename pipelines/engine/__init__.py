"""Brings Dagster's runs to a worker and gives them their resources: launcher, coordinator, worker, resources.

What belongs here: our implementations of Dagster's extension points, and what all subjects of `pipelines.defs` share.
What does not: the definitions (`pipelines.defs`), and the processing of data (`pipelines.writing` and its siblings).
"""
