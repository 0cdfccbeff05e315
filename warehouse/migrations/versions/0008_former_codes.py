"""Makes the table of former codes: an upsert of what a renamed SKU was called makes no second one."""

from alembic import op

revision = "0008"
down_revision = "0007"

_COMPANY = "company_id = (SELECT nullif(current_setting('app.company_id', true), '')::uuid)"
_FORMER_CODES = f"""
CREATE TABLE former_codes (
    company_id uuid NOT NULL,
    sku_code text NOT NULL,
    sku_id uuid NOT NULL,
    renamed_at timestamptz NOT NULL,
    CONSTRAINT pk_former_codes PRIMARY KEY (company_id, sku_code)
);
COMMENT ON COLUMN former_codes.sku_id IS 'the SKU that had the code before it was renamed';
ALTER TABLE former_codes ENABLE ROW LEVEL SECURITY;
ALTER TABLE former_codes FORCE ROW LEVEL SECURITY;
CREATE POLICY company ON former_codes USING ({_COMPANY}) WITH CHECK ({_COMPANY});
GRANT SELECT, INSERT, DELETE ON former_codes TO pcds_app
"""


def upgrade() -> None:
    """Make an empty table: nothing that runs meanwhile knows it."""
    op.get_bind().exec_driver_sql(_FORMER_CODES)
