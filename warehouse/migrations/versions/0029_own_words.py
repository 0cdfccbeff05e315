"""Stores a company's own words: the value that a text in its files means, by field."""

from alembic import op

revision = "0029"
down_revision = "0028"

_COMPANY = "(SELECT nullif(current_setting('app.company_id', true), '')::uuid)"

_STATEMENTS = (
    """
    CREATE TABLE own_words (
        company_id UUID NOT NULL,
        field TEXT NOT NULL,
        folded TEXT NOT NULL,
        text TEXT NOT NULL,
        value JSON NOT NULL,
        updated_at TIMESTAMP WITH TIME ZONE NOT NULL,
        CONSTRAINT pk_own_words PRIMARY KEY (company_id, field, folded)
    )
    """,
    "COMMENT ON COLUMN own_words.folded IS 'the text without the differences that readers ignore'",
    "COMMENT ON COLUMN own_words.value IS 'as in a mapping; JSON null for an empty cell'",
    "ALTER TABLE own_words ENABLE ROW LEVEL SECURITY",
    "ALTER TABLE own_words FORCE ROW LEVEL SECURITY",
    f"CREATE POLICY company ON own_words USING (company_id = {_COMPANY}) WITH CHECK (company_id = {_COMPANY})",
    "GRANT SELECT, INSERT, UPDATE, DELETE ON own_words TO pcds_app",
)


def upgrade() -> None:
    """Make the table, enable row security, and grant the application its own company's rows."""
    for statement in _STATEMENTS:
        op.execute(statement)


def downgrade() -> None:
    """Drop the table."""
    op.execute("DROP TABLE own_words")
