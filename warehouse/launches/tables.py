"""Table of the runs that Dagster's launcher queues for workers (`pipelines.engine.{launcher,worker}`).

Of no company.
"""

from sqlalchemy import Boolean, Column, DateTime, Index, Integer, Table, Text, text

from warehouse.base import metadata

launches = Table(
    "launches",
    metadata,
    Column("run_id", Text, primary_key=True, comment="of Dagster, whose storage knows the rest of the run"),
    Column("company", Text, comment="whose run it is, or null; companies take turns"),
    Column("resume", Boolean, nullable=False, comment="the run has begun before and lost its worker"),
    Column("asked_at", DateTime(timezone=True), nullable=False, server_default=text("clock_timestamp()")),
    Column("worker", Integer, comment="number of the worker that took it; its advisory lock says whether it lives"),
    Column("taken_at", DateTime(timezone=True)),
    Column("ended_at", DateTime(timezone=True)),
    Index("ix_launches_waiting", "asked_at", postgresql_where=text("worker IS NULL")),
)
