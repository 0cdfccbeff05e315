CREATE TABLE kept_answers (
    company_id uuid NOT NULL,
    request bytea NOT NULL,
    fingerprint bytea NOT NULL,
    status integer NOT NULL,
    media_type text NOT NULL,
    body bytea NOT NULL,
    answered_at timestamptz NOT NULL,
    CONSTRAINT pk_kept_answers PRIMARY KEY (company_id, request)
);
ALTER TABLE kept_answers ALTER COLUMN body SET STORAGE EXTERNAL;
CREATE INDEX ix_kept_answers_answered_at ON kept_answers (answered_at);
COMMENT ON COLUMN kept_answers.request IS 'SHA-256 of company, method, path and Idempotency-Key';
COMMENT ON COLUMN kept_answers.fingerprint IS 'SHA-256 of the payload';
COMMENT ON COLUMN kept_answers.status IS 'of HTTP, 200 to 299';
COMMENT ON COLUMN kept_answers.body IS 'as zlib deflates it (RFC 1950)';
CREATE POLICY owner_sweeps ON kept_answers TO CURRENT_ROLE USING (true) WITH CHECK (true);
GRANT SELECT,INSERT,DELETE,UPDATE ON kept_answers TO pcds_app;
