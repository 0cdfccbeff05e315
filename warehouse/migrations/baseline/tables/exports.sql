CREATE TABLE exports (
    id uuid NOT NULL,
    company_id uuid NOT NULL,
    format text NOT NULL,
    source text NOT NULL,
    status text NOT NULL,
    skus_total integer NOT NULL,
    skus_done integer NOT NULL,
    as_of timestamptz,
    rows json,
    object_key text NOT NULL,
    size_bytes bigint,
    sha256 text,
    failure json,
    claim uuid,
    attempts integer NOT NULL,
    client_id uuid NOT NULL,
    client_name text NOT NULL,
    created_at timestamptz NOT NULL,
    heartbeat_at timestamptz,
    finished_at timestamptz,
    expires_at timestamptz,
    CONSTRAINT pk_exports PRIMARY KEY (id)
);
CREATE INDEX ix_exports_newest ON exports (company_id, created_at DESC, id);
CREATE INDEX ix_exports_open ON exports (created_at) WHERE (status = ANY (ARRAY['queued'::text, 'processing'::text]));
COMMENT ON COLUMN exports.format IS 'csv, xlsx or parquet';
COMMENT ON COLUMN exports.source IS 'records or snapshot';
COMMENT ON COLUMN exports.status IS 'queued, processing, completed or failed';
COMMENT ON COLUMN exports.skus_total IS 'when the export was asked for';
COMMENT ON COLUMN exports.as_of IS 'the instant of the records in the file';
COMMENT ON COLUMN exports.rows IS 'rows by table of the file';
COMMENT ON COLUMN exports.object_key IS 'the file in the object store';
COMMENT ON COLUMN exports.sha256 IS 'of the file, hexadecimal';
COMMENT ON COLUMN exports.failure IS 'Issue';
COMMENT ON COLUMN exports.claim IS 'of the run that writes the file';
COMMENT ON COLUMN exports.attempts IS 'runs that have claimed it';
COMMENT ON COLUMN exports.expires_at IS 'when file and row may be removed';
CREATE POLICY owner_finds ON exports FOR SELECT TO CURRENT_ROLE USING (true);
GRANT SELECT,INSERT,DELETE ON exports TO pcds_app;
GRANT UPDATE (status, skus_done, as_of, rows, size_bytes, sha256, failure, claim, attempts, heartbeat_at, finished_at, expires_at) ON exports TO pcds_app;
