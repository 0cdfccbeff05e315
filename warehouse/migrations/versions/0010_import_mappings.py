"""Stores mappings of imports that a company keeps under a name."""

from alembic import op

revision = "0010"
down_revision = "0009"

_COMPANY = "(SELECT nullif(current_setting('app.company_id', true), '')::uuid)"

_STATEMENTS = (
    """
    CREATE TABLE import_mappings (
        company_id UUID NOT NULL,
        name TEXT NOT NULL,
        mapping JSON NOT NULL,
        updated_at TIMESTAMP WITH TIME ZONE NOT NULL,
        CONSTRAINT pk_import_mappings PRIMARY KEY (company_id, name)
    )
    """,
    "COMMENT ON COLUMN import_mappings.mapping IS 'as the caller sent it with the name last'",
    "ALTER TABLE import_mappings ENABLE ROW LEVEL SECURITY",
    "ALTER TABLE import_mappings FORCE ROW LEVEL SECURITY",
    f"CREATE POLICY company ON import_mappings USING (company_id = {_COMPANY}) WITH CHECK (company_id = {_COMPANY})",
    "GRANT SELECT, INSERT, UPDATE ON import_mappings TO pcds_app",
)


def upgrade() -> None:
    """Make the table, enable row security, and grant the application its own company's rows."""
    for statement in _STATEMENTS:
        op.execute(statement)


def downgrade() -> None:
    """Drop the table."""
    op.execute("DROP TABLE import_mappings")
