CREATE FUNCTION pcds_slug(name text, id uuid) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
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

CREATE FUNCTION pcds_keep_slug() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
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

ALTER TABLE companies ADD COLUMN slug TEXT;

ALTER TABLE companies NO FORCE ROW LEVEL SECURITY;

DO $$
DECLARE
    company record;
BEGIN
    FOR company IN SELECT id, name FROM companies ORDER BY created_at, id LOOP
        UPDATE companies SET slug = pcds_slug(company.name, company.id) WHERE id = company.id;
    END LOOP;
END
$$;

ALTER TABLE companies FORCE ROW LEVEL SECURITY;

ALTER TABLE companies ALTER COLUMN slug SET NOT NULL;

ALTER TABLE companies ADD CONSTRAINT uq_companies_slug UNIQUE (slug);

COMMENT ON COLUMN companies.slug IS 'names the company''s partition in Dagster; made from its first name, never changed';

CREATE TRIGGER keep_slug BEFORE INSERT OR UPDATE ON companies FOR EACH ROW EXECUTE FUNCTION pcds_keep_slug();

CREATE FUNCTION pcds_company_of_slug(wanted text) RETURNS uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT id FROM companies WHERE slug = wanted
$$;

CREATE FUNCTION pcds_slugs(wanted uuid[]) RETURNS TABLE (id uuid, slug text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT id, slug FROM companies WHERE wanted IS NULL OR id = ANY(wanted) ORDER BY created_at, id
$$;

CREATE TABLE launches (
    run_id TEXT NOT NULL,
    company TEXT,
    resume BOOLEAN NOT NULL,
    asked_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT clock_timestamp(),
    worker INTEGER,
    taken_at TIMESTAMP WITH TIME ZONE,
    ended_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_launches PRIMARY KEY (run_id)
);

CREATE INDEX ix_launches_waiting ON launches (asked_at) WHERE worker IS NULL;

COMMENT ON COLUMN launches.run_id IS 'of Dagster, whose storage knows the rest of the run';

COMMENT ON COLUMN launches.company IS 'whose run it is, or null; companies take turns';

COMMENT ON COLUMN launches.resume IS 'the run has begun before and lost its worker';

COMMENT ON COLUMN launches.worker IS 'number of the worker that took it; its advisory lock says whether it lives';

CREATE SEQUENCE launch_workers AS integer CYCLE;

DROP FUNCTION pcds_open_imports(timestamptz);

CREATE FUNCTION pcds_open_imports(stalled_before timestamptz, asked_before timestamptz)
RETURNS TABLE (id uuid, company_id uuid, slug text, filename text, attempts integer, "position" integer,
    rows_total integer)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT i.id, i.company_id, c.slug, i.filename, i.attempts, i."position", i.rows_total
    FROM imports i JOIN companies c ON c.id = i.company_id
    WHERE i.status IN ('queued', 'processing') AND i.created_at <= asked_before
        AND (i.claim IS NULL OR i.heartbeat_at < stalled_before)
    ORDER BY i.attempts, i.created_at
$$;

DROP FUNCTION pcds_stale_snapshots(date);

CREATE FUNCTION pcds_stale_snapshots(today date)
RETURNS TABLE (company_id uuid, slug text, "position" bigint, since timestamptz, importing boolean)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT counters.company_id, companies.slug, counters.links, (
        SELECT written.at FROM audit_transactions AS written
        WHERE written.company_id = counters.company_id AND written.number = coalesce(held.number, 0) + 1
    ), EXISTS (
        SELECT FROM imports
        WHERE imports.company_id = counters.company_id AND imports.status IN ('queued', 'processing')
    )
    FROM company_counters AS counters JOIN companies ON companies.id = counters.company_id
        LEFT JOIN snapshots AS held USING (company_id)
    WHERE counters.links <> coalesce(held.number, 0) OR held.holds_until <= today
$$;

CREATE FUNCTION pcds_published_snapshots()
RETURNS TABLE (company_id uuid, slug text, "position" bigint, name text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT counters.company_id, companies.slug, counters.links, held.name
    FROM company_counters AS counters JOIN companies ON companies.id = counters.company_id
        LEFT JOIN snapshots AS held USING (company_id)
$$;

CREATE FUNCTION pcds_asked_regrades() RETURNS TABLE (company_id uuid, version text, begun_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT company_id, version, begun_at FROM regrades WHERE finished_at IS NULL ORDER BY begun_at, company_id
$$;

DROP TABLE schedule_ticks;
