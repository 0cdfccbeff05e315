"""Counts guesses by network, lets an address be used again, and adds links that set a password once.

The functions run as their owner, because a caller has no company before its digest is looked up.
"""

from pathlib import Path

from alembic import op

revision = "0022"
down_revision = "0021"

_OWN = "company_id = (SELECT nullif(current_setting('app.company_id', true), '')::uuid)"
_FOR_THE_APPLICATION = (
    "pcds_sign_in(text, text, text, integer, integer, integer, timestamptz)",
    "pcds_password_link(bytea, timestamptz)",
    "pcds_set_password(uuid, text)",
)


def upgrade() -> None:
    """Make the table and the functions, close the table, and grant the application its rights."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))
    op.execute("ALTER TABLE password_links ENABLE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE password_links FORCE ROW LEVEL SECURITY")
    op.execute(f"CREATE POLICY company ON password_links USING ({_OWN}) WITH CHECK ({_OWN})")
    op.execute("CREATE POLICY owner_admits ON password_links TO CURRENT_ROLE USING (true) WITH CHECK (true)")
    op.execute("GRANT SELECT, INSERT, DELETE ON password_links TO pcds_app")
    for function in _FOR_THE_APPLICATION:
        op.execute(f"REVOKE ALL ON FUNCTION {function} FROM PUBLIC")
        op.execute(f"GRANT EXECUTE ON FUNCTION {function} TO pcds_app")


def downgrade() -> None:
    """Links are lost and requested anew; an address that two accounts have had must first be reduced to one by hand."""
    for function in _FOR_THE_APPLICATION:
        op.execute(f"DROP FUNCTION {function}")
    op.execute("DROP TABLE password_links")
    op.execute("DROP INDEX uq_users_email")
    op.execute("ALTER TABLE users ADD CONSTRAINT uq_users_email UNIQUE (email)")
    sign_in = (Path(__file__).with_name("0016_accounts.sql")).read_text(encoding="utf-8")
    body = sign_in[sign_in.index("CREATE FUNCTION pcds_sign_in(") : sign_in.index("-- The person behind the digest")]
    op.get_bind().exec_driver_sql(body)
    before = "pcds_sign_in(text, text, text, integer, integer, timestamptz)"
    op.execute(f"REVOKE ALL ON FUNCTION {before} FROM PUBLIC")
    op.execute(f"GRANT EXECUTE ON FUNCTION {before} TO pcds_app")
