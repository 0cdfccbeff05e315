"""Makes the table of company profiles, and in earlier versions of SKUs the column of answers to format bans' facts."""

from alembic import op

revision = "0002"
down_revision = "0001"

_COMPANY = "company_id = (SELECT nullif(current_setting('app.company_id', true), '')::uuid)"
_STATEMENTS = (
    """CREATE TABLE company_profiles (
        company_id uuid NOT NULL,
        seat text,
        size text,
        sells_directly_abroad boolean,
        version integer NOT NULL,
        updated_at timestamptz NOT NULL,
        CONSTRAINT pk_company_profiles PRIMARY KEY (company_id)
    )""",
    "COMMENT ON COLUMN company_profiles.seat IS 'ISO 3166-1 alpha-2'",
    "COMMENT ON COLUMN company_profiles.size IS 'micro, small, medium or large (Recommendation 2003/361/EC)'",
    """COMMENT ON COLUMN company_profiles.sells_directly_abroad IS
        'to end users in countries other than that of the seat'""",
    "COMMENT ON COLUMN company_profiles.version IS '1 at the first answer, one more at each change'",
    "ALTER TABLE company_profiles ENABLE ROW LEVEL SECURITY",
    "ALTER TABLE company_profiles FORCE ROW LEVEL SECURITY",
    f"CREATE POLICY company ON company_profiles USING ({_COMPANY}) WITH CHECK ({_COMPANY})",
    "GRANT SELECT, INSERT, UPDATE ON company_profiles TO pcds_app",
    "ALTER TABLE sku_versions ADD COLUMN flag_facts json",
    """COMMENT ON COLUMN sku_versions.flag_facts IS
        '[{"fact", "answer", "by", "at"}], sorted: open facts of format bans that a person answered'""",
)


def upgrade() -> None:
    """Lock one table of requests alone, for an instant; `skus` has a revision of its own."""
    for statement in _STATEMENTS:
        op.get_bind().exec_driver_sql(statement)


def downgrade() -> None:
    """Do nothing: a backup of the release before goes back to it."""
    raise NotImplementedError("restore a backup of the release before")
