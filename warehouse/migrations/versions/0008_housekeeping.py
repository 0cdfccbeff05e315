"""Adds the data that housekeeping needs across companies: their ids, answers that are too old, a schedule's last run.

Both functions run as their owner, whom forced row-level security binds too, and show no more than identifiers and a
count. Housekeeping does all else in the session of one company after the other.
"""

from alembic import op

revision = "0008"
down_revision = "0007"

_COMPANIES = """
CREATE FUNCTION pcds_company_ids() RETURNS SETOF uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT id FROM companies ORDER BY created_at, id
$$
"""

_ANSWERS = """
CREATE FUNCTION pcds_sweep_answers(before timestamptz, most integer) RETURNS integer
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    WITH old AS (
        SELECT company_id, request FROM kept_answers WHERE answered_at < before LIMIT most FOR UPDATE SKIP LOCKED
    ),
    swept AS (
        DELETE FROM kept_answers AS kept USING old
        WHERE kept.company_id = old.company_id AND kept.request = old.request
        RETURNING 1
    )
    SELECT count(*)::integer FROM swept
$$
"""

_TICKS = """
CREATE TABLE schedule_ticks (
    schedule TEXT NOT NULL,
    tick_at TIMESTAMP WITH TIME ZONE,
    run_id TEXT NOT NULL,
    CONSTRAINT pk_schedule_ticks PRIMARY KEY (schedule)
)
"""

_SIGNATURES = ("pcds_company_ids()", "pcds_sweep_answers(timestamptz, integer)")


def upgrade() -> None:
    """Make functions and table, for the application's role alone."""
    op.execute("CREATE POLICY owner_sweeps ON kept_answers TO CURRENT_ROLE USING (true) WITH CHECK (true)")
    op.execute(_COMPANIES)
    op.execute(_ANSWERS)
    for signature in _SIGNATURES:
        op.execute(f"REVOKE ALL ON FUNCTION {signature} FROM PUBLIC")
        op.execute(f"GRANT EXECUTE ON FUNCTION {signature} TO pcds_app")
    op.execute(_TICKS)
    op.execute("COMMENT ON COLUMN schedule_ticks.tick_at IS 'the latest tick whose run has succeeded'")
    op.execute("COMMENT ON COLUMN schedule_ticks.run_id IS 'of Dagster, the last that was begun'")
    op.execute("GRANT SELECT, INSERT, UPDATE ON schedule_ticks TO pcds_app")
