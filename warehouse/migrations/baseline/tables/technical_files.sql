CREATE TABLE technical_files (
    id uuid NOT NULL,
    company_id uuid NOT NULL,
    sku_id uuid NOT NULL,
    type text NOT NULL,
    filename text NOT NULL,
    media_type text NOT NULL,
    size_bytes integer NOT NULL,
    sha256 text NOT NULL,
    reference text,
    issuer text,
    issued_on date,
    expires_on date,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    CONSTRAINT pk_technical_files PRIMARY KEY (id)
);
CREATE INDEX ix_technical_files_newest ON technical_files (company_id, sku_id, created_at DESC);
COMMENT ON COLUMN technical_files.id IS 'the object <company_id>/files/<id> holds the bytes';
COMMENT ON COLUMN technical_files.media_type IS 'what the bytes are, not what they were declared as';
COMMENT ON COLUMN technical_files.sha256 IS 'of the bytes, hexadecimal';
GRANT SELECT,INSERT ON technical_files TO pcds_app;
