CREATE FUNCTION pcds_admit_client(wanted uuid, presented bytea, address text, ceiling integer, at timestamptz) RETURNS TABLE(client_id uuid, company_id uuid, name text, scopes text[], plan text, digest bytea, retry_after integer)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $$
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
REVOKE ALL ON FUNCTION pcds_admit_client FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pcds_admit_client TO pcds_app;

CREATE FUNCTION pcds_company_ids() RETURNS SETOF uuid
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $$
    SELECT id FROM companies ORDER BY created_at, id
$$;
REVOKE ALL ON FUNCTION pcds_company_ids FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pcds_company_ids TO pcds_app;

CREATE FUNCTION pcds_company_of_slug(wanted text) RETURNS uuid
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $$
    SELECT id FROM companies WHERE slug = wanted
$$;
REVOKE ALL ON FUNCTION pcds_company_of_slug FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pcds_company_of_slug TO pcds_app;

CREATE FUNCTION pcds_keep_slug() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        NEW.slug := OLD.slug;
        RETURN NEW;
    END IF;
    IF NEW.slug IS NULL THEN
        PERFORM pg_advisory_xact_lock(hashtextextended('pcds/slug', 0));
        NEW.slug := pcds_slug(NEW.name, NEW.id);
    END IF;
    RETURN NEW;
END
$$;
REVOKE ALL ON FUNCTION pcds_keep_slug FROM PUBLIC;

CREATE FUNCTION pcds_published_snapshots() RETURNS TABLE(company_id uuid, slug text, "position" bigint, name text)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $$
    SELECT counters.company_id, companies.slug, counters.links, held.name
    FROM company_counters AS counters JOIN companies ON companies.id = counters.company_id
        LEFT JOIN snapshots AS held USING (company_id)
$$;
REVOKE ALL ON FUNCTION pcds_published_snapshots FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pcds_published_snapshots TO pcds_app;

CREATE FUNCTION pcds_sandbox_of(wanted uuid) RETURNS uuid
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $$
    SELECT id FROM companies WHERE sandbox_of = wanted AND left_at IS NULL
$$;
REVOKE ALL ON FUNCTION pcds_sandbox_of FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pcds_sandbox_of TO pcds_app;

CREATE FUNCTION pcds_slug(name text, id uuid) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $$
DECLARE
    plain text := lower(normalize(name, NFKC));
    wanted text;
BEGIN
    plain := replace(replace(replace(replace(plain, 'ä', 'ae'), 'ö', 'oe'), 'ü', 'ue'), 'ß', 'ss');
    plain := regexp_replace(normalize(plain, NFD), U&'[\0300-\036F]', '', 'g');
    plain := trim(BOTH '-' FROM left(regexp_replace(plain, '[^a-z0-9]+', '-', 'g'), 40));
    wanted := coalesce(nullif(plain, ''), 'company');
    IF EXISTS (SELECT FROM companies WHERE slug = wanted) THEN
        wanted := wanted || '-' || left(id::text, 8);
    END IF;
    IF EXISTS (SELECT FROM companies WHERE slug = wanted) THEN
        wanted := id::text;
    END IF;
    RETURN wanted;
END
$$;
REVOKE ALL ON FUNCTION pcds_slug FROM PUBLIC;

CREATE FUNCTION pcds_slugs(wanted uuid[]) RETURNS TABLE(id uuid, slug text)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $$
    SELECT id, slug FROM companies WHERE wanted IS NULL OR id = ANY(wanted) ORDER BY created_at, id
$$;
REVOKE ALL ON FUNCTION pcds_slugs FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pcds_slugs TO pcds_app;
