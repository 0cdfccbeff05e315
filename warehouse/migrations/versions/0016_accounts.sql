-- People, their sessions, the applications that they connected, and the functions through which both are let in.
-- Policies and grants are in 0016_accounts.py. Instants are the service's clock's, never the database's.

CREATE TABLE users (
    id UUID NOT NULL,
    company_id UUID NOT NULL,
    email TEXT NOT NULL,
    password_hash TEXT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    disabled_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_users PRIMARY KEY (id),
    CONSTRAINT uq_users_email UNIQUE (email)
);
COMMENT ON COLUMN users.email IS 'in small letters; of one person in all companies';
COMMENT ON COLUMN users.password_hash IS 'Argon2id with its parameters';

CREATE TABLE user_sessions (
    token_hash BYTEA NOT NULL,
    company_id UUID NOT NULL,
    user_id UUID NOT NULL,
    seen_at TIMESTAMP WITH TIME ZONE NOT NULL,
    expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_user_sessions PRIMARY KEY (token_hash),
    CONSTRAINT fk_user_sessions_user_id FOREIGN KEY(user_id) REFERENCES users (id)
);
CREATE INDEX ix_user_sessions_expires_at ON user_sessions (expires_at);
COMMENT ON COLUMN user_sessions.token_hash IS 'SHA-256 of the cookie''s token';
COMMENT ON COLUMN user_sessions.seen_at IS 'of its last request, to the minute';

CREATE TABLE oauth_clients (
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    redirect_uris TEXT[] NOT NULL,
    auth_method TEXT NOT NULL,
    secret_hash BYTEA,
    held_since TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_oauth_clients PRIMARY KEY (id)
);
COMMENT ON COLUMN oauth_clients.id IS 'given at registration, or the https address of its metadata document';
COMMENT ON COLUMN oauth_clients.secret_hash IS 'SHA-256 of the secret; null of a public client';
COMMENT ON COLUMN oauth_clients.held_since IS 'its registration, or when its document was last fetched';

CREATE TABLE connections (
    id UUID NOT NULL,
    company_id UUID NOT NULL,
    user_id UUID NOT NULL,
    client_id TEXT NOT NULL,
    scopes TEXT[] NOT NULL,
    authorised_at TIMESTAMP WITH TIME ZONE NOT NULL,
    last_used_at TIMESTAMP WITH TIME ZONE,
    revoked_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_connections PRIMARY KEY (id),
    CONSTRAINT fk_connections_user_id FOREIGN KEY(user_id) REFERENCES users (id),
    CONSTRAINT fk_connections_client_id FOREIGN KEY(client_id) REFERENCES oauth_clients (id)
);
CREATE UNIQUE INDEX uq_connections_user_id_client_id ON connections (user_id, client_id) WHERE revoked_at IS NULL;
CREATE INDEX ix_connections_client_id ON connections (client_id);

CREATE TABLE authorization_codes (
    code_hash BYTEA NOT NULL,
    company_id UUID NOT NULL,
    connection_id UUID NOT NULL,
    redirect_uri TEXT NOT NULL,
    code_challenge TEXT NOT NULL,
    resource TEXT NOT NULL,
    scopes TEXT[] NOT NULL,
    expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
    used_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_authorization_codes PRIMARY KEY (code_hash),
    CONSTRAINT fk_authorization_codes_connection_id FOREIGN KEY(connection_id) REFERENCES connections (id)
);
CREATE INDEX ix_authorization_codes_expires_at ON authorization_codes (expires_at);
COMMENT ON COLUMN authorization_codes.code_challenge IS 'S256 (RFC 7636)';

CREATE TABLE connection_tokens (
    token_hash BYTEA NOT NULL,
    company_id UUID NOT NULL,
    connection_id UUID NOT NULL,
    family UUID NOT NULL,
    kind TEXT NOT NULL,
    resource TEXT NOT NULL,
    scopes TEXT[] NOT NULL,
    expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
    used_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_connection_tokens PRIMARY KEY (token_hash),
    CONSTRAINT ck_connection_tokens_kind CHECK (kind IN ('access', 'refresh')),
    CONSTRAINT fk_connection_tokens_connection_id FOREIGN KEY(connection_id) REFERENCES connections (id)
);
CREATE INDEX ix_connection_tokens_connection_id ON connection_tokens (connection_id);
CREATE INDEX ix_connection_tokens_expires_at ON connection_tokens (expires_at);
COMMENT ON COLUMN connection_tokens.family IS 'what came from one code: it ends together where a used token comes again';
COMMENT ON COLUMN connection_tokens.used_at IS 'of a refresh token that was exchanged for the next';

-- A person who signs in: what the password is to be compared with, no user where there is none to sign in, and 0 or the
-- seconds to wait. Both an account and an address have a ceiling; neither is counted where one of them must wait. The
-- caller undoes the count when the password was right.
CREATE FUNCTION pcds_sign_in(wanted text, account text, address text, per_account integer, per_address integer,
                             at timestamptz)
RETURNS TABLE (user_id uuid, company_id uuid, password_hash text, retry_after integer)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
#variable_conflict use_variable
BEGIN
    SELECT users.id, users.company_id, users.password_hash INTO user_id, company_id, password_hash
    FROM users WHERE users.email = wanted AND users.disabled_at IS NULL;
    BEGIN
        retry_after := pcds_take('sign-in-address:' || address, per_address, at);
        IF retry_after = 0 THEN
            retry_after := pcds_take('sign-in-account:' || account, per_account, at);
        END IF;
        IF retry_after > 0 THEN
            RAISE EXCEPTION USING ERRCODE = 'PC429';
        END IF;
    EXCEPTION WHEN SQLSTATE 'PC429' THEN
        NULL; -- the place that one of them took is free again
    END;
    RETURN NEXT;
END $$;

-- The person behind the digest of a session's token; no row where the session or the person has ended.
CREATE FUNCTION pcds_session(presented bytea, idle_since timestamptz, at timestamptz)
RETURNS TABLE (user_id uuid, email text, company_id uuid, company_name text, plan text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
#variable_conflict use_column
BEGIN
    UPDATE user_sessions AS held SET seen_at = at
    WHERE held.token_hash = presented AND held.expires_at > at
        AND held.seen_at > idle_since AND held.seen_at < at - interval '1 minute';
    RETURN QUERY
    SELECT users.id, users.email, users.company_id, companies.name, companies.plan
    FROM user_sessions AS held
    JOIN users ON users.id = held.user_id AND users.disabled_at IS NULL
    JOIN companies ON companies.id = users.company_id
    WHERE held.token_hash = presented AND held.expires_at > at AND held.seen_at > idle_since;
END $$;

-- End a session by the digest of its token.
CREATE FUNCTION pcds_end_session(presented bytea) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    DELETE FROM user_sessions WHERE token_hash = presented
$$;

-- Count a request of an address that has shown no credential; 0 or the seconds to wait.
CREATE FUNCTION pcds_take_registration(address text, ceiling integer, at timestamptz) RETURNS integer
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT pcds_take('registration:' || address, ceiling, at)
$$;

-- Let a connector request in: the live connection behind the digest of an access token, with 0 or the seconds to wait
-- under its company's plan where the request is counted: as a call, or as the answer to a call's question, which the call
-- has paid for and which therefore has places of its own. No row for a token that is unknown, expired, of another
-- resource, or of a connection or person that has ended. The connection's last use is held to the second.
CREATE FUNCTION pcds_admit_connection(presented bytea, wanted_resource text, counted_as text, at timestamptz)
RETURNS TABLE (connection_id uuid, company_id uuid, user_id uuid, email text, client_id text, client_name text,
               scopes text[], expires_at timestamptz, ceiling integer, retry_after integer)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    last_used timestamptz;
BEGIN
    SELECT held.id, held.company_id, users.id, users.email, clients.id, clients.name, tokens.scopes, tokens.expires_at,
           plans.connector_calls_per_minute, held.last_used_at
    INTO connection_id, company_id, user_id, email, client_id, client_name, scopes, expires_at, ceiling, last_used
    FROM connection_tokens AS tokens
    JOIN connections AS held ON held.id = tokens.connection_id AND held.revoked_at IS NULL
    JOIN users ON users.id = held.user_id AND users.disabled_at IS NULL
    JOIN oauth_clients AS clients ON clients.id = held.client_id
    JOIN companies ON companies.id = held.company_id
    JOIN plans ON plans.plan = companies.plan
    WHERE tokens.token_hash = presented AND tokens.kind = 'access' AND tokens.expires_at > at
        AND tokens.resource = wanted_resource;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    retry_after := CASE WHEN counted_as IS NULL THEN 0
                        ELSE pcds_take('connection-' || counted_as || ':' || connection_id, ceiling, at) END;
    IF last_used IS NULL OR last_used < at - interval '1 second' THEN
        UPDATE connections AS held SET last_used_at = at WHERE held.id = connection_id;
        PERFORM set_config('synchronous_commit', 'off', true); -- nobody waits for the disk because of it
    END IF;
    RETURN NEXT;
END $$;

-- Exchange a code for the first tokens of a family; the scopes, or null whatever was wrong. Whoever presents a code has
-- used it up. One that comes again ends every token of its connection: somebody else knows it.
CREATE FUNCTION pcds_redeem_code(presented bytea, client text, redirect text, challenge text, wanted_resource text,
                                 access_hash bytea, refresh_hash bytea, access_until timestamptz,
                                 refresh_until timestamptz, at timestamptz) RETURNS text[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    code record;
BEGIN
    SELECT * INTO code FROM authorization_codes WHERE code_hash = presented FOR UPDATE;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    IF code.used_at IS NOT NULL THEN
        DELETE FROM connection_tokens WHERE connection_id = code.connection_id;
        RETURN NULL;
    END IF;
    UPDATE authorization_codes SET used_at = at WHERE code_hash = presented;
    IF code.expires_at <= at OR code.code_challenge <> challenge OR code.resource <> wanted_resource
        OR code.redirect_uri <> coalesce(redirect, code.redirect_uri)
        OR NOT pcds_is_live(code.connection_id, client)
    THEN
        RETURN NULL;
    END IF;
    PERFORM pcds_add_tokens(code.connection_id, gen_random_uuid(), wanted_resource, code.scopes, code.scopes,
                            access_hash, refresh_hash, access_until, refresh_until);
    RETURN code.scopes;
END $$;

-- Exchange a refresh token for the next; the scopes, an empty list where more are wanted than it has, or null whatever
-- else was wrong. One that comes again ends its family: of two that hold it, one is not the client.
CREATE FUNCTION pcds_rotate_token(presented bytea, client text, wanted_scopes text[], wanted_resource text,
                                  access_hash bytea, refresh_hash bytea, access_until timestamptz,
                                  refresh_until timestamptz, at timestamptz) RETURNS text[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    token record;
BEGIN
    SELECT * INTO token FROM connection_tokens WHERE token_hash = presented AND kind = 'refresh' FOR UPDATE;
    IF NOT FOUND OR NOT pcds_is_live(token.connection_id, client) THEN
        RETURN NULL;
    END IF;
    IF token.used_at IS NOT NULL THEN
        DELETE FROM connection_tokens AS held
        WHERE held.connection_id = token.connection_id AND held.family = token.family;
        RETURN NULL;
    END IF;
    IF token.expires_at <= at OR token.resource <> wanted_resource THEN
        RETURN NULL;
    END IF;
    IF NOT coalesce(wanted_scopes, token.scopes) <@ token.scopes THEN
        RETURN '{}';
    END IF;
    UPDATE connection_tokens SET used_at = at WHERE token_hash = presented;
    PERFORM pcds_add_tokens(token.connection_id, token.family, wanted_resource, coalesce(wanted_scopes, token.scopes),
                            token.scopes, access_hash, refresh_hash, access_until, refresh_until);
    RETURN coalesce(wanted_scopes, token.scopes);
END $$;

-- Whether a connection counts, and is that client's.
CREATE FUNCTION pcds_is_live(wanted uuid, client text) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT FROM connections AS held JOIN users ON users.id = held.user_id AND users.disabled_at IS NULL
        WHERE held.id = wanted AND held.client_id = client AND held.revoked_at IS NULL
    )
$$;

CREATE FUNCTION pcds_add_tokens(wanted uuid, family uuid, resource text, access_scopes text[], refresh_scopes text[],
                                access_hash bytea, refresh_hash bytea, access_until timestamptz,
                                refresh_until timestamptz) RETURNS void
LANGUAGE sql AS $$
    INSERT INTO connection_tokens (token_hash, company_id, connection_id, family, kind, resource, scopes, expires_at)
    SELECT made.token_hash, held.company_id, held.id, $2, made.kind, $3, made.scopes, made.expires_at
    FROM connections AS held, (VALUES
        (access_hash, 'access', access_scopes, access_until),
        (refresh_hash, 'refresh', refresh_scopes, refresh_until)
    ) AS made (token_hash, kind, scopes, expires_at)
    WHERE held.id = wanted
$$;

-- End a token at its client's wish (RFC 7009), a refresh token with its family; the connection and its company where
-- that leaves nothing to use it with, else no row.
CREATE FUNCTION pcds_revoke_token(presented bytea, client text, at timestamptz)
RETURNS TABLE (connection_id uuid, company_id uuid)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
#variable_conflict use_column
DECLARE
    token record;
BEGIN
    SELECT held.* INTO token FROM connection_tokens AS held WHERE held.token_hash = presented FOR UPDATE;
    IF NOT FOUND OR NOT pcds_is_live(token.connection_id, client) THEN
        RETURN;
    END IF;
    DELETE FROM connection_tokens AS held
    WHERE held.connection_id = token.connection_id
        AND (held.token_hash = presented OR token.kind = 'refresh' AND held.family = token.family);
    IF NOT EXISTS (SELECT FROM connection_tokens AS held
                   WHERE held.connection_id = token.connection_id AND held.used_at IS NULL AND held.expires_at > at) THEN
        RETURN QUERY SELECT token.connection_id, token.company_id;
    END IF;
END $$;

-- Forget sessions, codes and tokens that have ended, and registrations that nobody connected within a month; how many.
CREATE FUNCTION pcds_sweep_accounts(at timestamptz) RETURNS integer
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    WITH sessions AS (DELETE FROM user_sessions WHERE expires_at <= at RETURNING 1),
    codes AS (DELETE FROM authorization_codes WHERE expires_at <= at - interval '1 day' RETURNING 1),
    tokens AS (DELETE FROM connection_tokens WHERE expires_at <= at RETURNING 1),
    clients AS (
        DELETE FROM oauth_clients WHERE held_since <= at - interval '1 month'
            AND NOT EXISTS (SELECT FROM connections WHERE connections.client_id = oauth_clients.id) RETURNING 1
    )
    SELECT (SELECT count(*) FROM sessions)::integer + (SELECT count(*) FROM codes)::integer
        + (SELECT count(*) FROM tokens)::integer + (SELECT count(*) FROM clients)::integer
$$;
