"""Reading what a run shows: the lines of a table among its metadata."""

import dagster as dg


def lines(shown: object) -> list[str]:
    """The records of a table as `cell | cell`, in the order of its columns."""
    assert isinstance(shown, dg.TableMetadataValue), shown
    columns = [column.name for column in shown.schema.columns]
    return [" | ".join(str(record.data[name]) for name in columns) for record in shown.records]
