CREATE TABLE kept_declarations (
    id UUID NOT NULL,
    company_id UUID NOT NULL,
    market TEXT NOT NULL,
    year INTEGER NOT NULL,
    half INTEGER NOT NULL,
    format TEXT NOT NULL,
    filename TEXT NOT NULL,
    media_type TEXT NOT NULL,
    size_bytes INTEGER NOT NULL,
    sha256 TEXT NOT NULL,
    as_of TIMESTAMP WITH TIME ZONE NOT NULL,
    snapshot TEXT NOT NULL,
    ruleset_version TEXT NOT NULL,
    catalogue_hash TEXT NOT NULL,
    rows INTEGER NOT NULL,
    total_tonnes NUMERIC,
    total_kg BIGINT,
    difference_kg NUMERIC,
    uncounted_skus INTEGER NOT NULL,
    scope_missing_skus INTEGER,
    producer JSON,
    stated JSON NOT NULL,
    corrects UUID,
    kept_by_type TEXT NOT NULL,
    kept_by_id TEXT,
    kept_by_name TEXT,
    content BYTEA NOT NULL,
    uncounted BYTEA,
    scope_missing BYTEA,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_kept_declarations PRIMARY KEY (id),
    CONSTRAINT uq_kept_declarations_company_id_id UNIQUE (company_id, id),
    CONSTRAINT fk_kept_declarations_company_id_corrects FOREIGN KEY (company_id, corrects)
        REFERENCES kept_declarations (company_id, id)
);

CREATE INDEX ix_kept_declarations_newest ON kept_declarations (company_id, created_at DESC, id DESC);

CREATE INDEX ix_kept_declarations_corrects ON kept_declarations (corrects) WHERE corrects IS NOT NULL;

COMMENT ON COLUMN kept_declarations.half IS '0 is the calendar year';

COMMENT ON COLUMN kept_declarations.format IS 'json, csv or rpd, the packaging data file of the United Kingdom';

COMMENT ON COLUMN kept_declarations.sha256 IS 'of content, hexadecimal';

COMMENT ON COLUMN kept_declarations.as_of IS 'the instant of the snapshot that it was made from';

COMMENT ON COLUMN kept_declarations.rows IS 'rows of tonnes, or of the UK file';

COMMENT ON COLUMN kept_declarations.difference_kg IS 'exact less rounded kilograms of the UK file';

COMMENT ON COLUMN kept_declarations.uncounted_skus IS 'rows of uncounted: SKUs that it does not count, by reason';

COMMENT ON COLUMN kept_declarations.producer IS 'what a UK producer stated of itself; null elsewhere';

COMMENT ON COLUMN kept_declarations.stated IS 'ratings and drinks containers that a UK producer stated';

COMMENT ON COLUMN kept_declarations.corrects IS 'the first declaration, which this one corrects';

COMMENT ON COLUMN kept_declarations.content IS 'the bytes as filed';

COMMENT ON COLUMN kept_declarations.uncounted IS 'CSV beside it; null where the declaration has the list inside';

COMMENT ON COLUMN kept_declarations.scope_missing IS 'CSV beside it; null where the declaration has no such list beside';

ALTER TABLE kept_declarations ENABLE ROW LEVEL SECURITY;

ALTER TABLE kept_declarations FORCE ROW LEVEL SECURITY;

CREATE POLICY company ON kept_declarations
    USING (company_id = (SELECT nullif(current_setting('app.company_id', true), '')::uuid))
    WITH CHECK (company_id = (SELECT nullif(current_setting('app.company_id', true), '')::uuid));

GRANT SELECT, INSERT ON kept_declarations TO pcds_app;
