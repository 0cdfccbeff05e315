-- Staff of the operator: accounts of the deployment, of no company, and their sessions. The tables are closed to the
-- application's role; the functions are its way in. Instants are the service's clock's, never the database's.

CREATE TABLE staff (
    id UUID NOT NULL,
    email TEXT NOT NULL,
    role TEXT NOT NULL,
    password_hash TEXT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    disabled_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_staff PRIMARY KEY (id),
    CONSTRAINT ck_staff_role CHECK (role IN ('analyst', 'operator'))
);
CREATE UNIQUE INDEX uq_staff_email ON staff (email) WHERE disabled_at IS NULL;
COMMENT ON COLUMN staff.email IS 'in small letters; of one live account, so that who left can come back';
COMMENT ON COLUMN staff.role IS 'analyst: looks at Dagster; operator: acts in it, too';
COMMENT ON COLUMN staff.password_hash IS 'Argon2id with its parameters';

CREATE TABLE staff_sessions (
    token_hash BYTEA NOT NULL,
    staff_id UUID NOT NULL,
    seen_at TIMESTAMP WITH TIME ZONE NOT NULL,
    expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_staff_sessions PRIMARY KEY (token_hash),
    CONSTRAINT fk_staff_sessions_staff_id FOREIGN KEY(staff_id) REFERENCES staff (id)
);
CREATE INDEX ix_staff_sessions_expires_at ON staff_sessions (expires_at);
CREATE INDEX ix_staff_sessions_staff_id ON staff_sessions (staff_id);
COMMENT ON COLUMN staff_sessions.token_hash IS 'SHA-256 of the cookie''s token';
COMMENT ON COLUMN staff_sessions.seen_at IS 'of its last request, to the minute';

-- A staff account that signs in: what the password is to be compared with, no account where there is none to sign in,
-- and 0 or the seconds to wait. The network has the ceiling that people's sign-ins share, and one for each account, so that
-- who guesses from one place locks nobody out elsewhere. Neither is counted where one of them must wait. The caller undoes the count when the password was right.
CREATE FUNCTION pcds_staff_sign_in(wanted text, account text, network text, per_account integer, per_network integer,
                                   at timestamptz)
RETURNS TABLE (staff_id uuid, password_hash text, retry_after integer)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
#variable_conflict use_variable
BEGIN
    SELECT staff.id, staff.password_hash INTO staff_id, password_hash
    FROM staff WHERE staff.email = wanted AND staff.disabled_at IS NULL;
    BEGIN
        retry_after := pcds_take('sign-in-network:' || network, per_network, at);
        IF retry_after = 0 THEN
            retry_after := pcds_take('sign-in-staff:' || account || ':' || network, per_account, at);
        END IF;
        IF retry_after > 0 THEN
            RAISE EXCEPTION USING ERRCODE = 'PC429';
        END IF;
    EXCEPTION WHEN SQLSTATE 'PC429' THEN
        NULL; -- the place that one of them took is free again
    END;
    RETURN NEXT;
END $$;

-- Begin a session of a live account; nothing where the account has ended meanwhile.
CREATE FUNCTION pcds_begin_staff_session(presented bytea, wanted uuid, at timestamptz, until timestamptz) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    INSERT INTO staff_sessions (token_hash, staff_id, seen_at, expires_at)
    SELECT presented, staff.id, at, until FROM staff WHERE staff.id = wanted AND staff.disabled_at IS NULL
$$;

-- The account behind the digest of a session's token; no row where the session or the account has ended.
CREATE FUNCTION pcds_staff_session(presented bytea, idle_since timestamptz, at timestamptz)
RETURNS TABLE (staff_id uuid, email text, role text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
#variable_conflict use_column
BEGIN
    UPDATE staff_sessions AS held SET seen_at = at
    WHERE held.token_hash = presented AND held.expires_at > at
        AND held.seen_at > idle_since AND held.seen_at < at - interval '1 minute';
    RETURN QUERY
    SELECT staff.id, staff.email, staff.role
    FROM staff_sessions AS held JOIN staff ON staff.id = held.staff_id AND staff.disabled_at IS NULL
    WHERE held.token_hash = presented AND held.expires_at > at AND held.seen_at > idle_since;
END $$;

-- End a session by the digest of its token.
CREATE FUNCTION pcds_end_staff_session(presented bytea) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    DELETE FROM staff_sessions WHERE token_hash = presented
$$;

-- Forget staff sessions that have ended; how many.
CREATE FUNCTION pcds_sweep_staff_sessions(at timestamptz) RETURNS integer
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    WITH gone AS (DELETE FROM staff_sessions WHERE expires_at <= at RETURNING 1) SELECT count(*)::integer FROM gone
$$;
