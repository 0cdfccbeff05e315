CREATE TABLE bearer_tokens (
    token_hash bytea NOT NULL,
    company_id uuid NOT NULL,
    client_id uuid NOT NULL,
    scopes text[] NOT NULL,
    expires_at timestamptz NOT NULL,
    CONSTRAINT pk_bearer_tokens PRIMARY KEY (token_hash),
    CONSTRAINT fk_bearer_tokens_client_id FOREIGN KEY (client_id) REFERENCES api_keys(id)
);
CREATE INDEX ix_bearer_tokens_expires_at ON bearer_tokens (expires_at);
COMMENT ON COLUMN bearer_tokens.token_hash IS 'SHA-256 of the token';
CREATE POLICY owner_admits ON bearer_tokens TO CURRENT_ROLE USING (true) WITH CHECK (true);
GRANT INSERT ON bearer_tokens TO pcds_app;

CREATE TABLE key_probes (
    name text NOT NULL,
    probe bytea NOT NULL,
    CONSTRAINT key_probes_pkey PRIMARY KEY (name)
);
COMMENT ON TABLE key_probes IS 'derived from each key; tells whether a file is the same, nothing else';
GRANT SELECT ON key_probes TO pcds_app;

CREATE UNLOGGED TABLE request_slots (
    spender text NOT NULL,
    number integer NOT NULL,
    taken_at timestamptz DEFAULT '-infinity'::timestamptz NOT NULL,
    requests integer DEFAULT 0 NOT NULL,
    CONSTRAINT pk_request_slots PRIMARY KEY (spender, number)
)
WITH (fillfactor='50');
COMMENT ON COLUMN request_slots.spender IS 'key:ID, for token requests client:ID and address:IP';
COMMENT ON COLUMN request_slots.taken_at IS 'by the last of its requests';
COMMENT ON COLUMN request_slots.requests IS 'that hold it; above 1 only where a ceiling is above 1 000';

CREATE TABLE request_windows (
    client_id uuid NOT NULL,
    company_id uuid NOT NULL,
    per_minute integer NOT NULL,
    opens_at timestamptz NOT NULL,
    closes_at timestamptz,
    CONSTRAINT pk_request_windows PRIMARY KEY (client_id),
    CONSTRAINT fk_request_windows_client_id FOREIGN KEY (client_id) REFERENCES api_keys(id)
);
COMMENT ON COLUMN request_windows.closes_at IS 'the first instant after it; null is until it is closed';
CREATE POLICY owner_admits ON request_windows TO CURRENT_ROLE USING (true) WITH CHECK (true);
