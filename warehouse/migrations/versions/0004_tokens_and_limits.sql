-- Bearer tokens, request windows, the places behind every limit, and the functions through which a caller is let in.
-- Policies and grants are in 0004_tokens_and_limits.py. Instants are the service's clock's, never the database's.

CREATE TABLE bearer_tokens (
    token_hash BYTEA NOT NULL,
    company_id UUID NOT NULL,
    client_id UUID NOT NULL,
    scopes TEXT[] NOT NULL,
    expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_bearer_tokens PRIMARY KEY (token_hash),
    CONSTRAINT fk_bearer_tokens_client_id FOREIGN KEY(client_id) REFERENCES api_keys (id)
);
CREATE INDEX ix_bearer_tokens_expires_at ON bearer_tokens (expires_at);
COMMENT ON COLUMN bearer_tokens.token_hash IS 'SHA-256 of the token';

CREATE TABLE request_windows (
    client_id UUID NOT NULL,
    company_id UUID NOT NULL,
    per_minute INTEGER NOT NULL,
    opens_at TIMESTAMP WITH TIME ZONE NOT NULL,
    closes_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_request_windows PRIMARY KEY (client_id),
    CONSTRAINT fk_request_windows_client_id FOREIGN KEY(client_id) REFERENCES api_keys (id)
);
COMMENT ON COLUMN request_windows.closes_at IS 'the first instant after it; null is until it is closed';

-- What a spender may send in a minute, as places that are free again 60 seconds after they were taken. Unlogged: a place
-- is worth a minute, and a request that changes nothing else must not wait for the disk.
CREATE UNLOGGED TABLE request_slots (
    spender TEXT NOT NULL,
    number INTEGER NOT NULL,
    taken_at TIMESTAMP WITH TIME ZONE DEFAULT '-infinity' NOT NULL,
    requests INTEGER DEFAULT '0' NOT NULL,
    CONSTRAINT pk_request_slots PRIMARY KEY (spender, number)
) WITH (fillfactor = 50);
COMMENT ON COLUMN request_slots.spender IS 'key:ID, for token requests client:ID and address:IP';
COMMENT ON COLUMN request_slots.taken_at IS 'by the last of its requests';
COMMENT ON COLUMN request_slots.requests IS 'that hold it; above 1 only where a ceiling is above 1 000';

-- Take one of a spender's places; 0, or the whole seconds to wait where none is free. Nobody waits for anybody: a place
-- that another transaction is taking counts as taken. A place holds one request. Under a ceiling above 1 000 it holds as
-- many as let 120 places make the ceiling, each less than a second after the one before, and is free 60 seconds after
-- the last. What was taken a minute or more ahead was taken under another clock, and is free.
CREATE FUNCTION pcds_take(wanted text, ceiling integer, at timestamptz) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
    span CONSTANT interval := '60 s';
    room CONSTANT integer := CASE WHEN ceiling > 1000 THEN (ceiling + 119) / 120 ELSE 1 END;
    places CONSTANT integer := ceiling / room;
    open_since CONSTANT timestamptz := CASE WHEN room > 1 THEN at - interval '1 s' ELSE 'infinity' END;
    chosen integer;
    held integer;
    oldest timestamptz;
BEGIN
    LOOP
        IF room > 1 THEN
            -- One that has room left before one that is empty, so that none is left half full.
            SELECT slot.number INTO chosen FROM request_slots AS slot
            WHERE slot.spender = wanted AND slot.number <= places
                AND (slot.taken_at <= at - span OR slot.taken_at >= at + span
                     OR slot.taken_at > open_since AND slot.requests < room)
            ORDER BY slot.taken_at DESC LIMIT 1 FOR UPDATE SKIP LOCKED;
        ELSE
            SELECT slot.number INTO chosen FROM request_slots AS slot
            WHERE slot.spender = wanted AND slot.number <= places
                AND (slot.taken_at <= at - span OR slot.taken_at >= at + span)
            LIMIT 1 FOR UPDATE SKIP LOCKED;
        END IF;
        IF FOUND THEN
            UPDATE request_slots AS slot
            SET requests = CASE WHEN slot.taken_at > open_since AND slot.taken_at < at + span
                                THEN slot.requests + 1 ELSE 1 END,
                taken_at = CASE WHEN slot.taken_at < at + span THEN greatest(slot.taken_at, at) ELSE at END
            WHERE slot.spender = wanted AND slot.number = chosen;
            RETURN 0;
        END IF;
        SELECT count(*), min(slot.taken_at) FILTER (WHERE slot.taken_at > at - span) INTO held, oldest
        FROM request_slots AS slot WHERE slot.spender = wanted AND slot.number <= places;
        IF held = places THEN
            RETURN greatest(1, ceil(extract(epoch FROM coalesce(oldest, at - span) + span - at)));
        END IF;
        INSERT INTO request_slots (spender, number) SELECT wanted, generate_series(1, places) ON CONFLICT DO NOTHING;
    END LOOP;
END $$;

-- Let a request in: the live key behind the digest of a key or of a token, the scopes that this credential has, and 0 or
-- the seconds to wait. No row for a credential that is unknown, expired or revoked; all of them take the same way to
-- it. The digest comes back for the caller to compare.
-- The transaction is then the company's; nobody's where the key must wait, so that a query behind it sees nothing.
CREATE FUNCTION pcds_admit(presented bytea, is_token boolean, usual_ceiling integer, at timestamptz)
RETURNS TABLE (client_id uuid, company_id uuid, name text, scopes text[], plan text, digest bytea, retry_after integer)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    ceiling integer;
BEGIN
    IF is_token THEN
        SELECT tokens.client_id, tokens.scopes, tokens.token_hash INTO client_id, scopes, digest
        FROM bearer_tokens AS tokens WHERE tokens.token_hash = presented AND tokens.expires_at > at;
    ELSE
        SELECT keys.id, keys.scopes, keys.key_hash INTO client_id, scopes, digest
        FROM api_keys AS keys WHERE keys.key_hash = presented;
    END IF;
    SELECT keys.company_id, keys.name, companies.plan, coalesce(windows.per_minute, usual_ceiling)
    INTO company_id, name, plan, ceiling
    FROM api_keys AS keys
    JOIN companies ON companies.id = keys.company_id
    LEFT JOIN request_windows AS windows
        ON windows.client_id = keys.id AND windows.opens_at <= at AND (windows.closes_at > at) IS NOT FALSE
    WHERE keys.id = client_id AND keys.revoked_at IS NULL;
    IF FOUND THEN
        retry_after := pcds_take('key:' || client_id, ceiling, at);
        RETURN NEXT;
    END IF;
    PERFORM set_config('app.company_id', CASE WHEN retry_after = 0 THEN company_id::text ELSE '' END, true);
END $$;

-- Let a token request in: counted for its address, and for its client where that has shown its secret, so that nobody
-- can spend a client's requests by knowing its id; for neither where one of them must wait. Always one row, without a
-- client where there is none of this id and secret that is live.
CREATE FUNCTION pcds_admit_client(wanted uuid, presented bytea, address text, ceiling integer, at timestamptz)
RETURNS TABLE (client_id uuid, company_id uuid, name text, scopes text[], plan text, digest bytea, retry_after integer)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
#variable_conflict use_variable
BEGIN
    SELECT keys.id, keys.company_id, keys.name, keys.scopes, companies.plan, keys.key_hash
    INTO client_id, company_id, name, scopes, plan, digest
    FROM api_keys AS keys
    JOIN companies ON companies.id = keys.company_id
    WHERE keys.key_hash = presented AND keys.id = wanted AND keys.revoked_at IS NULL;
    BEGIN
        retry_after := pcds_take('address:' || address, ceiling, at);
        IF retry_after = 0 AND client_id IS NOT NULL THEN
            retry_after := pcds_take('client:' || client_id, ceiling, at);
        END IF;
        IF retry_after > 0 THEN
            RAISE EXCEPTION USING ERRCODE = 'PC429';
        END IF;
    EXCEPTION WHEN SQLSTATE 'PC429' THEN
        NULL; -- the place that one of them took is free again
    END;
    RETURN NEXT;
END $$;

-- Forget tokens that have ended, and places that nobody has taken for an hour; how many of both.
CREATE FUNCTION pcds_sweep_access(at timestamptz) RETURNS integer
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    WITH tokens AS (DELETE FROM bearer_tokens WHERE expires_at <= at RETURNING 1),
    idle AS (SELECT spender, number FROM request_slots WHERE taken_at <= at - interval '1 hour' FOR UPDATE SKIP LOCKED),
    slots AS (DELETE FROM request_slots WHERE (spender, number) IN (TABLE idle) RETURNING 1)
    SELECT (SELECT count(*) FROM tokens)::integer + (SELECT count(*) FROM slots)::integer
$$;
