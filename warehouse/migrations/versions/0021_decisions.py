"""Stores a decision's effect, the note to the supplier, and the issued declarations with their bytes.

A declaration is never changed: a later one replaces it with a draft of its own.
"""

from alembic import op

revision = "0021"
down_revision = "0020"

_OWN = "company_id = (SELECT nullif(current_setting('app.company_id', true), '')::uuid)"

_STATEMENTS = (
    "ALTER TABLE review_entries ADD COLUMN note TEXT, ADD COLUMN decided JSON",
    "COMMENT ON COLUMN review_entries.note IS 'what the supplier is told of a rejection'",
    "COMMENT ON COLUMN review_entries.decided IS 'what was decided on: fields and grade before and after'",
    "GRANT UPDATE (note, decided) ON review_entries TO pcds_app",
    "CREATE INDEX ix_review_entries_answers ON review_entries (request_id, filed_at DESC) WHERE request_id IS NOT NULL",
    """
    CREATE TABLE issued_declarations (
        doc_id UUID NOT NULL,
        company_id UUID NOT NULL,
        entry_id UUID NOT NULL,
        content JSON NOT NULL,
        pdf BYTEA NOT NULL,
        sha256 TEXT NOT NULL,
        created_at TIMESTAMP WITH TIME ZONE NOT NULL,
        CONSTRAINT pk_issued_declarations PRIMARY KEY (doc_id),
        CONSTRAINT uq_issued_declarations_entry_id UNIQUE (entry_id)
    )
    """,
    "COMMENT ON COLUMN issued_declarations.doc_id IS 'the row of docs that it is'",
    "COMMENT ON COLUMN issued_declarations.entry_id IS 'the draft of the review queue that it was issued from'",
    "COMMENT ON COLUMN issued_declarations.content IS 'what the PDF says, point by point'",
    "COMMENT ON COLUMN issued_declarations.sha256 IS 'of the PDF, hexadecimal'",
    "ALTER TABLE issued_declarations ENABLE ROW LEVEL SECURITY",
    "ALTER TABLE issued_declarations FORCE ROW LEVEL SECURITY",
    f"CREATE POLICY company ON issued_declarations USING ({_OWN}) WITH CHECK ({_OWN})",
    "GRANT SELECT, INSERT ON issued_declarations TO pcds_app",
)


def upgrade() -> None:
    """Add the columns, make the table, enable row security, and grant the application its own company's rows."""
    for statement in _STATEMENTS:
        op.execute(statement)


def downgrade() -> None:
    """Drop them: the bytes of issued declarations are lost, their records stay."""
    op.execute("DROP TABLE issued_declarations")
    op.execute("DROP INDEX ix_review_entries_answers")
    op.execute("ALTER TABLE review_entries DROP COLUMN note, DROP COLUMN decided")
