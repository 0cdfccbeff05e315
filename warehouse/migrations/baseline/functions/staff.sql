CREATE FUNCTION pcds_begin_staff_session(presented bytea, wanted uuid, at timestamptz, until timestamptz) RETURNS void
LANGUAGE sql SECURITY DEFINER
SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $$
    INSERT INTO staff_sessions (token_hash, staff_id, seen_at, expires_at)
    SELECT presented, staff.id, at, until FROM staff WHERE staff.id = wanted AND staff.disabled_at IS NULL
$$;
REVOKE ALL ON FUNCTION pcds_begin_staff_session FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pcds_begin_staff_session TO pcds_app;

CREATE FUNCTION pcds_end_staff_session(presented bytea) RETURNS void
LANGUAGE sql SECURITY DEFINER
SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $$
    DELETE FROM staff_sessions WHERE token_hash = presented
$$;
REVOKE ALL ON FUNCTION pcds_end_staff_session FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pcds_end_staff_session TO pcds_app;

CREATE FUNCTION pcds_staff_session(presented bytea, idle_since timestamptz, at timestamptz) RETURNS TABLE(staff_id uuid, email text, role text)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $$
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
REVOKE ALL ON FUNCTION pcds_staff_session FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pcds_staff_session TO pcds_app;

CREATE FUNCTION pcds_staff_sign_in(wanted text, account text, network text, per_account integer, per_network integer, at timestamptz) RETURNS TABLE(staff_id uuid, password_hash text, retry_after integer)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $$
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
REVOKE ALL ON FUNCTION pcds_staff_sign_in FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pcds_staff_sign_in TO pcds_app;

CREATE FUNCTION pcds_sweep_staff_sessions(at timestamptz) RETURNS integer
LANGUAGE sql SECURITY DEFINER
SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $$
    WITH gone AS (DELETE FROM staff_sessions WHERE expires_at <= at RETURNING 1) SELECT count(*)::integer FROM gone
$$;
REVOKE ALL ON FUNCTION pcds_sweep_staff_sessions FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pcds_sweep_staff_sessions TO pcds_app;
