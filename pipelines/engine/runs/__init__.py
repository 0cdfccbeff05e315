"""Contains the runs that commands start (`pipelines.engine.run`); `dagster.Failure` says why one is refused."""
