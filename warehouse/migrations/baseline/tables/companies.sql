GRANT USAGE ON SCHEMA public TO pcds_app;

CREATE TABLE api_keys (
    id uuid NOT NULL,
    company_id uuid NOT NULL,
    name text NOT NULL,
    key_hash bytea NOT NULL,
    scopes text[] NOT NULL,
    created_at timestamptz NOT NULL,
    revoked_at timestamptz,
    last_used_at timestamptz,
    CONSTRAINT pk_api_keys PRIMARY KEY (id),
    CONSTRAINT uq_api_keys_key_hash UNIQUE (key_hash)
);
COMMENT ON COLUMN api_keys.key_hash IS 'SHA-256 of the key';
COMMENT ON COLUMN api_keys.last_used_at IS 'of a request with the key or a token of it, to the hour';
CREATE POLICY owner_moves ON api_keys FOR UPDATE TO CURRENT_ROLE USING (true) WITH CHECK (true);
CREATE POLICY owner_reads ON api_keys FOR SELECT TO CURRENT_ROLE USING (true);
GRANT SELECT,INSERT ON api_keys TO pcds_app;
GRANT UPDATE (revoked_at) ON api_keys TO pcds_app;

CREATE TABLE plans (
    plan text NOT NULL,
    sku_limit integer,
    connector_calls_per_minute integer NOT NULL,
    audit_log boolean NOT NULL,
    api_keys boolean NOT NULL,
    storage_bytes bigint,
    CONSTRAINT pk_plans PRIMARY KEY (plan)
);
COMMENT ON COLUMN plans.sku_limit IS 'SKUs that the plan holds; null is no limit';
COMMENT ON COLUMN plans.api_keys IS 'keys without the operator''s override';
COMMENT ON COLUMN plans.storage_bytes IS 'technical files and uploads that the plan stores; null is no limit';
GRANT SELECT ON plans TO pcds_app;
INSERT INTO plans (plan, sku_limit, connector_calls_per_minute, audit_log, api_keys, storage_bytes) VALUES
    ('starter', 100, 60, false, false, 1000000000),
    ('growth', 1000, 60, false, false, 10000000000),
    ('professional', 10000, 120, false, false, 100000000000),
    ('enterprise', NULL, 600, true, true, 1000000000000);

CREATE TABLE companies (
    id uuid NOT NULL,
    name text NOT NULL,
    plan text NOT NULL,
    created_at timestamptz NOT NULL,
    slug text NOT NULL,
    sandbox_of uuid,
    left_at timestamptz,
    CONSTRAINT pk_companies PRIMARY KEY (id),
    CONSTRAINT uq_companies_slug UNIQUE (slug),
    CONSTRAINT fk_companies_plan FOREIGN KEY (plan) REFERENCES plans(plan)
);
CREATE UNIQUE INDEX uq_companies_sandbox_of ON companies (sandbox_of) WHERE (left_at IS NULL);
COMMENT ON COLUMN companies.slug IS 'names the company''s partition in Dagster; made from its first name, never changed';
COMMENT ON COLUMN companies.sandbox_of IS 'the company whose test keys reach this one; null for a company of its own';
COMMENT ON COLUMN companies.left_at IS 'when a reset took its keys to a new sandbox; it is erased after that';
CREATE POLICY owner_reads ON companies FOR SELECT TO CURRENT_ROLE USING (true);
CREATE TRIGGER keep_slug BEFORE INSERT OR UPDATE ON companies FOR EACH ROW EXECUTE FUNCTION pcds_keep_slug();
GRANT SELECT ON companies TO pcds_app;

CREATE TABLE company_counters (
    company_id uuid NOT NULL,
    skus bigint DEFAULT '0'::bigint NOT NULL,
    links bigint DEFAULT '0'::bigint NOT NULL,
    audit_entries bigint DEFAULT '0'::bigint NOT NULL,
    chain_hash bytea,
    CONSTRAINT pk_company_counters PRIMARY KEY (company_id),
    CONSTRAINT fk_company_counters_company_id FOREIGN KEY (company_id) REFERENCES companies(id)
);
COMMENT ON COLUMN company_counters.skus IS 'held against the plan''s limit';
COMMENT ON COLUMN company_counters.links IS 'of the audit chain';
COMMENT ON COLUMN company_counters.chain_hash IS 'of the last link; null before the first';
CREATE POLICY owner_follows ON company_counters FOR SELECT TO CURRENT_ROLE USING ((( SELECT (NULLIF(current_setting('app.company_id'::text, true), ''::text))::uuid AS "nullif") IS NULL));
GRANT SELECT,INSERT,UPDATE ON company_counters TO pcds_app;

CREATE TABLE removed_companies (
    company uuid NOT NULL,
    slug text,
    begun_at timestamptz NOT NULL,
    ended_at timestamptz,
    rows json NOT NULL,
    links bigint NOT NULL,
    entries bigint NOT NULL,
    chain_hash bytea,
    hashes bytea NOT NULL,
    certificate json,
    sandbox_of uuid,
    CONSTRAINT pk_removed_companies PRIMARY KEY (company)
);
COMMENT ON COLUMN removed_companies.slug IS 'names its runs in Dagster; null once the removal has ended';
COMMENT ON COLUMN removed_companies.ended_at IS 'null where the removal was cut off and goes on when it is asked again';
COMMENT ON COLUMN removed_companies.rows IS 'how many were removed, by table';
COMMENT ON COLUMN removed_companies.chain_hash IS 'of the last link';
COMMENT ON COLUMN removed_companies.hashes IS 'SHA-256 over the hashes of all links in their order';
COMMENT ON COLUMN removed_companies.sandbox_of IS 'the company whose test keys reached this one; null for a company of its own';

CREATE TABLE removed_links (
    company uuid NOT NULL,
    number bigint NOT NULL,
    entries integer NOT NULL,
    hash bytea NOT NULL,
    CONSTRAINT pk_removed_links PRIMARY KEY (company, number)
);
