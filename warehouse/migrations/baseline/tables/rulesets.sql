CREATE TABLE regrades (
    company_id uuid NOT NULL,
    version text NOT NULL,
    "position" text,
    skus bigint DEFAULT '0'::bigint NOT NULL,
    changed bigint DEFAULT '0'::bigint NOT NULL,
    matrix json NOT NULL,
    examples json NOT NULL,
    begun_at timestamptz NOT NULL,
    finished_at timestamptz,
    CONSTRAINT pk_regrades PRIMARY KEY (company_id)
);
COMMENT ON COLUMN regrades.version IS 'of the rule-set that the SKUs are graded with';
COMMENT ON COLUMN regrades."position" IS 'the last sku_code that is done; null before the first block';
COMMENT ON COLUMN regrades.skus IS 'looked at up to there';
COMMENT ON COLUMN regrades.changed IS 'of those, written because grade or trace changed';
COMMENT ON COLUMN regrades.matrix IS '{"A→B": SKUs}: the grade before and after, unchanged ones too';
COMMENT ON COLUMN regrades.examples IS 'the first changes: sku_code, grade before, grade after';
CREATE POLICY owner_looks ON regrades FOR SELECT TO CURRENT_ROLE USING (true);
GRANT SELECT,INSERT,UPDATE ON regrades TO pcds_app;

CREATE TABLE ruleset_activations (
    number bigint NOT NULL,
    version text NOT NULL,
    activated_at timestamptz NOT NULL,
    CONSTRAINT pk_ruleset_activations PRIMARY KEY (number)
);
ALTER TABLE ruleset_activations ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME ruleset_activations_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
COMMENT ON COLUMN ruleset_activations.number IS 'the highest one is the version that grades';
GRANT SELECT ON ruleset_activations TO pcds_app;

CREATE TABLE rulesets (
    version text NOT NULL,
    content_hash text NOT NULL,
    rules integer NOT NULL,
    tables json NOT NULL,
    added_at timestamptz NOT NULL,
    CONSTRAINT pk_rulesets PRIMARY KEY (version)
);
COMMENT ON COLUMN rulesets.content_hash IS 'SHA-256 over names and texts of the tables';
COMMENT ON COLUMN rulesets.rules IS 'how many design rules it has';
COMMENT ON COLUMN rulesets.tables IS 'file name of each table to its CSV text';
GRANT SELECT ON rulesets TO pcds_app;
