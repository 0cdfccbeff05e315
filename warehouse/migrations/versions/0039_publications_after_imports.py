"""Makes the question which companies to publish return how many SKUs each has and whether it has imported since.

Large publications then run one at a time, and a company that imports file after file is published less often meanwhile.
"""

from pathlib import Path

from alembic import op

revision = "0039"
down_revision = "0038"

_STALE = "pcds_stale_snapshots(date)"


def upgrade() -> None:
    """Replace the function; its result has other columns, so it is dropped first."""
    _replace(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))


def downgrade() -> None:
    """Restore the function of 0024."""
    earlier = Path(__file__).with_name("0024_launches.sql").read_text(encoding="utf-8")
    function = earlier[earlier.index("CREATE FUNCTION pcds_stale_snapshots") :]
    _replace(function[: function.index("$$;") + 3])


def _replace(function: str) -> None:
    op.execute(f"DROP FUNCTION {_STALE}")
    op.get_bind().exec_driver_sql(function)
    op.execute(f"REVOKE ALL ON FUNCTION {_STALE} FROM PUBLIC")
    op.execute(f"GRANT EXECUTE ON FUNCTION {_STALE} TO pcds_app")
