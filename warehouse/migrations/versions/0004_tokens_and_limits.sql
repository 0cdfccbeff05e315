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

-- What counts of a spender's history at an instant: the last 60 seconds, behind the entry before them. Whoever took its
-- instant earlier may come later, so instants never step back; a history that lies a minute or more ahead was written
-- under another clock and counts for nothing.
CREATE FUNCTION pcds_recent(history spent_requests, at timestamptz) RETURNS spent_requests
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    span CONSTANT interval := '60 s';
    newest timestamptz := history.instants[cardinality(history.instants)];
    before integer;
BEGIN
    IF newest >= at + span THEN
        history.instants := '{-infinity}';
        history.numbers := '{0}';
    ELSE
        before := width_bucket(greatest(at, newest) - span, history.instants);
        history.instants := history.instants[before:];
        history.numbers := history.numbers[before:];
    END IF;
    RETURN history;
END $$;

-- Whole seconds until there is room for one more under the ceiling, 0 where there is: the oldest entry to go is the
-- first whose end leaves less than the ceiling. The history is a recent one.
CREATE FUNCTION pcds_wait(history spent_requests, ceiling integer, at timestamptz) RETURNS integer
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    newest integer := cardinality(history.instants);
    oldest integer;
BEGIN
    IF history.numbers[newest] - history.numbers[1] < ceiling THEN
        RETURN 0;
    END IF;
    oldest := width_bucket(history.numbers[newest] - ceiling, history.numbers) + 1;
    at := greatest(at, history.instants[newest]);
    RETURN ceil(extract(epoch FROM history.instants[oldest] + interval '60 s' - at));
END $$;

-- Spend one request of every spender, or of none where one of them has spent its ceiling in the last 60 seconds.
-- Returns the whole seconds to wait, 0 where it was spent. Each history is locked until the transaction ends, in the
-- order given, which must be the same everywhere. A ceiling above 1 000 is counted by the second: requests of one
-- second are one entry, at the instant of the last of them.
CREATE FUNCTION pcds_spend(spenders text[], ceilings integer[], at timestamptz) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
    histories spent_requests[];
    history spent_requests;
    newest integer;
    wait integer := 0;
BEGIN
    FOR i IN 1 .. cardinality(spenders) LOOP
        LOOP
            SELECT * INTO history FROM spent_requests WHERE spender = spenders[i] FOR UPDATE;
            EXIT WHEN FOUND;
            INSERT INTO spent_requests (spender) VALUES (spenders[i]) ON CONFLICT DO NOTHING;
        END LOOP;
        history := pcds_recent(history, at);
        wait := greatest(wait, pcds_wait(history, ceilings[i], at));
        histories[i] := history;
    END LOOP;
    IF wait > 0 THEN
        RETURN wait;
    END IF;
    FOR i IN 1 .. cardinality(spenders) LOOP
        history := histories[i];
        newest := cardinality(history.instants);
        at := greatest(at, history.instants[newest]);
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

-- Who calls: the live key behind the digest of a key or of a token, the scopes that this credential has, the ceiling of
-- the key now, and the seconds to wait as its history stands, unlocked. No row for a credential that is unknown,
-- expired or revoked; all of them take the same way to it. The digest comes back for the caller to compare.
-- The transaction is then the company's; nobody's where the key must wait, so that a query behind it sees nothing.
CREATE FUNCTION pcds_caller(presented bytea, is_token boolean, usual_ceiling integer, at timestamptz)
RETURNS TABLE (
    client_id uuid, company_id uuid, name text, scopes text[], plan text, digest bytea, ceiling integer, wait integer
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
#variable_conflict use_variable
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
        SELECT pcds_wait(pcds_recent(spent, at), ceiling, at) INTO wait
        FROM spent_requests AS spent WHERE spent.spender = 'key:' || client_id;
        wait := coalesce(wait, 0);
        RETURN NEXT;
    END IF;
    PERFORM set_config('app.company_id', CASE WHEN wait = 0 THEN company_id::text ELSE '' END, true);
END $$;

-- Count the request of a caller whose history had room; 0, or the seconds to wait where others were quicker.
CREATE FUNCTION pcds_count(client_id uuid, ceiling integer, at timestamptz) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    RETURN pcds_spend(ARRAY['key:' || client_id], ARRAY[ceiling], at);
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
