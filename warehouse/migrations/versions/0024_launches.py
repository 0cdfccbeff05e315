"""Stores runs that Dagster has launched for workers, and the slug by which Dagster identifies a company.

A run's row belongs to no company and contains none of its data. Sessions of no company may read the slugs, which are
made from the companies' first names.
"""

from pathlib import Path

from alembic import op

revision = "0024"
down_revision = "0023"

_FUNCTIONS = (
    "pcds_company_of_slug(text)",
    "pcds_slugs(uuid[])",
    "pcds_open_imports(timestamptz, timestamptz)",
    "pcds_stale_snapshots(date)",
    "pcds_published_snapshots()",
    "pcds_asked_regrades()",
)
_CLAIM = "pcds_claim_import(uuid, uuid, timestamptz, timestamptz, integer)"
"""Claimed among all companies' imports; Dagster decides turns now, and a run claims its own company's import."""
_INTERNAL = ("pcds_slug(text, uuid)", "pcds_keep_slug()")


def upgrade() -> None:
    """Make slugs and launches, and grant the application's role the rights that it needs."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))
    for function in (*_FUNCTIONS, *_INTERNAL):
        op.execute(f"REVOKE ALL ON FUNCTION {function} FROM PUBLIC")
    for function in _FUNCTIONS:
        op.execute(f"GRANT EXECUTE ON FUNCTION {function} TO pcds_app")
    op.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON launches TO pcds_app")
    op.execute("GRANT USAGE ON SEQUENCE launch_workers TO pcds_app")
    op.execute(f"DROP FUNCTION {_CLAIM}")


def downgrade() -> None:
    """Restore the queue of imports alone."""
    made = Path(__file__).with_name("0015_turns_by_last_start.py").read_text(encoding="utf-8")
    function = made[made.index("CREATE OR REPLACE FUNCTION") :]
    op.execute(function[: function.index('$$\n"""') + 2])
    op.execute(f"REVOKE ALL ON FUNCTION {_CLAIM} FROM PUBLIC")
    op.execute(f"GRANT EXECUTE ON FUNCTION {_CLAIM} TO pcds_app")
    made = Path(__file__).with_name("0003_import_queue.py").read_text(encoding="utf-8")
    op.execute("DROP FUNCTION pcds_open_imports(timestamptz, timestamptz)")
    function = made[made.index("CREATE FUNCTION pcds_open_imports") :]
    is_open = "i.status IN ('queued', 'processing') AND (i.claim IS NULL OR i.heartbeat_at < stalled_before)"
    op.execute(function[: function.index('$$\n"""') + 2].replace("{_OPEN}", is_open))
    op.execute("REVOKE ALL ON FUNCTION pcds_open_imports(timestamptz) FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION pcds_open_imports(timestamptz) TO pcds_app")
    op.execute("DROP FUNCTION pcds_published_snapshots()")
    op.execute("DROP FUNCTION pcds_asked_regrades()")
    op.execute("DROP FUNCTION pcds_stale_snapshots(date)")
    made = Path(__file__).with_name("0012_snapshots.py").read_text(encoding="utf-8")
    function = made[made.index("CREATE FUNCTION pcds_stale_snapshots") :]
    op.execute(function[: function.index('$$\n"""') + 2])
    op.execute("REVOKE ALL ON FUNCTION pcds_stale_snapshots(date) FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION pcds_stale_snapshots(date) TO pcds_app")
    ticks = Path(__file__).with_name("0008_housekeeping.py").read_text(encoding="utf-8")
    table = ticks[ticks.index("CREATE TABLE schedule_ticks") :]
    op.execute(table[: table.index('"""')])
    op.execute("COMMENT ON COLUMN schedule_ticks.tick_at IS 'the latest tick whose run has succeeded'")
    op.execute("COMMENT ON COLUMN schedule_ticks.run_id IS 'of Dagster, the last that was begun'")
    op.execute("GRANT SELECT, INSERT, UPDATE ON schedule_ticks TO pcds_app")
    op.execute("DROP TABLE launches")
    op.execute("DROP SEQUENCE launch_workers")
    op.execute("DROP TRIGGER keep_slug ON companies")
    op.execute("ALTER TABLE companies DROP COLUMN slug")
    for function in ("pcds_company_of_slug(text)", "pcds_slugs(uuid[])", *reversed(_INTERNAL)):
        op.execute(f"DROP FUNCTION {function}")
