"""Makes the table of what is printed on packs.

No table that requests use is changed, so that nothing waits for it.
"""

from alembic import op

revision = "0011"
down_revision = "0010"

_COMPANY = "company_id = (SELECT nullif(current_setting('app.company_id', true), '')::uuid)"
_MARKS = f"""
CREATE TABLE marks (
    company_id uuid NOT NULL,
    record_id uuid NOT NULL,
    printed json,
    version integer NOT NULL,
    updated_at timestamptz NOT NULL,
    CONSTRAINT pk_marks PRIMARY KEY (company_id, record_id)
);
COMMENT ON COLUMN marks.record_id IS 'the SKU, or the brand of those that say nothing themselves';
COMMENT ON COLUMN marks.printed IS 'what schemas.marks takes; null where nothing is said any more';
COMMENT ON COLUMN marks.version IS '1 at the first entry, one more at each change';
ALTER TABLE marks ENABLE ROW LEVEL SECURITY;
ALTER TABLE marks FORCE ROW LEVEL SECURITY;
CREATE POLICY company ON marks USING ({_COMPANY}) WITH CHECK ({_COMPANY});
GRANT SELECT, INSERT, UPDATE ON marks TO pcds_app
"""


def upgrade() -> None:
    """Make the table in one statement."""
    op.get_bind().exec_driver_sql(_MARKS)
