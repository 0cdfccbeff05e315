CREATE TABLE webhooks (
    id UUID NOT NULL,
    company_id UUID NOT NULL,
    url TEXT NOT NULL,
    description TEXT,
    state TEXT NOT NULL,
    disabled_reason TEXT,
    secret BYTEA NOT NULL,
    old_secret BYTEA,
    old_secret_until TIMESTAMP WITH TIME ZONE,
    position BIGINT NOT NULL,
    next_at TIMESTAMP WITH TIME ZONE,
    failures INTEGER NOT NULL,
    failing_since TIMESTAMP WITH TIME ZONE,
    fault TEXT,
    delivered_at TIMESTAMP WITH TIME ZONE,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    updated_at TIMESTAMP WITH TIME ZONE NOT NULL,
    removed_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_webhooks PRIMARY KEY (id)
);
CREATE INDEX ix_webhooks_company_id ON webhooks (company_id, created_at);
CREATE INDEX ix_webhooks_active ON webhooks (company_id) WHERE state = 'active';
COMMENT ON COLUMN webhooks.state IS 'active, paused, disabled or removed';
COMMENT ON COLUMN webhooks.disabled_reason IS 'not_delivered, gone or restored';
COMMENT ON COLUMN webhooks.secret IS 'signs what is sent; sealed';
COMMENT ON COLUMN webhooks.old_secret IS 'the one before; signs too until old_secret_until';
COMMENT ON COLUMN webhooks.position IS 'the last entry of the ledger whose change was put among its deliveries';
COMMENT ON COLUMN webhooks.failures IS 'attempts in a row of which none was taken';
COMMENT ON COLUMN webhooks.fault IS 'why the last attempt failed, as a code';

CREATE TABLE webhook_deliveries (
    id UUID NOT NULL,
    company_id UUID NOT NULL,
    webhook_id UUID NOT NULL,
    number BIGINT NOT NULL,
    change_id TEXT NOT NULL,
    type TEXT NOT NULL,
    key TEXT NOT NULL,
    sku_code TEXT,
    body TEXT NOT NULL,
    state TEXT NOT NULL,
    due_at TIMESTAMP WITH TIME ZONE NOT NULL,
    tries INTEGER NOT NULL,
    status INTEGER,
    fault TEXT,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    ended_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_webhook_deliveries PRIMARY KEY (id),
    CONSTRAINT fk_webhook_deliveries_webhook_id_webhooks FOREIGN KEY (webhook_id) REFERENCES webhooks (id)
);
CREATE INDEX ix_webhook_deliveries_newest ON webhook_deliveries (webhook_id, number, id);
CREATE INDEX ix_webhook_deliveries_waiting ON webhook_deliveries (webhook_id, key, number) WHERE state = 'waiting';
CREATE INDEX ix_webhook_deliveries_ended_at ON webhook_deliveries (webhook_id, ended_at);
COMMENT ON COLUMN webhook_deliveries.number IS 'of the change in the company''s ledger';
COMMENT ON COLUMN webhook_deliveries.key IS 'changes of the same key are sent one after the other: the SKU, or another record';
COMMENT ON COLUMN webhook_deliveries.state IS 'waiting, delivered or failed';
COMMENT ON COLUMN webhook_deliveries.status IS 'of the last answer (HTTP); null where there was none';

ALTER TABLE webhooks ENABLE ROW LEVEL SECURITY;
ALTER TABLE webhooks FORCE ROW LEVEL SECURITY;
CREATE POLICY company ON webhooks
    USING (company_id = (SELECT nullif(current_setting('app.company_id', true), '')::uuid))
    WITH CHECK (company_id = (SELECT nullif(current_setting('app.company_id', true), '')::uuid));
ALTER TABLE webhook_deliveries ENABLE ROW LEVEL SECURITY;
ALTER TABLE webhook_deliveries FORCE ROW LEVEL SECURITY;
CREATE POLICY company ON webhook_deliveries
    USING (company_id = (SELECT nullif(current_setting('app.company_id', true), '')::uuid))
    WITH CHECK (company_id = (SELECT nullif(current_setting('app.company_id', true), '')::uuid));
GRANT SELECT, INSERT, UPDATE (url, description, state, disabled_reason, secret, old_secret, old_secret_until, position,
    next_at, failures, failing_since, fault, delivered_at, updated_at, removed_at) ON webhooks TO pcds_app;
GRANT SELECT, INSERT, DELETE, UPDATE (state, due_at, tries, status, fault, ended_at) ON webhook_deliveries TO pcds_app;

-- The companies with something to send at this instant, and the state of that work: another one once anything was done.
-- A waiting delivery counts where it is the first of its key, new changes where fewer than `most` deliveries wait.
CREATE FUNCTION pcds_due_webhooks(at timestamptz, most integer) RETURNS TABLE (company_id uuid, slug text, work text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
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
