"""Among companies that wait equally, lets the one go first whose last import began longest ago.

By the age of the imports alone a company with a backlog took every second turn, however many others waited.
"""

from pathlib import Path

from alembic import op

revision = "0015"
down_revision = "0014"

_CLAIM = """
CREATE OR REPLACE FUNCTION pcds_claim_import(
    wanted uuid, token uuid, at timestamptz, stalled_before timestamptz, most_rows integer
) RETURNS TABLE (id uuid, company_id uuid)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    WITH chosen AS (
        SELECT i.id
        FROM imports i
        WHERE i.status IN ('queued', 'processing') AND (i.claim IS NULL OR i.heartbeat_at < stalled_before)
            AND (wanted IS NULL OR i.id = wanted) AND (most_rows IS NULL OR i.rows_total <= most_rows)
        ORDER BY i.attempts, (
            SELECT count(*) FROM imports earlier
            WHERE earlier.status IN ('queued', 'processing') AND earlier.company_id = i.company_id
                AND (earlier.created_at, earlier.id) < (i.created_at, i.id)
        ), (
            SELECT max(begun.started_at) FROM imports begun WHERE begun.company_id = i.company_id
        ) NULLS FIRST, i.created_at
        LIMIT 1
        FOR UPDATE SKIP LOCKED
    )
    UPDATE imports i
    SET status = 'processing', claim = token, attempts = i.attempts + 1, heartbeat_at = at,
        started_at = coalesce(i.started_at, at)
    FROM chosen
    WHERE i.id = chosen.id
    RETURNING i.id, i.company_id
$$
"""


def upgrade() -> None:
    """Change the order, and find a company's last start without reading its imports."""
    op.execute("CREATE INDEX ix_imports_started ON imports (company_id, started_at)")
    op.execute(_CLAIM)


def downgrade() -> None:
    """Restore the order of 0011."""
    made = Path(__file__).with_name("0011_fair_claims.py").read_text(encoding="utf-8")
    function = made[made.index("CREATE FUNCTION") : made.index('$$\n"""') + 2]
    op.execute(function.replace("CREATE", "CREATE OR REPLACE", 1))
    op.execute("DROP INDEX ix_imports_started")
