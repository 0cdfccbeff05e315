CREATE TABLE oauth_clients (
    id text NOT NULL,
    name text NOT NULL,
    redirect_uris text[] NOT NULL,
    auth_method text NOT NULL,
    secret_hash bytea,
    held_since timestamptz NOT NULL,
    CONSTRAINT pk_oauth_clients PRIMARY KEY (id)
);
COMMENT ON COLUMN oauth_clients.id IS 'given at registration, or the https address of its metadata document';
COMMENT ON COLUMN oauth_clients.secret_hash IS 'SHA-256 of the secret; null of a public client';
COMMENT ON COLUMN oauth_clients.held_since IS 'its registration, or when its document was last fetched';
GRANT SELECT,INSERT,UPDATE ON oauth_clients TO pcds_app;

CREATE TABLE users (
    id uuid NOT NULL,
    company_id uuid NOT NULL,
    email text NOT NULL,
    password_hash text NOT NULL,
    created_at timestamptz NOT NULL,
    disabled_at timestamptz,
    role text NOT NULL,
    signed_in_at timestamptz,
    sign_in_failed_at timestamptz,
    totp_secret bytea,
    totp_step bigint,
    CONSTRAINT ck_users_role CHECK ((role = ANY (ARRAY['viewer'::text, 'editor'::text, 'approver'::text, 'administrator'::text]))),
    CONSTRAINT pk_users PRIMARY KEY (id)
);
CREATE UNIQUE INDEX uq_users_email ON users (email) WHERE (disabled_at IS NULL);
COMMENT ON COLUMN users.email IS 'in small letters; of one live account in all companies';
COMMENT ON COLUMN users.password_hash IS 'Argon2id with its parameters';
COMMENT ON COLUMN users.role IS 'what the person may do; each role may what the one before may';
COMMENT ON COLUMN users.signed_in_at IS 'of the last sign-in';
COMMENT ON COLUMN users.sign_in_failed_at IS 'of a wrong password; noted at most once a minute';
COMMENT ON COLUMN users.totp_secret IS 'of one-time codes (RFC 6238), sealed with a key of the data directory; null without a second factor';
COMMENT ON COLUMN users.totp_step IS 'the time step of the last code that was taken: none counts twice';
CREATE POLICY owner_admits ON users TO CURRENT_ROLE USING (true) WITH CHECK (true);
GRANT SELECT,INSERT ON users TO pcds_app;
GRANT UPDATE (disabled_at, role, signed_in_at, sign_in_failed_at, totp_secret, totp_step) ON users TO pcds_app;

CREATE TABLE connections (
    id uuid NOT NULL,
    company_id uuid NOT NULL,
    user_id uuid NOT NULL,
    client_id text NOT NULL,
    scopes text[] NOT NULL,
    authorised_at timestamptz NOT NULL,
    last_used_at timestamptz,
    revoked_at timestamptz,
    CONSTRAINT pk_connections PRIMARY KEY (id),
    CONSTRAINT fk_connections_client_id FOREIGN KEY (client_id) REFERENCES oauth_clients(id),
    CONSTRAINT fk_connections_user_id FOREIGN KEY (user_id) REFERENCES users(id)
);
CREATE INDEX ix_connections_client_id ON connections (client_id);
CREATE UNIQUE INDEX uq_connections_user_id_client_id ON connections (user_id, client_id) WHERE (revoked_at IS NULL);
CREATE POLICY owner_admits ON connections TO CURRENT_ROLE USING (true) WITH CHECK (true);
GRANT SELECT,INSERT ON connections TO pcds_app;
GRANT UPDATE (scopes, authorised_at, revoked_at) ON connections TO pcds_app;

CREATE TABLE authorization_codes (
    code_hash bytea NOT NULL,
    company_id uuid NOT NULL,
    connection_id uuid NOT NULL,
    redirect_uri text NOT NULL,
    code_challenge text NOT NULL,
    resource text NOT NULL,
    scopes text[] NOT NULL,
    expires_at timestamptz NOT NULL,
    used_at timestamptz,
    CONSTRAINT pk_authorization_codes PRIMARY KEY (code_hash),
    CONSTRAINT fk_authorization_codes_connection_id FOREIGN KEY (connection_id) REFERENCES connections(id)
);
CREATE INDEX ix_authorization_codes_expires_at ON authorization_codes (expires_at);
COMMENT ON COLUMN authorization_codes.code_challenge IS 'S256 (RFC 7636)';
CREATE POLICY owner_admits ON authorization_codes TO CURRENT_ROLE USING (true) WITH CHECK (true);
GRANT INSERT ON authorization_codes TO pcds_app;

CREATE TABLE connection_tokens (
    token_hash bytea NOT NULL,
    company_id uuid NOT NULL,
    connection_id uuid NOT NULL,
    family uuid NOT NULL,
    kind text NOT NULL,
    resource text NOT NULL,
    scopes text[] NOT NULL,
    expires_at timestamptz NOT NULL,
    used_at timestamptz,
    CONSTRAINT ck_connection_tokens_kind CHECK ((kind = ANY (ARRAY['access'::text, 'refresh'::text]))),
    CONSTRAINT pk_connection_tokens PRIMARY KEY (token_hash),
    CONSTRAINT fk_connection_tokens_connection_id FOREIGN KEY (connection_id) REFERENCES connections(id)
);
CREATE INDEX ix_connection_tokens_connection_id ON connection_tokens (connection_id);
CREATE INDEX ix_connection_tokens_expires_at ON connection_tokens (expires_at);
COMMENT ON COLUMN connection_tokens.family IS 'what came from one code: it ends together where a used token comes again';
COMMENT ON COLUMN connection_tokens.used_at IS 'of a refresh token that was exchanged for the next';
CREATE POLICY owner_admits ON connection_tokens TO CURRENT_ROLE USING (true) WITH CHECK (true);

CREATE TABLE password_links (
    token_hash bytea NOT NULL,
    company_id uuid NOT NULL,
    user_id uuid NOT NULL,
    expires_at timestamptz NOT NULL,
    CONSTRAINT pk_password_links PRIMARY KEY (token_hash),
    CONSTRAINT uq_password_links_user_id UNIQUE (user_id),
    CONSTRAINT fk_password_links_user_id FOREIGN KEY (user_id) REFERENCES users(id)
);
COMMENT ON COLUMN password_links.token_hash IS 'SHA-256 of the link''s token';
COMMENT ON COLUMN password_links.user_id IS 'of whom one link counts at a time';
CREATE POLICY owner_admits ON password_links TO CURRENT_ROLE USING (true) WITH CHECK (true);
GRANT SELECT,INSERT,DELETE ON password_links TO pcds_app;

CREATE TABLE recovery_codes (
    code_hash bytea NOT NULL,
    company_id uuid NOT NULL,
    user_id uuid NOT NULL,
    CONSTRAINT pk_recovery_codes PRIMARY KEY (code_hash),
    CONSTRAINT fk_recovery_codes_user_id_users FOREIGN KEY (user_id) REFERENCES users(id)
);
CREATE INDEX ix_recovery_codes_user_id ON recovery_codes (user_id);
COMMENT ON COLUMN recovery_codes.code_hash IS 'SHA-256 of the code with its person''s id';
GRANT SELECT,INSERT,DELETE ON recovery_codes TO pcds_app;

CREATE TABLE user_sessions (
    token_hash bytea NOT NULL,
    company_id uuid NOT NULL,
    user_id uuid NOT NULL,
    seen_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    began_at timestamptz DEFAULT now() NOT NULL,
    network text,
    agent text,
    CONSTRAINT pk_user_sessions PRIMARY KEY (token_hash),
    CONSTRAINT fk_user_sessions_user_id FOREIGN KEY (user_id) REFERENCES users(id)
);
CREATE INDEX ix_user_sessions_expires_at ON user_sessions (expires_at);
COMMENT ON COLUMN user_sessions.token_hash IS 'SHA-256 of the cookie''s token';
COMMENT ON COLUMN user_sessions.seen_at IS 'of its last request, to the minute';
COMMENT ON COLUMN user_sessions.id IS 'by which a person ends it; the token is nowhere shown';
COMMENT ON COLUMN user_sessions.network IS 'of the sign-in: the address without its last part';
COMMENT ON COLUMN user_sessions.agent IS 'the browser and system of the sign-in, as it named them';
CREATE POLICY owner_admits ON user_sessions TO CURRENT_ROLE USING (true) WITH CHECK (true);
GRANT INSERT,DELETE ON user_sessions TO pcds_app;
GRANT SELECT (company_id, user_id, seen_at, expires_at, id, began_at, network, agent) ON user_sessions TO pcds_app;
