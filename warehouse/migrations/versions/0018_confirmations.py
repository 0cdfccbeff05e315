"""Stores confirmations that an assistant shows to its user where it cannot ask by itself (decisions §7)."""

from alembic import op

revision = "0018"
down_revision = "0017"

_COMPANY = "(SELECT nullif(current_setting('app.company_id', true), '')::uuid)"

_STATEMENTS = (
    """
    CREATE TABLE confirmations (
        company_id UUID NOT NULL,
        code_hash BYTEA NOT NULL,
        connection_id UUID NOT NULL,
        meaning BYTEA NOT NULL,
        expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
        CONSTRAINT pk_confirmations PRIMARY KEY (company_id, code_hash)
    )
    """,
    "CREATE INDEX ix_confirmations_expires_at ON confirmations (company_id, expires_at)",
    "COMMENT ON COLUMN confirmations.code_hash IS 'SHA-256 of the code'",
    "COMMENT ON COLUMN confirmations.meaning IS 'SHA-256 of the tool and its arguments'",
    "ALTER TABLE confirmations ENABLE ROW LEVEL SECURITY",
    "ALTER TABLE confirmations FORCE ROW LEVEL SECURITY",
    f"CREATE POLICY company ON confirmations USING (company_id = {_COMPANY}) WITH CHECK (company_id = {_COMPANY})",
    "GRANT SELECT, INSERT, DELETE ON confirmations TO pcds_app",
)


def upgrade() -> None:
    """Make the table, enable row security, and grant the application its own company's rows."""
    for statement in _STATEMENTS:
        op.execute(statement)


def downgrade() -> None:
    """Drop the table: waiting codes are lost, and are requested anew."""
    op.execute("DROP TABLE confirmations")
