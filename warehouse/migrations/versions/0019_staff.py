"""Adds staff of the operator, who see Dagster and no company's pages (decisions §12).

The tables belong to no company and are closed to the application's role, which reaches them through functions alone:
they find one account or session at a time, by the credentials that its owner shows.
"""

from pathlib import Path

from alembic import op

revision = "0019"
down_revision = "0018"

_TABLES = ("staff_sessions", "staff")
_FUNCTIONS = (
    "pcds_staff_sign_in(text, text, text, integer, integer, timestamptz)",
    "pcds_begin_staff_session(bytea, uuid, timestamptz, timestamptz)",
    "pcds_staff_session(bytea, timestamptz, timestamptz)",
    "pcds_end_staff_session(bytea)",
    "pcds_sweep_staff_sessions(timestamptz)",
)


def upgrade() -> None:
    """Make tables and functions, close the tables, and grant the functions to the application."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))
    for table in _TABLES:
        op.execute(f"REVOKE ALL ON {table} FROM PUBLIC")
    for function in _FUNCTIONS:
        op.execute(f"REVOKE ALL ON FUNCTION {function} FROM PUBLIC")
        op.execute(f"GRANT EXECUTE ON FUNCTION {function} TO pcds_app")


def downgrade() -> None:
    """Drop all of it, with its rows."""
    for function in _FUNCTIONS:
        op.execute(f"DROP FUNCTION {function}")
    for table in _TABLES:
        op.execute(f"DROP TABLE {table}")
