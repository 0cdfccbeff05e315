"""Adds rule-sets added without a release, regrades under way, and the expiry of DoCs.

Rule-sets belong to no company; the application reads them and an operator's command adds them. A regrade is a row of
its company. A worker of no company may only ask which companies have one under way.
"""

from pathlib import Path

from alembic import op

revision = "0013"
down_revision = "0012"

_COMPANY = "(SELECT nullif(current_setting('app.company_id', true), '')::uuid)"

_OPEN = """
CREATE FUNCTION pcds_open_regrades() RETURNS SETOF uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT company_id FROM regrades WHERE finished_at IS NULL ORDER BY begun_at, company_id
$$
"""

_STATEMENTS = (
    "GRANT SELECT ON rulesets, ruleset_activations TO pcds_app",
    "ALTER TABLE regrades ENABLE ROW LEVEL SECURITY",
    "ALTER TABLE regrades FORCE ROW LEVEL SECURITY",
    f"CREATE POLICY company ON regrades USING (company_id = {_COMPANY}) WITH CHECK (company_id = {_COMPANY})",
    "CREATE POLICY owner_looks ON regrades FOR SELECT TO CURRENT_ROLE USING (true)",
    "GRANT SELECT, INSERT, UPDATE ON regrades TO pcds_app",
    _OPEN,
    "REVOKE ALL ON FUNCTION pcds_open_regrades() FROM PUBLIC",
    "GRANT EXECUTE ON FUNCTION pcds_open_regrades() TO pcds_app",
)


def upgrade() -> None:
    """Make the tables, enable row security, and grant the application its rights."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))
    for statement in _STATEMENTS:
        op.execute(statement)


def downgrade() -> None:
    """Drop them: added and activated versions are lost, grades stay as they are."""
    op.execute("DROP FUNCTION pcds_open_regrades()")
    op.execute("DROP TABLE regrades, ruleset_activations, rulesets")
    op.execute("ALTER TABLE docs DROP expiry_entered")
