"""Makes two functions of the import queue across companies, which a worker of no company may call.

A worker does all else in the session of the import's own company. Both functions run as their owner and show no more
than identifiers and the file's name. The owner's policy is needed because forced row-level security binds an owner that
is no superuser.
"""

from alembic import op

revision = "0003"
down_revision = "0002"

_OPEN = "i.status IN ('queued', 'processing') AND (i.claim IS NULL OR i.heartbeat_at < stalled_before)"

_CLAIM = f"""
CREATE FUNCTION pcds_claim_import(wanted uuid, token uuid, at timestamptz, stalled_before timestamptz)
RETURNS TABLE (id uuid, company_id uuid)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    WITH chosen AS (
        SELECT i.id
        FROM imports i
        WHERE {_OPEN} AND (wanted IS NULL OR i.id = wanted)
        ORDER BY i.attempts, i.created_at
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

_LIST = f"""
CREATE FUNCTION pcds_open_imports(stalled_before timestamptz)
RETURNS TABLE (id uuid, company_id uuid, filename text, attempts integer, "position" integer)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT i.id, i.company_id, i.filename, i.attempts, i."position"
    FROM imports i
    WHERE {_OPEN}
    ORDER BY i.attempts, i.created_at
$$
"""

_SIGNATURES = ("pcds_claim_import(uuid, uuid, timestamptz, timestamptz)", "pcds_open_imports(timestamptz)")


def upgrade() -> None:
    """Make the functions, callable by the application's role alone."""
    op.execute("CREATE POLICY owner_queues ON imports TO CURRENT_ROLE USING (true) WITH CHECK (true)")
    op.execute(_CLAIM)
    op.execute(_LIST)
    for signature in _SIGNATURES:
        op.execute(f"REVOKE ALL ON FUNCTION {signature} FROM PUBLIC")
        op.execute(f"GRANT EXECUTE ON FUNCTION {signature} TO pcds_app")
