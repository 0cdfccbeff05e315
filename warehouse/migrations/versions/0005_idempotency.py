"""Stores answers for requests that are sent again.

The index by time serves the removal of answers older than a day. A body is already deflated, so Postgres must not try
to compress it again.
"""

from alembic import op

revision = "0005"
down_revision = "0004"

_COMPANY = "(SELECT nullif(current_setting('app.company_id', true), '')::uuid)"

_STATEMENTS = (
    """
    CREATE TABLE kept_answers (
        company_id UUID NOT NULL,
        request BYTEA NOT NULL,
        fingerprint BYTEA NOT NULL,
        status INTEGER NOT NULL,
        media_type TEXT NOT NULL,
        body BYTEA NOT NULL,
        answered_at TIMESTAMP WITH TIME ZONE NOT NULL,
        CONSTRAINT pk_kept_answers PRIMARY KEY (company_id, request)
    )
    """,
    "CREATE INDEX ix_kept_answers_answered_at ON kept_answers (answered_at)",
    "ALTER TABLE kept_answers ALTER COLUMN body SET STORAGE EXTERNAL",
    "COMMENT ON COLUMN kept_answers.request IS 'SHA-256 of company, method, path and Idempotency-Key'",
    "COMMENT ON COLUMN kept_answers.fingerprint IS 'SHA-256 of the payload'",
    "COMMENT ON COLUMN kept_answers.status IS 'of HTTP, 200 to 299'",
    "COMMENT ON COLUMN kept_answers.body IS 'as zlib deflates it (RFC 1950)'",
    "ALTER TABLE kept_answers ENABLE ROW LEVEL SECURITY",
    "ALTER TABLE kept_answers FORCE ROW LEVEL SECURITY",
    f"CREATE POLICY company ON kept_answers USING (company_id = {_COMPANY}) WITH CHECK (company_id = {_COMPANY})",
    "GRANT SELECT, INSERT, UPDATE, DELETE ON kept_answers TO pcds_app",
)


def upgrade() -> None:
    """Make the table, enable row security, and grant the application its own company's rows."""
    for statement in _STATEMENTS:
        op.execute(statement)


def downgrade() -> None:
    """Drop the table."""
    op.execute("DROP TABLE kept_answers")
