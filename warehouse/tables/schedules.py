"""When a schedule ran last, for the workers that tick it (`pipelines.ticks`). Of no company."""

from sqlalchemy import Column, DateTime, Table, Text

from warehouse.tables.base import metadata

schedule_ticks = Table(
    "schedule_ticks",
    metadata,
    Column("schedule", Text, primary_key=True),
    Column("tick_at", DateTime(timezone=True), comment="the latest tick whose run has succeeded"),
    Column("run_id", Text, nullable=False, comment="of Dagster, the last that was begun"),
)
