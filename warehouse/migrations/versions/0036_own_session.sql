-- The id of the session behind the digest of a presented token: its person's page marks it among the others.
-- The application may not read digests, so only who presents the token learns which session is its.
CREATE FUNCTION pcds_session_id(presented bytea) RETURNS uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT id FROM user_sessions WHERE token_hash = presented
$$;
