CREATE TABLE issued_declarations (
    doc_id uuid NOT NULL,
    company_id uuid NOT NULL,
    entry_id uuid NOT NULL,
    content json NOT NULL,
    pdf bytea NOT NULL,
    sha256 text NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT pk_issued_declarations PRIMARY KEY (doc_id),
    CONSTRAINT uq_issued_declarations_entry_id UNIQUE (entry_id)
);
COMMENT ON COLUMN issued_declarations.doc_id IS 'the row of docs that it is';
COMMENT ON COLUMN issued_declarations.entry_id IS 'the draft of the review queue that it was issued from';
COMMENT ON COLUMN issued_declarations.content IS 'what the PDF says, point by point';
COMMENT ON COLUMN issued_declarations.sha256 IS 'of the PDF, hexadecimal';
GRANT SELECT,INSERT ON issued_declarations TO pcds_app;

CREATE TABLE issued_translations (
    doc_id uuid NOT NULL,
    lang text NOT NULL,
    company_id uuid NOT NULL,
    content json NOT NULL,
    pdf bytea NOT NULL,
    sha256 text NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT pk_issued_translations PRIMARY KEY (doc_id, lang)
);
COMMENT ON COLUMN issued_translations.doc_id IS 'the issued declaration, whose own row has its first language';
COMMENT ON COLUMN issued_translations.content IS 'what the PDF says, point by point';
COMMENT ON COLUMN issued_translations.sha256 IS 'of the PDF, hexadecimal';
GRANT SELECT,INSERT ON issued_translations TO pcds_app;

CREATE TABLE kept_declarations (
    id uuid NOT NULL,
    company_id uuid NOT NULL,
    market text NOT NULL,
    year integer NOT NULL,
    half integer NOT NULL,
    format text NOT NULL,
    filename text NOT NULL,
    media_type text NOT NULL,
    size_bytes integer NOT NULL,
    sha256 text NOT NULL,
    as_of timestamptz NOT NULL,
    snapshot text NOT NULL,
    ruleset_version text NOT NULL,
    catalogue_hash text NOT NULL,
    rows integer NOT NULL,
    total_tonnes numeric,
    total_kg bigint,
    difference_kg numeric,
    uncounted_skus integer NOT NULL,
    scope_missing_skus integer,
    producer json,
    stated json NOT NULL,
    corrects uuid,
    kept_by_type text NOT NULL,
    kept_by_id text,
    kept_by_name text,
    content bytea NOT NULL,
    uncounted bytea,
    scope_missing bytea,
    created_at timestamptz NOT NULL,
    halves smallint[],
    in_scope_tonnes numeric,
    undecided_tonnes numeric,
    out_of_scope_tonnes numeric,
    question json,
    CONSTRAINT pk_kept_declarations PRIMARY KEY (id),
    CONSTRAINT uq_kept_declarations_company_id_id UNIQUE (company_id, id),
    CONSTRAINT fk_kept_declarations_company_id_corrects FOREIGN KEY (company_id, corrects) REFERENCES kept_declarations(company_id, id)
);
CREATE INDEX ix_kept_declarations_corrects ON kept_declarations (corrects) WHERE (corrects IS NOT NULL);
CREATE INDEX ix_kept_declarations_newest ON kept_declarations (company_id, created_at DESC, id DESC);
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
COMMENT ON COLUMN kept_declarations.halves IS 'the halves that were there, of a calendar year of a half-yearly market';
COMMENT ON COLUMN kept_declarations.in_scope_tonnes IS 'what is filed; null in the UK file, and in rows from before revision 0048';
COMMENT ON COLUMN kept_declarations.undecided_tonnes IS 'tonnes of which a fact is missing that would decide';
COMMENT ON COLUMN kept_declarations.out_of_scope_tonnes IS 'tonnes that no category is about';
COMMENT ON COLUMN kept_declarations.question IS 'the missing fact that decides most: field, tonnes, skus';
GRANT SELECT,INSERT ON kept_declarations TO pcds_app;
