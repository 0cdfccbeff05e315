"""Makes the table of head figures: what a company tells its board, a row for each company and UTC day."""

from alembic import op

revision = "0005"
down_revision = "0004"

_COMPANY = "company_id = (SELECT nullif(current_setting('app.company_id', true), '')::uuid)"
_HEAD_FIGURES = f"""
CREATE TABLE head_figures (
    company_id uuid NOT NULL,
    day date NOT NULL,
    year integer NOT NULL,
    skus integer NOT NULL,
    covered_skus integer NOT NULL,
    tonnes numeric(20, 6) NOT NULL,
    good_tonnes numeric(20, 6) NOT NULL,
    covered_tonnes numeric(20, 6) NOT NULL,
    in_scope_tonnes numeric(20, 6),
    as_of timestamptz NOT NULL,
    CONSTRAINT pk_head_figures PRIMARY KEY (company_id, day)
);
COMMENT ON TABLE head_figures IS 'what a company tells its board, as the last publication of each day found it';
COMMENT ON COLUMN head_figures.day IS 'the UTC day of the snapshot';
COMMENT ON COLUMN head_figures.year IS 'the calendar year of the tonnes';
ALTER TABLE head_figures ENABLE ROW LEVEL SECURITY;
ALTER TABLE head_figures FORCE ROW LEVEL SECURITY;
CREATE POLICY company ON head_figures USING ({_COMPANY}) WITH CHECK ({_COMPANY});
GRANT SELECT, INSERT, UPDATE ON head_figures TO pcds_app
"""


def upgrade() -> None:
    """Make an empty table: nothing that runs meanwhile knows it."""
    op.get_bind().exec_driver_sql(_HEAD_FIGURES)
