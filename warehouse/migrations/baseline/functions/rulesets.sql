CREATE FUNCTION pcds_asked_regrades() RETURNS TABLE(company_id uuid, version text, begun_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $$
    SELECT company_id, version, begun_at FROM regrades WHERE finished_at IS NULL ORDER BY begun_at, company_id
$$;
REVOKE ALL ON FUNCTION pcds_asked_regrades FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pcds_asked_regrades TO pcds_app;

CREATE FUNCTION pcds_open_regrades() RETURNS SETOF uuid
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $$
    SELECT company_id FROM regrades WHERE finished_at IS NULL ORDER BY begun_at, company_id
$$;
REVOKE ALL ON FUNCTION pcds_open_regrades FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pcds_open_regrades TO pcds_app;
