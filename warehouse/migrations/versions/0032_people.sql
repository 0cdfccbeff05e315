ALTER TABLE users ADD COLUMN signed_in_at TIMESTAMP WITH TIME ZONE;
COMMENT ON COLUMN users.signed_in_at IS 'of the last sign-in';
ALTER TABLE users ADD COLUMN sign_in_failed_at TIMESTAMP WITH TIME ZONE;
COMMENT ON COLUMN users.sign_in_failed_at IS 'of a wrong password; noted at most once a minute';
GRANT UPDATE (signed_in_at, sign_in_failed_at) ON users TO pcds_app;

ALTER TABLE user_sessions ADD COLUMN id UUID NOT NULL DEFAULT gen_random_uuid();
ALTER TABLE user_sessions ADD COLUMN began_at TIMESTAMP WITH TIME ZONE DEFAULT now();
ALTER TABLE user_sessions ADD COLUMN network TEXT;
ALTER TABLE user_sessions ADD COLUMN agent TEXT;
COMMENT ON COLUMN user_sessions.id IS 'by which a person ends it; the token is nowhere shown';
COMMENT ON COLUMN user_sessions.network IS 'of the sign-in: the address without its last part';
COMMENT ON COLUMN user_sessions.agent IS 'the browser and system of the sign-in, as it named them';
-- Processes of the release before add sessions without it until they are replaced.
UPDATE user_sessions SET began_at = expires_at - interval '12 hours';
ALTER TABLE user_sessions ALTER COLUMN began_at SET NOT NULL;
GRANT SELECT (id, company_id, user_id, seen_at, expires_at, began_at, network, agent)
    ON user_sessions TO pcds_app;
GRANT DELETE ON user_sessions TO pcds_app;

ALTER TABLE api_keys ADD COLUMN last_used_at TIMESTAMP WITH TIME ZONE;
COMMENT ON COLUMN api_keys.last_used_at IS 'of a request with the key or a token of it, to the hour';

-- As in 0004, and once an hour it notes that the key is used.
CREATE OR REPLACE FUNCTION pcds_admit(presented bytea, is_token boolean, usual_ceiling integer, at timestamptz)
RETURNS TABLE (client_id uuid, company_id uuid, name text, scopes text[], plan text, digest bytea, retry_after integer)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    ceiling integer;
    last_used timestamptz;
BEGIN
    IF is_token THEN
        SELECT tokens.client_id, tokens.scopes, tokens.token_hash INTO client_id, scopes, digest
        FROM bearer_tokens AS tokens WHERE tokens.token_hash = presented AND tokens.expires_at > at;
    ELSE
        SELECT keys.id, keys.scopes, keys.key_hash INTO client_id, scopes, digest
        FROM api_keys AS keys WHERE keys.key_hash = presented;
    END IF;
    SELECT keys.company_id, keys.name, companies.plan, coalesce(windows.per_minute, usual_ceiling), keys.last_used_at
    INTO company_id, name, plan, ceiling, last_used
    FROM api_keys AS keys
    JOIN companies ON companies.id = keys.company_id
    LEFT JOIN request_windows AS windows
        ON windows.client_id = keys.id AND windows.opens_at <= at AND (windows.closes_at > at) IS NOT FALSE
    WHERE keys.id = client_id AND keys.revoked_at IS NULL;
    IF FOUND THEN
        retry_after := pcds_take('key:' || client_id, ceiling, at);
        IF retry_after = 0 AND (last_used IS NULL OR last_used < at - interval '1 hour') THEN
            UPDATE api_keys AS keys SET last_used_at = at WHERE keys.id = client_id;
        END IF;
        RETURN NEXT;
    END IF;
    PERFORM set_config('app.company_id', CASE WHEN retry_after = 0 THEN company_id::text ELSE '' END, true);
END $$;
