"""Makes the table of what a company holds in the registers of each market.

No table that requests use is changed, so that nothing waits for it.
"""

from alembic import op

revision = "0010"
down_revision = "0009"

_COMPANY = "company_id = (SELECT nullif(current_setting('app.company_id', true), '')::uuid)"
_REGISTERS = f"""
CREATE TABLE registers (
    company_id uuid NOT NULL,
    market text NOT NULL,
    held json NOT NULL,
    version integer NOT NULL,
    updated_at timestamptz NOT NULL,
    CONSTRAINT pk_registers PRIMARY KEY (company_id, market)
);
COMMENT ON COLUMN registers.market IS 'in the Union the Member State';
COMMENT ON COLUMN registers.held IS 'registrations, representative and certification of schemas.registers';
COMMENT ON COLUMN registers.version IS '1 at the first entry, one more at each change';
ALTER TABLE registers ENABLE ROW LEVEL SECURITY;
ALTER TABLE registers FORCE ROW LEVEL SECURITY;
CREATE POLICY company ON registers USING ({_COMPANY}) WITH CHECK ({_COMPANY});
GRANT SELECT, INSERT, UPDATE ON registers TO pcds_app
"""


def upgrade() -> None:
    """Make the table in one statement."""
    op.get_bind().exec_driver_sql(_REGISTERS)
