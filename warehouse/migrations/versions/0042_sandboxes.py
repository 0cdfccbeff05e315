"""Adds sandboxes: companies that test keys reach, and that a reset replaces by an empty one (decision 0064)."""

from pathlib import Path

from alembic import op

revision = "0042"
down_revision = "0041"

_FUNCTION = "pcds_sandbox_of(uuid)"


def upgrade() -> None:
    """Add the columns and the function."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))
    op.execute(f"REVOKE ALL ON FUNCTION {_FUNCTION} FROM PUBLIC")
    op.execute(f"GRANT EXECUTE ON FUNCTION {_FUNCTION} TO pcds_app")


def downgrade() -> None:
    """Refuse while there is a sandbox: without the columns its keys would reach a company like any other."""
    op.execute(
        "DO $$ BEGIN IF EXISTS (SELECT FROM companies WHERE sandbox_of IS NOT NULL) THEN "
        "RAISE 'Remove every sandbox first.'; END IF; END $$"
    )
    op.execute(
        Path(__file__)
        .with_name("0040_measures.sql")
        .read_text(encoding="utf-8")
        .partition("$$;")[0]
        .replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION")
        + "$$"
    )
    op.execute(f"DROP FUNCTION {_FUNCTION}")
    op.execute("ALTER TABLE companies DROP sandbox_of, DROP left_at")
