CREATE TABLE import_errors (
    company_id uuid NOT NULL,
    import_id uuid NOT NULL,
    sheet_position integer NOT NULL,
    line integer NOT NULL,
    number integer NOT NULL,
    sheet text,
    sku_code text,
    field text,
    "column" text,
    value text,
    code text NOT NULL,
    message text NOT NULL,
    template text,
    CONSTRAINT pk_import_errors PRIMARY KEY (import_id, sheet_position, line, number)
);
COMMENT ON COLUMN import_errors.sheet_position IS '0 the main table, 1 the components sheet';
COMMENT ON COLUMN import_errors.line IS 'of the caller''s file, from 1';
COMMENT ON COLUMN import_errors.number IS 'among the faults of one line';
COMMENT ON COLUMN import_errors.template IS 'the message''s template and parameters; null where the text is the template';
GRANT SELECT,INSERT ON import_errors TO pcds_app;

CREATE TABLE import_mappings (
    company_id uuid NOT NULL,
    name text NOT NULL,
    mapping json NOT NULL,
    updated_at timestamptz NOT NULL,
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    CONSTRAINT pk_import_mappings PRIMARY KEY (company_id, name)
);
COMMENT ON COLUMN import_mappings.mapping IS 'as the caller sent it with the name last';
GRANT SELECT,INSERT,DELETE,UPDATE ON import_mappings TO pcds_app;

CREATE TABLE imports (
    id uuid NOT NULL,
    company_id uuid NOT NULL,
    status text NOT NULL,
    dry_run boolean NOT NULL,
    filename text NOT NULL,
    size_bytes integer NOT NULL,
    sha256 text NOT NULL,
    upload_key text NOT NULL,
    table_key text NOT NULL,
    default_year integer NOT NULL,
    source json NOT NULL,
    rows_total integer NOT NULL,
    rows_done integer DEFAULT 0 NOT NULL,
    "position" integer DEFAULT 0 NOT NULL,
    created integer DEFAULT 0 NOT NULL,
    updated integer DEFAULT 0 NOT NULL,
    unchanged integer DEFAULT 0 NOT NULL,
    rejected integer DEFAULT 0 NOT NULL,
    failure json,
    claim uuid,
    attempts integer DEFAULT 0 NOT NULL,
    run_id text,
    key_id uuid NOT NULL,
    key_name text NOT NULL,
    correlation_id text NOT NULL,
    ip text,
    user_agent text,
    created_at timestamptz NOT NULL,
    started_at timestamptz,
    heartbeat_at timestamptz,
    finished_at timestamptz,
    upload_removed_at timestamptz,
    templates json,
    undone_at timestamptz,
    preview json,
    warnings json,
    taken_codes json,
    keep_archived boolean DEFAULT false NOT NULL,
    mapping json,
    answers uuid,
    CONSTRAINT pk_imports PRIMARY KEY (id)
);
CREATE INDEX ix_imports_open ON imports (created_at) WHERE (status = ANY (ARRAY['queued'::text, 'processing'::text]));
CREATE INDEX ix_imports_started ON imports (company_id, started_at);
COMMENT ON COLUMN imports.sha256 IS 'of the uploaded bytes, hexadecimal';
COMMENT ON COLUMN imports.upload_key IS 'the uploaded bytes in the object store';
COMMENT ON COLUMN imports.table_key IS 'the table read from them, in the object store';
COMMENT ON COLUMN imports.default_year IS 'of volume columns that name no year';
COMMENT ON COLUMN imports.source IS 'ImportSource';
COMMENT ON COLUMN imports.rows_total IS 'data lines';
COMMENT ON COLUMN imports."position" IS 'typed rows committed';
COMMENT ON COLUMN imports.failure IS 'Issue';
COMMENT ON COLUMN imports.claim IS 'of the run that may write the next chunk';
COMMENT ON COLUMN imports.run_id IS 'the Dagster run that holds or held the claim';
COMMENT ON COLUMN imports.upload_removed_at IS 'of a dry run whose upload made room for another file';
COMMENT ON COLUMN imports.templates IS 'templates of messages in source, failure and warnings, by their English';
COMMENT ON COLUMN imports.undone_at IS 'when its writes were last taken back';
COMMENT ON COLUMN imports.preview IS 'ForeseenGrades, of a dry run';
COMMENT ON COLUMN imports.warnings IS 'ImportWarnings; null where there are none';
COMMENT ON COLUMN imports.taken_codes IS 'codes that no row of this file of corrections may have; null where none';
COMMENT ON COLUMN imports.keep_archived IS 'whether rows of archived SKUs are rejected, not brought back';
COMMENT ON COLUMN imports.mapping IS 'the caller''s, an earlier one merged with its answers';
COMMENT ON COLUMN imports.answers IS 'the import whose held-back values this one writes; null where none';
CREATE POLICY owner_queues ON imports TO CURRENT_ROLE USING (true) WITH CHECK (true);
GRANT SELECT,INSERT,UPDATE ON imports TO pcds_app;

CREATE TABLE own_words (
    company_id uuid NOT NULL,
    field text NOT NULL,
    folded text NOT NULL,
    text text NOT NULL,
    value json NOT NULL,
    updated_at timestamptz NOT NULL,
    CONSTRAINT pk_own_words PRIMARY KEY (company_id, field, folded)
);
COMMENT ON COLUMN own_words.folded IS 'the text without the differences that readers ignore';
COMMENT ON COLUMN own_words.value IS 'as in a mapping; JSON null for an empty cell';
GRANT SELECT,INSERT,DELETE,UPDATE ON own_words TO pcds_app;
