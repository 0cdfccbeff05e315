-- Bearer tokens, request windows, the counts behind every limit, and the functions through which a caller is let in.
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

-- Unlogged: a count is worth a minute, and a request that changes nothing else must not wait for the disk. A row is
-- rewritten at each request, so its page has room for new versions, and its arrays stay in the row.
CREATE UNLOGGED TABLE spent_requests (
    spender TEXT NOT NULL,
    instants TIMESTAMP WITH TIME ZONE[] DEFAULT '{-infinity}' NOT NULL,
    numbers BIGINT[] DEFAULT '{0}' NOT NULL,
    CONSTRAINT pk_spent_requests PRIMARY KEY (spender)
) WITH (fillfactor = 25, toast_tuple_target = 8160);
COMMENT ON COLUMN spent_requests.spender IS 'key:ID, token requests as client:ID and address:IP';
COMMENT ON COLUMN spent_requests.instants IS 'of admissions in the last minute, ascending, behind the one before them';
COMMENT ON COLUMN spent_requests.numbers IS 'how many had been admitted by each of these instants, it included';

-- The history of a spender, locked, so that whoever else would spend waits. One that lies a minute or more ahead was
-- written under another clock and counts for nothing.
CREATE FUNCTION pcds_history(wanted text, at timestamptz) RETURNS spent_requests
LANGUAGE plpgsql AS $$
DECLARE
    history spent_requests;
BEGIN
    LOOP
        SELECT * INTO history FROM spent_requests WHERE spender = wanted FOR UPDATE;
        EXIT WHEN FOUND;
        INSERT INTO spent_requests (spender) VALUES (wanted) ON CONFLICT DO NOTHING;
    END LOOP;
    IF history.instants[cardinality(history.instants)] >= at + interval '60 s' THEN
        history.instants := '{-infinity}';
        history.numbers := '{0}';
    END IF;
    RETURN history;
END $$;

-- Spend one request of every spender, or of none where one of them has spent its ceiling in the last 60 seconds.
-- Returns the whole seconds to wait, 0 where it was spent. Spenders must come in one order everywhere, since each
-- one's history is locked in turn. A ceiling above 1 000 is counted by the second: requests of one second count as
-- one entry at the instant of the last of them.
CREATE FUNCTION pcds_spend(spenders text[], ceilings integer[], at timestamptz) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
    span CONSTANT interval := '60 s';
    histories spent_requests[];
    history spent_requests;
    newest integer;
    before integer;
    wait interval := '0';
BEGIN
    FOR i IN 1 .. cardinality(spenders) LOOP
        history := pcds_history(spenders[i], at);
        newest := cardinality(history.instants);
        -- Whoever took its instant earlier may get the lock later: instants never step back.
        at := greatest(at, history.instants[newest]);
        before := width_bucket(at - span, history.instants);
        IF history.numbers[newest] - history.numbers[before] >= ceilings[i] THEN
            -- The oldest entry whose end leaves room for one more.
            before := width_bucket(history.numbers[newest] - ceilings[i], history.numbers);
            wait := greatest(wait, history.instants[before + 1] + span - at);
        END IF;
        history.instants := history.instants[before:];
        history.numbers := history.numbers[before:];
        histories[i] := history;
    END LOOP;
    IF wait > interval '0' THEN
        RETURN ceil(extract(epoch FROM wait));
    END IF;
    FOR i IN 1 .. cardinality(spenders) LOOP
        history := histories[i];
        newest := cardinality(history.instants);
        IF ceilings[i] > 1000 AND history.instants[newest] >= date_trunc('second', at) THEN
            history.instants[newest] := at;
            history.numbers[newest] := history.numbers[newest] + 1;
        ELSE
            history.instants := history.instants || at;
            history.numbers := history.numbers || history.numbers[newest] + 1;
        END IF;
        UPDATE spent_requests SET instants = history.instants, numbers = history.numbers WHERE spender = spenders[i];
    END LOOP;
    RETURN 0;
END $$;

-- Let a request in: the live key behind the digest of a key or of a token, with the scopes that this credential has,
-- and 0 or the seconds to wait. No row for a credential that is unknown, expired or revoked; all of them take the same
-- way to it. The digest comes back for the caller to compare.
CREATE FUNCTION pcds_admit(presented bytea, is_token boolean, ceiling integer, at timestamptz)
RETURNS TABLE (client_id uuid, company_id uuid, name text, scopes text[], plan text, digest bytea, retry_after integer)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
#variable_conflict use_column
DECLARE
    credential record;
    found_key record;
BEGIN
    IF is_token THEN
        SELECT tokens.client_id, tokens.scopes, tokens.token_hash AS digest INTO credential
        FROM bearer_tokens AS tokens WHERE tokens.token_hash = presented AND tokens.expires_at > at;
    ELSE
        SELECT keys.id AS client_id, keys.scopes, keys.key_hash AS digest INTO credential
        FROM api_keys AS keys WHERE keys.key_hash = presented;
    END IF;
    SELECT keys.id, keys.company_id, keys.name, companies.plan,
           ARRAY(SELECT scope FROM unnest(credential.scopes) AS scope WHERE scope = ANY (keys.scopes)) AS scopes,
           coalesce(windows.per_minute, ceiling) AS ceiling INTO found_key
    FROM api_keys AS keys
    JOIN companies ON companies.id = keys.company_id
    LEFT JOIN request_windows AS windows
        ON windows.client_id = keys.id AND windows.opens_at <= at AND (windows.closes_at > at) IS NOT FALSE
    WHERE keys.id = credential.client_id AND keys.revoked_at IS NULL;
    IF found_key.id IS NOT NULL THEN
        RETURN QUERY SELECT found_key.id, found_key.company_id, found_key.name, found_key.scopes, found_key.plan,
                            credential.digest, pcds_spend(ARRAY['key:' || found_key.id], ARRAY[found_key.ceiling], at);
    END IF;
END $$;

-- Let a token request in: counted for its address, and for its client where that has shown its secret, so that nobody
-- can spend a client's requests by knowing its id. Always one row; without a client where there is none of this id
-- and secret that is live.
CREATE FUNCTION pcds_admit_client(wanted uuid, presented bytea, address text, ceiling integer, at timestamptz)
RETURNS TABLE (client_id uuid, company_id uuid, name text, scopes text[], plan text, digest bytea, retry_after integer)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
#variable_conflict use_column
DECLARE
    found_key record;
    spenders text[] := ARRAY['address:' || address];
BEGIN
    SELECT keys.id, keys.company_id, keys.name, keys.scopes, companies.plan, keys.key_hash INTO found_key
    FROM api_keys AS keys
    JOIN companies ON companies.id = keys.company_id
    WHERE keys.key_hash = presented AND keys.id = wanted AND keys.revoked_at IS NULL;
    IF found_key.id IS NOT NULL THEN
        spenders := spenders || ('client:' || found_key.id);
    END IF;
    RETURN QUERY SELECT found_key.id, found_key.company_id, found_key.name, found_key.scopes, found_key.plan,
                        found_key.key_hash,
                        pcds_spend(spenders, array_fill(ceiling, ARRAY[cardinality(spenders)]), at);
END $$;

-- Forget tokens that have ended and spenders that have been quiet for a minute; how many of both.
CREATE FUNCTION pcds_sweep_access(at timestamptz) RETURNS integer
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    WITH tokens AS (DELETE FROM bearer_tokens WHERE expires_at <= at RETURNING 1),
    spent AS (DELETE FROM spent_requests WHERE instants[cardinality(instants)] <= at - interval '60 s' RETURNING 1)
    SELECT (SELECT count(*) FROM tokens)::integer + (SELECT count(*) FROM spent)::integer
$$;
