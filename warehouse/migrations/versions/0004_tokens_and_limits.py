"""Adds bearer tokens, request windows, exact request limits, and the admission of a caller in one statement.

`pcds_admit` takes the place of `pcds_authenticate`. The functions run as their owner, because a caller has no company
yet, and answer for a digest only. The application's role reads and changes none of the limits and windows; it adds
tokens in the session of their company.
"""

from pathlib import Path

from alembic import op

revision = "0004"
down_revision = "0003"

_OWN = "company_id = (SELECT nullif(current_setting('app.company_id', true), '')::uuid)"
_OWNED = ("bearer_tokens", "request_windows")
_FOR_THE_APPLICATION = (
    "pcds_admit(bytea, boolean, integer, timestamptz)",
    "pcds_admit_client(uuid, bytea, text, integer, timestamptz)",
    "pcds_sweep_access(timestamptz)",
)
_INNER = "pcds_take(text, integer, timestamptz)"


def upgrade() -> None:
    """Make tables and functions, enable row security, and grant the application its rights."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))
    for table in _OWNED:
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
        op.execute(f"CREATE POLICY company ON {table} USING ({_OWN}) WITH CHECK ({_OWN})")
        op.execute(f"CREATE POLICY owner_admits ON {table} TO CURRENT_ROLE USING (true) WITH CHECK (true)")
    op.execute("GRANT INSERT ON bearer_tokens TO pcds_app")
    for function in (*_FOR_THE_APPLICATION, _INNER):
        op.execute(f"REVOKE ALL ON FUNCTION {function} FROM PUBLIC")
    for function in _FOR_THE_APPLICATION:
        op.execute(f"GRANT EXECUTE ON FUNCTION {function} TO pcds_app")
    op.execute("DROP FUNCTION pcds_authenticate(bytea)")
