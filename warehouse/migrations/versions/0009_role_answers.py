"""Makes the table of answers that decide a company's roles.

No table that requests use is changed, so that nothing waits for it.
"""

from alembic import op

revision = "0009"
down_revision = "0008"

_COMPANY = "company_id = (SELECT nullif(current_setting('app.company_id', true), '')::uuid)"
_ANSWERS = f"""
CREATE TABLE role_answers (
    company_id uuid NOT NULL,
    record_id uuid NOT NULL,
    answers json NOT NULL,
    version integer NOT NULL,
    updated_at timestamptz NOT NULL,
    CONSTRAINT pk_role_answers PRIMARY KEY (company_id, record_id)
);
COMMENT ON COLUMN role_answers.record_id IS 'the SKU, or the company itself';
COMMENT ON COLUMN role_answers.answers IS 'those of schemas.roles that are answered';
COMMENT ON COLUMN role_answers.version IS '1 at the first answer, one more at each change';
ALTER TABLE role_answers ENABLE ROW LEVEL SECURITY;
ALTER TABLE role_answers FORCE ROW LEVEL SECURITY;
CREATE POLICY company ON role_answers USING ({_COMPANY}) WITH CHECK ({_COMPANY});
GRANT SELECT, INSERT, UPDATE ON role_answers TO pcds_app
"""


def upgrade() -> None:
    """Make the table in one statement."""
    op.get_bind().exec_driver_sql(_ANSWERS)
