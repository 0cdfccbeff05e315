CREATE TABLE audit_entries (
    id bigint NOT NULL,
    company_id uuid NOT NULL,
    transaction_id uuid NOT NULL,
    action text NOT NULL,
    resource_id text NOT NULL,
    version integer,
    before json,
    after json,
    digest bytea NOT NULL,
    CONSTRAINT pk_audit_entries PRIMARY KEY (company_id, id)
);
COMMENT ON COLUMN audit_entries.id IS 'number in the company''s ledger, from 1';
COMMENT ON COLUMN audit_entries.version IS 'of the SKU, where the entry is about one';
COMMENT ON COLUMN audit_entries.digest IS 'over the entry and the row version that it names';
GRANT SELECT,INSERT ON audit_entries TO pcds_app;

CREATE TABLE audit_transactions (
    id uuid NOT NULL,
    company_id uuid NOT NULL,
    at timestamptz NOT NULL,
    actor_type text NOT NULL,
    actor_id text,
    actor_name text,
    reason text,
    correlation_id text NOT NULL,
    ip text,
    user_agent text,
    number bigint NOT NULL,
    first_entry bigint NOT NULL,
    entries integer NOT NULL,
    digest_version integer NOT NULL,
    hash bytea NOT NULL,
    visible_at timestamptz,
    CONSTRAINT pk_audit_transactions PRIMARY KEY (id),
    CONSTRAINT uq_audit_transactions_company_id_number UNIQUE (company_id, number)
);
CREATE INDEX ix_audit_transactions_company_id_at ON audit_transactions (company_id, at);
CREATE INDEX ix_audit_transactions_company_id_visible_at ON audit_transactions (company_id, visible_at);
CREATE INDEX ix_audit_transactions_unstamped ON audit_transactions (id) WHERE (visible_at IS NULL);
COMMENT ON COLUMN audit_transactions.number IS 'of the link in the company''s chain, from 1';
COMMENT ON COLUMN audit_transactions.first_entry IS 'the lowest id of its entries, which follow each other';
COMMENT ON COLUMN audit_transactions.entries IS 'how many they are';
COMMENT ON COLUMN audit_transactions.digest_version IS 'what the hash is made of (warehouse.audit.chain)';
COMMENT ON COLUMN audit_transactions.hash IS 'over the hash of the link before and all of this one';
CREATE POLICY owner_follows ON audit_transactions FOR SELECT TO CURRENT_ROLE USING ((( SELECT (NULLIF(current_setting('app.company_id'::text, true), ''::text))::uuid AS "nullif") IS NULL));
CREATE POLICY owner_stamps ON audit_transactions FOR UPDATE TO CURRENT_ROLE USING ((( SELECT (NULLIF(current_setting('app.company_id'::text, true), ''::text))::uuid AS "nullif") IS NULL));
GRANT SELECT,INSERT ON audit_transactions TO pcds_app;
GRANT UPDATE (visible_at) ON audit_transactions TO pcds_app;
