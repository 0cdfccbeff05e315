ALTER TABLE users ADD COLUMN totp_secret BYTEA;
ALTER TABLE users ADD COLUMN totp_step BIGINT;
COMMENT ON COLUMN users.totp_secret IS 'of one-time codes (RFC 6238), sealed with a key of the data directory; null without a second factor';
COMMENT ON COLUMN users.totp_step IS 'the time step of the last code that was taken: none counts twice';
GRANT UPDATE (totp_secret, totp_step) ON users TO pcds_app;

CREATE TABLE recovery_codes (
    code_hash BYTEA NOT NULL,
    company_id UUID NOT NULL,
    user_id UUID NOT NULL,
    CONSTRAINT pk_recovery_codes PRIMARY KEY (code_hash),
    CONSTRAINT fk_recovery_codes_user_id_users FOREIGN KEY (user_id) REFERENCES users (id)
);
COMMENT ON COLUMN recovery_codes.code_hash IS 'SHA-256 of the code with its person''s id';
CREATE INDEX ix_recovery_codes_user_id ON recovery_codes (user_id);
ALTER TABLE recovery_codes ENABLE ROW LEVEL SECURITY;
ALTER TABLE recovery_codes FORCE ROW LEVEL SECURITY;
CREATE POLICY company ON recovery_codes
    USING (company_id = (SELECT nullif(current_setting('app.company_id', true), '')::uuid))
    WITH CHECK (company_id = (SELECT nullif(current_setting('app.company_id', true), '')::uuid));
GRANT SELECT, INSERT, DELETE ON recovery_codes TO pcds_app;
