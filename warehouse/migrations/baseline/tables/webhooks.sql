CREATE TABLE webhooks (
    id uuid NOT NULL,
    company_id uuid NOT NULL,
    url text NOT NULL,
    description text,
    state text NOT NULL,
    disabled_reason text,
    secret bytea NOT NULL,
    old_secret bytea,
    old_secret_until timestamptz,
    "position" bigint NOT NULL,
    next_at timestamptz,
    failures integer NOT NULL,
    failing_since timestamptz,
    fault text,
    delivered_at timestamptz,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    removed_at timestamptz,
    types text[],
    CONSTRAINT pk_webhooks PRIMARY KEY (id)
);
CREATE INDEX ix_webhooks_active ON webhooks (company_id) WHERE (state = 'active'::text);
CREATE INDEX ix_webhooks_company_id ON webhooks (company_id, created_at);
COMMENT ON COLUMN webhooks.state IS 'active, paused, disabled or removed';
COMMENT ON COLUMN webhooks.disabled_reason IS 'not_delivered, gone or restored';
COMMENT ON COLUMN webhooks.secret IS 'signs what is sent; sealed';
COMMENT ON COLUMN webhooks.old_secret IS 'the one before; signs too until old_secret_until';
COMMENT ON COLUMN webhooks."position" IS 'the last entry of the ledger whose change was put among its deliveries';
COMMENT ON COLUMN webhooks.failures IS 'attempts in a row of which none was taken';
COMMENT ON COLUMN webhooks.fault IS 'why the last attempt failed, as a code';
COMMENT ON COLUMN webhooks.types IS 'of the changes that are sent; null for all';
CREATE POLICY owner_finds ON webhooks FOR SELECT TO CURRENT_ROLE USING (true);
GRANT SELECT,INSERT ON webhooks TO pcds_app;
GRANT UPDATE("position") ON webhooks TO pcds_app;
GRANT UPDATE (url, description, state, disabled_reason, secret, old_secret, old_secret_until, next_at, failures, failing_since, fault, delivered_at, updated_at, removed_at, types) ON webhooks TO pcds_app;

CREATE TABLE webhook_deliveries (
    id uuid NOT NULL,
    company_id uuid NOT NULL,
    webhook_id uuid NOT NULL,
    number bigint NOT NULL,
    change_id text NOT NULL,
    type text NOT NULL,
    key text NOT NULL,
    sku_code text,
    body text NOT NULL,
    state text NOT NULL,
    due_at timestamptz NOT NULL,
    tries integer NOT NULL,
    status integer,
    fault text,
    created_at timestamptz NOT NULL,
    ended_at timestamptz,
    CONSTRAINT pk_webhook_deliveries PRIMARY KEY (id),
    CONSTRAINT fk_webhook_deliveries_webhook_id_webhooks FOREIGN KEY (webhook_id) REFERENCES webhooks(id)
);
CREATE INDEX ix_webhook_deliveries_ended_at ON webhook_deliveries (webhook_id, ended_at);
CREATE INDEX ix_webhook_deliveries_newest ON webhook_deliveries (webhook_id, number, id);
CREATE INDEX ix_webhook_deliveries_waiting ON webhook_deliveries (webhook_id, key, number) WHERE (state = 'waiting'::text);
COMMENT ON COLUMN webhook_deliveries.number IS 'of the change in the company''s ledger';
COMMENT ON COLUMN webhook_deliveries.key IS 'changes of the same key are sent one after the other: the SKU, or another record';
COMMENT ON COLUMN webhook_deliveries.state IS 'waiting, delivered or failed';
COMMENT ON COLUMN webhook_deliveries.status IS 'of the last answer (HTTP); null where there was none';
CREATE POLICY owner_finds ON webhook_deliveries FOR SELECT TO CURRENT_ROLE USING (true);
GRANT SELECT,INSERT,DELETE ON webhook_deliveries TO pcds_app;
GRANT UPDATE (state, due_at, tries, status, fault, ended_at) ON webhook_deliveries TO pcds_app;
