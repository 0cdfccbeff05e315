CREATE TABLE snapshots (
    company_id uuid NOT NULL,
    name text NOT NULL,
    number bigint NOT NULL,
    as_of timestamptz NOT NULL,
    holds_until date,
    CONSTRAINT pk_snapshots PRIMARY KEY (company_id)
);
COMMENT ON COLUMN snapshots.name IS 'of its folder below the company''s';
COMMENT ON COLUMN snapshots.number IS 'the last link of the audit chain that it holds';
COMMENT ON COLUMN snapshots.holds_until IS 'the first day on which a DoC''s validity changes without a write';
CREATE POLICY owner_follows ON snapshots FOR SELECT TO CURRENT_ROLE USING ((( SELECT (NULLIF(current_setting('app.company_id'::text, true), ''::text))::uuid AS "nullif") IS NULL));
GRANT SELECT,INSERT,UPDATE ON snapshots TO pcds_app;
