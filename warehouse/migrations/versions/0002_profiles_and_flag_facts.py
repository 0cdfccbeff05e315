"""Makes the table of company profiles, and the column of SKUs and their earlier versions for answered facts of bans.

A deployment that has companies and never activated a rule-set goes on with the newest of the release before: a new
release brings rules and changes no grade, and its processes and those of the release before grade alike meanwhile.
"""

from alembic import op

revision = "0002"
down_revision = "0001"

_COMPANY = "company_id = (SELECT nullif(current_setting('app.company_id', true), '')::uuid)"
_PROFILES = f"""
CREATE TABLE company_profiles (
    company_id uuid NOT NULL,
    seat text,
    size text,
    sells_directly_abroad boolean,
    version integer NOT NULL,
    updated_at timestamptz NOT NULL,
    CONSTRAINT pk_company_profiles PRIMARY KEY (company_id)
);
COMMENT ON COLUMN company_profiles.version IS '1 at the first answer, one more at each change';
ALTER TABLE company_profiles ENABLE ROW LEVEL SECURITY;
ALTER TABLE company_profiles FORCE ROW LEVEL SECURITY;
CREATE POLICY company ON company_profiles USING ({_COMPANY}) WITH CHECK ({_COMPANY});
GRANT SELECT, INSERT, UPDATE ON company_profiles TO pcds_app
"""
_FACTS = """
ALTER TABLE {table} ADD COLUMN IF NOT EXISTS flag_facts json;
COMMENT ON COLUMN {table}.flag_facts IS
    '[{{"fact", "answer", "by", "at"}}], sorted: open facts of format bans that a person answered'
"""
_GOES_ON = """
INSERT INTO ruleset_activations (version, activated_at)
SELECT '2026-11-22', now()
WHERE EXISTS (SELECT FROM companies) AND NOT EXISTS (SELECT FROM ruleset_activations)
"""


def upgrade() -> None:
    """Lock a table of requests for an instant, and no two at once: with a request's they could form a deadlock."""
    with op.get_context().autocommit_block():
        op.get_bind().exec_driver_sql(_FACTS.format(table="sku_versions"))
        op.get_bind().exec_driver_sql(_FACTS.format(table="skus"))
    op.get_bind().exec_driver_sql(_PROFILES)
    op.get_bind().exec_driver_sql(_GOES_ON)
