"""Adds the metadata of a SKU's technical files; the bytes are objects."""

from alembic import op

revision = "0007"
down_revision = "0006"

_COMPANY = "(SELECT nullif(current_setting('app.company_id', true), '')::uuid)"

_TABLE = """
CREATE TABLE technical_files (
    id UUID NOT NULL,
    company_id UUID NOT NULL,
    sku_id UUID NOT NULL,
    type TEXT NOT NULL,
    filename TEXT NOT NULL,
    media_type TEXT NOT NULL,
    size_bytes INTEGER NOT NULL,
    sha256 TEXT NOT NULL,
    reference TEXT,
    issuer TEXT,
    issued_on DATE,
    expires_on DATE,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    updated_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_technical_files PRIMARY KEY (id)
);
CREATE INDEX ix_technical_files_newest ON technical_files (company_id, sku_id, created_at DESC);
COMMENT ON COLUMN technical_files.id IS 'the object <company_id>/files/<id> holds the bytes';
COMMENT ON COLUMN technical_files.media_type IS 'what the bytes are, not what they were declared as';
COMMENT ON COLUMN technical_files.sha256 IS 'of the bytes, hexadecimal';
"""


def upgrade() -> None:
    """Make the table, each company's rows visible to it alone; rows are never changed or removed."""
    op.get_bind().exec_driver_sql(_TABLE)
    op.execute("ALTER TABLE technical_files ENABLE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE technical_files FORCE ROW LEVEL SECURITY")
    own = f"company_id = {_COMPANY}"
    op.execute(f"CREATE POLICY company ON technical_files USING ({own}) WITH CHECK ({own})")
    op.execute("GRANT SELECT, INSERT ON technical_files TO pcds_app")
