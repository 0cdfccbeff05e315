CREATE FUNCTION pcds_due_webhooks(at timestamptz, most integer) RETURNS TABLE(company_id uuid, slug text, work text)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $$
    SELECT hooks.company_id, companies.slug,
        md5(string_agg(concat_ws('/', hooks.id, hooks.updated_at, hooks.position, hooks.failures, told.upto,
            waiting.deliveries, waiting.tries), ' ' ORDER BY hooks.id))
        || '/' || floor(extract(epoch FROM at) / 600)
    FROM webhooks AS hooks
    JOIN companies ON companies.id = hooks.company_id
    JOIN company_counters AS counters ON counters.company_id = hooks.company_id
    CROSS JOIN LATERAL (
        SELECT coalesce(min(unstamped.first_entry) - 1, counters.audit_entries) AS upto
        FROM audit_transactions AS unstamped
        WHERE unstamped.company_id = hooks.company_id AND unstamped.visible_at IS NULL
    ) AS told
    CROSS JOIN LATERAL (
        SELECT coalesce(sum(heads.deliveries), 0) AS deliveries, coalesce(sum(heads.tries), 0) AS tries,
            coalesce(bool_or(heads.due_at <= at), false) AS is_due
        FROM (
            SELECT DISTINCT ON (key) due_at, count(*) OVER (PARTITION BY key) AS deliveries,
                sum(tries) OVER (PARTITION BY key) AS tries
            FROM webhook_deliveries WHERE webhook_id = hooks.id AND state = 'waiting'
            ORDER BY key, number, id
        ) AS heads
    ) AS waiting
    WHERE hooks.state = 'active' AND (hooks.next_at IS NULL OR hooks.next_at <= at)
        AND (waiting.is_due OR hooks.position < told.upto AND waiting.deliveries < most)
    GROUP BY hooks.company_id, companies.slug
$$;
REVOKE ALL ON FUNCTION pcds_due_webhooks FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pcds_due_webhooks TO pcds_app;
