-- The role of each person, and the two functions that say it of a session's person and of a connection's.
-- Grants of the functions are in 0030_roles.py.

ALTER TABLE users ADD COLUMN role TEXT CONSTRAINT ck_users_role
    CHECK (role IN ('viewer', 'editor', 'approver', 'administrator'));
COMMENT ON COLUMN users.role IS 'what the person may do; each role may what the one before may';
-- The first person of a company who may still sign in is its administrator; the others could decide reviews until now.
UPDATE users SET role = CASE WHEN NOT EXISTS (
    SELECT FROM users AS earlier
    WHERE earlier.company_id = users.company_id
        AND (earlier.disabled_at IS NOT NULL, earlier.created_at, earlier.id)
            < (users.disabled_at IS NOT NULL, users.created_at, users.id)
) THEN 'administrator' ELSE 'approver' END;
ALTER TABLE users ALTER COLUMN role SET NOT NULL;
GRANT UPDATE (role) ON users TO pcds_app;

-- The person behind the digest of a session's token, with the role; no row where the session or the person has ended.
DROP FUNCTION pcds_session(bytea, timestamptz, timestamptz);
CREATE FUNCTION pcds_session(presented bytea, idle_since timestamptz, at timestamptz)
RETURNS TABLE (user_id uuid, email text, company_id uuid, company_name text, plan text,
               role text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
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

-- The live connection behind the digest of an access token, as in 0016, with the role of its person.
DROP FUNCTION pcds_admit_connection(bytea, text, text, timestamptz);
CREATE FUNCTION pcds_admit_connection(presented bytea, wanted_resource text, counted_as text, at timestamptz)
RETURNS TABLE (connection_id uuid, company_id uuid, user_id uuid, email text, client_id text, client_name text,
               scopes text[], expires_at timestamptz, ceiling integer, retry_after integer,
               role text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
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
