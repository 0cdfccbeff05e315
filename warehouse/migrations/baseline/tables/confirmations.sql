CREATE TABLE confirmations (
    company_id uuid NOT NULL,
    code_hash bytea NOT NULL,
    connection_id uuid NOT NULL,
    meaning bytea NOT NULL,
    expires_at timestamptz NOT NULL,
    CONSTRAINT pk_confirmations PRIMARY KEY (company_id, code_hash)
);
CREATE INDEX ix_confirmations_expires_at ON confirmations (company_id, expires_at);
COMMENT ON COLUMN confirmations.code_hash IS 'SHA-256 of the code';
COMMENT ON COLUMN confirmations.meaning IS 'SHA-256 of the tool and its arguments';
GRANT SELECT,INSERT,DELETE ON confirmations TO pcds_app;
