"""Adds people, their sessions, and the applications that they have connected.

The functions run as their owner, because a caller has no company before its digest is looked up. The application's role
sees and changes a company's rows in that company's session; it never sees tokens.
"""

from pathlib import Path

from alembic import op

revision = "0016"
down_revision = "0015"

_OWN = "company_id = (SELECT nullif(current_setting('app.company_id', true), '')::uuid)"
_GRANTS = {
    "users": "SELECT, INSERT, UPDATE (disabled_at)",
    "user_sessions": "INSERT",
    "connections": "SELECT, INSERT, UPDATE (scopes, authorised_at, revoked_at)",
    "authorization_codes": "INSERT",
    "connection_tokens": None,
}
_FOR_THE_APPLICATION = (
    "pcds_sign_in(text, text, text, integer, integer, timestamptz)",
    "pcds_session(bytea, timestamptz, timestamptz)",
    "pcds_end_session(bytea)",
    "pcds_take_registration(text, integer, timestamptz)",
    "pcds_admit_connection(bytea, text, text, timestamptz)",
    "pcds_redeem_code(bytea, text, text, text, text, bytea, bytea, timestamptz, timestamptz, timestamptz)",
    "pcds_rotate_token(bytea, text, text[], text, bytea, bytea, timestamptz, timestamptz, timestamptz)",
    "pcds_revoke_token(bytea, text, timestamptz)",
    "pcds_sweep_accounts(timestamptz)",
)
_INNER = (
    "pcds_is_live(uuid, text)",
    "pcds_add_tokens(uuid, uuid, text, text[], text[], bytea, bytea, timestamptz, timestamptz)",
)


def upgrade() -> None:
    """Make tables and functions, enable row security, and grant the application its rights."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))
    for table, rights in _GRANTS.items():
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
        op.execute(f"CREATE POLICY company ON {table} USING ({_OWN}) WITH CHECK ({_OWN})")
        op.execute(f"CREATE POLICY owner_admits ON {table} TO CURRENT_ROLE USING (true) WITH CHECK (true)")
        if rights:
            op.execute(f"GRANT {rights} ON {table} TO pcds_app")
    op.execute("GRANT SELECT, INSERT, UPDATE ON oauth_clients TO pcds_app")
    for function in (*_FOR_THE_APPLICATION, *_INNER):
        op.execute(f"REVOKE ALL ON FUNCTION {function} FROM PUBLIC")
    for function in _FOR_THE_APPLICATION:
        op.execute(f"GRANT EXECUTE ON FUNCTION {function} TO pcds_app")


def downgrade() -> None:
    """Drop all of it, with its rows."""
    for function in (*_FOR_THE_APPLICATION, *_INNER):
        op.execute(f"DROP FUNCTION {function}")
    for table in ("connection_tokens", "authorization_codes", "connections", "oauth_clients", "user_sessions", "users"):
        op.execute(f"DROP TABLE {table}")
