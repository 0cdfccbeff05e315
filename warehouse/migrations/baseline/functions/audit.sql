CREATE FUNCTION pcds_anonymise(before timestamptz) RETURNS bigint
LANGUAGE sql SECURITY DEFINER
SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $$
    WITH ours AS (SELECT nullif(current_setting('app.company_id', true), '')::uuid AS id),
    transactions AS (
        UPDATE audit_transactions SET ip = NULL, user_agent = NULL FROM ours
        WHERE company_id = ours.id AND at <= before AND (ip IS NOT NULL OR user_agent IS NOT NULL)
        RETURNING 1
    ),
    submissions AS (
        UPDATE imports SET ip = NULL, user_agent = NULL FROM ours
        WHERE company_id = ours.id AND created_at <= before AND (ip IS NOT NULL OR user_agent IS NOT NULL)
        RETURNING 1
    )
    SELECT (SELECT count(*) FROM transactions) + (SELECT count(*) FROM submissions)
$$;
REVOKE ALL ON FUNCTION pcds_anonymise FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pcds_anonymise TO pcds_app;

CREATE FUNCTION pcds_stamp_visible(moved interval) RETURNS bigint
LANGUAGE sql SECURITY DEFINER
SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $$
    WITH unstamped AS MATERIALIZED (
        SELECT id FROM audit_transactions WHERE visible_at IS NULL FOR UPDATE SKIP LOCKED
    ), stamped AS (
        UPDATE audit_transactions AS seen
        SET visible_at = greatest(seen.at, clock_timestamp() + moved, (
            SELECT max(visible_at) FROM audit_transactions AS own WHERE own.company_id = seen.company_id
        ) + interval '1 microsecond')
        WHERE seen.id = ANY(ARRAY(SELECT id FROM unstamped))
        RETURNING 1
    )
    SELECT count(*) FROM stamped
$$;
REVOKE ALL ON FUNCTION pcds_stamp_visible FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pcds_stamp_visible TO pcds_app;
