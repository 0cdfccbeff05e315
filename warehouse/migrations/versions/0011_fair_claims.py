"""Claims imports in turns: first those with the fewest open ones of their company before them; also only small ones.

Without turns a company that sends a hundred files has all other companies wait for all of them.
"""

from alembic import op

revision = "0011"
down_revision = "0010"

_OLD = "pcds_claim_import(uuid, uuid, timestamptz, timestamptz)"
_NEW = "pcds_claim_import(uuid, uuid, timestamptz, timestamptz, integer)"

_CLAIM = """
CREATE FUNCTION pcds_claim_import(
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
        ), i.created_at
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
    """Replace the function."""
    op.execute(_CLAIM)
    op.execute(f"REVOKE ALL ON FUNCTION {_NEW} FROM PUBLIC")
    op.execute(f"GRANT EXECUTE ON FUNCTION {_NEW} TO pcds_app")
    op.execute(f"DROP FUNCTION {_OLD}")
