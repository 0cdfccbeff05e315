CREATE FUNCTION pcds_admit(presented bytea, is_token boolean, usual_ceiling integer, at timestamptz) RETURNS TABLE(client_id uuid, company_id uuid, name text, scopes text[], plan text, digest bytea, retry_after integer)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $$
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
REVOKE ALL ON FUNCTION pcds_admit FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pcds_admit TO pcds_app;

CREATE FUNCTION pcds_admit_counted(presented bytea, is_token boolean, usual_ceiling integer, at timestamptz) RETURNS TABLE(client_id uuid, company_id uuid, name text, scopes text[], plan text, digest bytea, retry_after integer, quota integer, remaining integer, reset integer)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $$
#variable_conflict use_variable
DECLARE
    span CONSTANT interval := '60 s';
    spent integer;
    oldest timestamptz;
BEGIN
    SELECT let.client_id, let.company_id, let.name, let.scopes, let.plan, let.digest, let.retry_after
    INTO client_id, company_id, name, scopes, plan, digest, retry_after
    FROM pcds_admit(presented, is_token, usual_ceiling, at) AS let;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    SELECT windows.per_minute INTO quota FROM request_windows AS windows
    WHERE windows.client_id = client_id AND windows.opens_at <= at AND (windows.closes_at > at) IS NOT FALSE;
    quota := coalesce(quota, usual_ceiling);
    SELECT coalesce(sum(slot.requests), 0), min(slot.taken_at) INTO spent, oldest FROM request_slots AS slot
    WHERE slot.spender = 'key:' || client_id AND slot.taken_at > at - span AND slot.taken_at < at + span;
    remaining := CASE WHEN retry_after > 0 THEN 0 ELSE greatest(quota - spent, 0) END;
    reset := CASE WHEN retry_after > 0 THEN retry_after
        ELSE greatest(1, ceil(extract(epoch FROM coalesce(oldest, at) + span - at))) END;
    RETURN NEXT;
END $$;
REVOKE ALL ON FUNCTION pcds_admit_counted FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pcds_admit_counted TO pcds_app;

CREATE FUNCTION pcds_sweep_access(at timestamptz) RETURNS integer
LANGUAGE sql SECURITY DEFINER
SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $$
    WITH tokens AS (DELETE FROM bearer_tokens WHERE expires_at <= at RETURNING 1),
    idle AS (SELECT spender, number FROM request_slots WHERE taken_at <= at - interval '1 hour' FOR UPDATE SKIP LOCKED),
    slots AS (DELETE FROM request_slots WHERE (spender, number) IN (TABLE idle) RETURNING 1)
    SELECT (SELECT count(*) FROM tokens)::integer + (SELECT count(*) FROM slots)::integer
$$;
REVOKE ALL ON FUNCTION pcds_sweep_access FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pcds_sweep_access TO pcds_app;

CREATE FUNCTION pcds_take(wanted text, ceiling integer, at timestamptz) RETURNS integer
LANGUAGE plpgsql
AS $$
DECLARE
    span CONSTANT interval := '60 s';
    room CONSTANT integer := CASE WHEN ceiling > 1000 THEN (ceiling + 119) / 120 ELSE 1 END;
    places CONSTANT integer := ceiling / room;
    open_since CONSTANT timestamptz := CASE WHEN room > 1 THEN at - interval '1 s' ELSE 'infinity' END;
    chosen integer;
    held integer;
    oldest timestamptz;
    complete boolean := false;
BEGIN
    LOOP
        IF room > 1 THEN
            -- One of the last second that has room, so that none is left half full; then one that is free; and before
            -- a refusal any that has room, though its first requests then count for longer than their minute: requests
            -- at once and more than a second apart would else take every place with a handful in each.
            SELECT slot.number INTO chosen FROM request_slots AS slot
            WHERE slot.spender = wanted AND slot.number <= places
                AND (slot.taken_at <= at - span OR slot.taken_at >= at + span OR slot.requests < room)
            ORDER BY CASE WHEN slot.taken_at <= at - span OR slot.taken_at >= at + span THEN 1
                          WHEN slot.taken_at > open_since THEN 0 ELSE 2 END,
                slot.taken_at DESC
            LIMIT 1 FOR UPDATE SKIP LOCKED;
        ELSE
            SELECT slot.number INTO chosen FROM request_slots AS slot
            WHERE slot.spender = wanted AND slot.number <= places
                AND (slot.taken_at <= at - span OR slot.taken_at >= at + span)
            LIMIT 1 FOR UPDATE SKIP LOCKED;
        END IF;
        IF FOUND THEN
            UPDATE request_slots AS slot
            SET requests = CASE WHEN room > 1 AND slot.taken_at > at - span AND slot.taken_at < at + span
                                THEN slot.requests + 1 ELSE 1 END,
                taken_at = CASE WHEN slot.taken_at < at + span THEN greatest(slot.taken_at, at) ELSE at END
            WHERE slot.spender = wanted AND slot.number = chosen;
            RETURN 0;
        END IF;
        SELECT count(*), min(slot.taken_at) FILTER (WHERE slot.taken_at > at - span) INTO held, oldest
        FROM request_slots AS slot WHERE slot.spender = wanted AND slot.number <= places;
        -- Places that another made since the look above were not seen by it: look once more before a refusal.
        IF held = places AND complete THEN
            RETURN greatest(1, ceil(extract(epoch FROM coalesce(oldest, at - span) + span - at)));
        END IF;
        complete := held = places;
        IF NOT complete THEN
            INSERT INTO request_slots (spender, number) SELECT wanted, generate_series(1, places) ON CONFLICT DO NOTHING;
        END IF;
    END LOOP;
END $$;
REVOKE ALL ON FUNCTION pcds_take FROM PUBLIC;
