CREATE FUNCTION pcds_sweep_answers(before timestamptz, most integer) RETURNS integer
LANGUAGE sql SECURITY DEFINER
SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $$
    WITH old AS (
        SELECT company_id, request FROM kept_answers WHERE answered_at < before LIMIT most FOR UPDATE SKIP LOCKED
    ),
    swept AS (
        DELETE FROM kept_answers AS kept USING old
        WHERE kept.company_id = old.company_id AND kept.request = old.request
        RETURNING 1
    )
    SELECT count(*)::integer FROM swept
$$;
REVOKE ALL ON FUNCTION pcds_sweep_answers FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pcds_sweep_answers TO pcds_app;
