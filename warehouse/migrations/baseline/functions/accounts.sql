CREATE FUNCTION pcds_add_tokens(wanted uuid, family uuid, resource text, access_scopes text[], refresh_scopes text[], access_hash bytea, refresh_hash bytea, access_until timestamptz, refresh_until timestamptz) RETURNS void
LANGUAGE sql
AS $_$
    INSERT INTO connection_tokens (token_hash, company_id, connection_id, family, kind, resource, scopes, expires_at)
    SELECT made.token_hash, held.company_id, held.id, $2, made.kind, $3, made.scopes, made.expires_at
    FROM connections AS held, (VALUES
        (access_hash, 'access', access_scopes, access_until),
        (refresh_hash, 'refresh', refresh_scopes, refresh_until)
    ) AS made (token_hash, kind, scopes, expires_at)
    WHERE held.id = wanted
$_$;
REVOKE ALL ON FUNCTION pcds_add_tokens FROM PUBLIC;

CREATE FUNCTION pcds_admit_connection(presented bytea, wanted_resource text, counted_as text, at timestamptz) RETURNS TABLE(connection_id uuid, company_id uuid, user_id uuid, email text, client_id text, client_name text, scopes text[], expires_at timestamptz, ceiling integer, retry_after integer, role text)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $$
#variable_conflict use_variable
DECLARE
    last_used timestamptz;
BEGIN
    SELECT held.id, held.company_id, users.id, users.email, clients.id, clients.name, tokens.scopes, tokens.expires_at,
           plans.connector_calls_per_minute, held.last_used_at,
           users.role
    INTO connection_id, company_id, user_id, email, client_id, client_name, scopes, expires_at, ceiling, last_used,
         role
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
REVOKE ALL ON FUNCTION pcds_admit_connection FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pcds_admit_connection TO pcds_app;

CREATE FUNCTION pcds_end_session(presented bytea) RETURNS void
LANGUAGE sql SECURITY DEFINER
SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $$
    DELETE FROM user_sessions WHERE token_hash = presented
$$;
REVOKE ALL ON FUNCTION pcds_end_session FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pcds_end_session TO pcds_app;

CREATE FUNCTION pcds_is_live(wanted uuid, client text) RETURNS boolean
LANGUAGE sql STABLE
AS $$
    SELECT EXISTS (
        SELECT FROM connections AS held JOIN users ON users.id = held.user_id AND users.disabled_at IS NULL
        WHERE held.id = wanted AND held.client_id = client AND held.revoked_at IS NULL
    )
$$;
REVOKE ALL ON FUNCTION pcds_is_live FROM PUBLIC;

CREATE FUNCTION pcds_password_link(presented bytea, at timestamptz) RETURNS TABLE(user_id uuid, company_id uuid, email text)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $$
    SELECT users.id, users.company_id, users.email
    FROM password_links AS link JOIN users ON users.id = link.user_id AND users.disabled_at IS NULL
    WHERE link.token_hash = presented AND link.expires_at > at
$$;
REVOKE ALL ON FUNCTION pcds_password_link FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pcds_password_link TO pcds_app;

CREATE FUNCTION pcds_redeem_code(presented bytea, client text, redirect text, challenge text, wanted_resource text, access_hash bytea, refresh_hash bytea, access_until timestamptz, refresh_until timestamptz, at timestamptz) RETURNS text[]
LANGUAGE plpgsql SECURITY DEFINER
SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $$
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
REVOKE ALL ON FUNCTION pcds_redeem_code FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pcds_redeem_code TO pcds_app;

CREATE FUNCTION pcds_revoke_token(presented bytea, client text, at timestamptz) RETURNS TABLE(connection_id uuid, company_id uuid)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $$
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
REVOKE ALL ON FUNCTION pcds_revoke_token FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pcds_revoke_token TO pcds_app;

CREATE FUNCTION pcds_rotate_token(presented bytea, client text, wanted_scopes text[], wanted_resource text, access_hash bytea, refresh_hash bytea, access_until timestamptz, refresh_until timestamptz, at timestamptz) RETURNS text[]
LANGUAGE plpgsql SECURITY DEFINER
SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $$
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
REVOKE ALL ON FUNCTION pcds_rotate_token FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pcds_rotate_token TO pcds_app;

CREATE FUNCTION pcds_session(presented bytea, idle_since timestamptz, at timestamptz) RETURNS TABLE(user_id uuid, email text, company_id uuid, company_name text, plan text, role text)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $$
#variable_conflict use_column
BEGIN
    UPDATE user_sessions AS held SET seen_at = at
    WHERE held.token_hash = presented AND held.expires_at > at
        AND held.seen_at > idle_since AND held.seen_at < at - interval '1 minute';
    RETURN QUERY
    SELECT users.id, users.email, users.company_id, companies.name, companies.plan, users.role
    FROM user_sessions AS held
    JOIN users ON users.id = held.user_id AND users.disabled_at IS NULL
    JOIN companies ON companies.id = users.company_id
    WHERE held.token_hash = presented AND held.expires_at > at AND held.seen_at > idle_since;
END $$;
REVOKE ALL ON FUNCTION pcds_session FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pcds_session TO pcds_app;

CREATE FUNCTION pcds_session_id(presented bytea) RETURNS uuid
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $$
    SELECT id FROM user_sessions WHERE token_hash = presented
$$;
REVOKE ALL ON FUNCTION pcds_session_id FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pcds_session_id TO pcds_app;

CREATE FUNCTION pcds_set_password(person uuid, password_hash text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER
SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $$
#variable_conflict use_variable
BEGIN
    UPDATE users SET password_hash = pcds_set_password.password_hash
    WHERE users.id = person AND users.disabled_at IS NULL
        AND users.company_id = nullif(current_setting('app.company_id', true), '')::uuid;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    DELETE FROM password_links WHERE password_links.user_id = person;
    DELETE FROM user_sessions WHERE user_sessions.user_id = person;
    RETURN true;
END $$;
REVOKE ALL ON FUNCTION pcds_set_password FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pcds_set_password TO pcds_app;

CREATE FUNCTION pcds_sign_in(wanted text, account text, network text, per_account integer, per_network integer, slow_above integer, at timestamptz) RETURNS TABLE(user_id uuid, company_id uuid, password_hash text, retry_after integer, is_slow boolean)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $$
#variable_conflict use_variable
BEGIN
    SELECT users.id, users.company_id, users.password_hash INTO user_id, company_id, password_hash
    FROM users WHERE users.email = wanted AND users.disabled_at IS NULL;
    is_slow := false;
    BEGIN
        retry_after := pcds_take('sign-in-network:' || network, per_network, at);
        IF retry_after = 0 THEN
            retry_after := pcds_take('sign-in-account:' || account || ':' || network, per_account, at);
        END IF;
        IF retry_after > 0 THEN
            RAISE EXCEPTION USING ERRCODE = 'PC429';
        END IF;
        is_slow := pcds_take('sign-in-everywhere:' || account, slow_above, at) > 0;
    EXCEPTION WHEN SQLSTATE 'PC429' THEN
        NULL; -- the place that one of them took is free again
    END;
    RETURN NEXT;
END $$;
REVOKE ALL ON FUNCTION pcds_sign_in FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pcds_sign_in TO pcds_app;

CREATE FUNCTION pcds_sweep_accounts(at timestamptz) RETURNS integer
LANGUAGE sql SECURITY DEFINER
SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $$
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
REVOKE ALL ON FUNCTION pcds_sweep_accounts FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pcds_sweep_accounts TO pcds_app;

CREATE FUNCTION pcds_take_registration(address text, ceiling integer, at timestamptz) RETURNS integer
LANGUAGE sql SECURITY DEFINER
SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $$
    SELECT pcds_take('registration:' || address, ceiling, at)
$$;


SET default_tablespace = '';

SET default_table_access_method = heap;
REVOKE ALL ON FUNCTION pcds_take_registration FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pcds_take_registration TO pcds_app;
