CREATE TABLE rulesets (
    version TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    rules INTEGER NOT NULL,
    tables JSON NOT NULL,
    added_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_rulesets PRIMARY KEY (version)
);
COMMENT ON COLUMN rulesets.content_hash IS 'SHA-256 over names and texts of the tables';
COMMENT ON COLUMN rulesets.rules IS 'how many design rules it has';
COMMENT ON COLUMN rulesets.tables IS 'file name of each table to its CSV text';

CREATE TABLE ruleset_activations (
    number BIGINT GENERATED ALWAYS AS IDENTITY,
    version TEXT NOT NULL,
    activated_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_ruleset_activations PRIMARY KEY (number)
);
COMMENT ON COLUMN ruleset_activations.number IS 'the highest one is the version that grades';

CREATE TABLE regrades (
    company_id UUID NOT NULL,
    version TEXT NOT NULL,
    "position" TEXT,
    skus BIGINT DEFAULT '0' NOT NULL,
    changed BIGINT DEFAULT '0' NOT NULL,
    matrix JSON NOT NULL,
    examples JSON NOT NULL,
    begun_at TIMESTAMP WITH TIME ZONE NOT NULL,
    finished_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_regrades PRIMARY KEY (company_id)
);
COMMENT ON COLUMN regrades.version IS 'of the rule-set that the SKUs are graded with';
COMMENT ON COLUMN regrades."position" IS 'the last sku_code that is done; null before the first block';
COMMENT ON COLUMN regrades.skus IS 'looked at up to there';
COMMENT ON COLUMN regrades.changed IS 'of those, written because grade or trace changed';
COMMENT ON COLUMN regrades.matrix IS '{"A→B": SKUs}: the grade before and after, unchanged ones too';
COMMENT ON COLUMN regrades.examples IS 'the first changes: sku_code, grade before, grade after';

ALTER TABLE docs ADD expiry_entered DATE;
COMMENT ON COLUMN docs.expiry_entered IS 'the last day whose passing stands in the ledger';
