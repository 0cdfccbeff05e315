CREATE TABLE exports (
    id UUID NOT NULL,
    company_id UUID NOT NULL,
    format TEXT NOT NULL,
    source TEXT NOT NULL,
    status TEXT NOT NULL,
    skus_total INTEGER NOT NULL,
    skus_done INTEGER NOT NULL,
    as_of TIMESTAMP WITH TIME ZONE,
    rows JSON,
    object_key TEXT NOT NULL,
    size_bytes BIGINT,
    sha256 TEXT,
    failure JSON,
    claim UUID,
    attempts INTEGER NOT NULL,
    client_id UUID NOT NULL,
    client_name TEXT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    heartbeat_at TIMESTAMP WITH TIME ZONE,
    finished_at TIMESTAMP WITH TIME ZONE,
    expires_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_exports PRIMARY KEY (id)
);
CREATE INDEX ix_exports_newest ON exports (company_id, created_at DESC, id);
CREATE INDEX ix_exports_open ON exports (created_at) WHERE status IN ('queued', 'processing');
COMMENT ON COLUMN exports.format IS 'csv, xlsx or parquet';
COMMENT ON COLUMN exports.source IS 'records or snapshot';
COMMENT ON COLUMN exports.status IS 'queued, processing, completed or failed';
COMMENT ON COLUMN exports.skus_total IS 'when the export was asked for';
COMMENT ON COLUMN exports.as_of IS 'the instant of the records in the file';
COMMENT ON COLUMN exports.rows IS 'rows by table of the file';
COMMENT ON COLUMN exports.object_key IS 'the file in the object store';
COMMENT ON COLUMN exports.sha256 IS 'of the file, hexadecimal';
COMMENT ON COLUMN exports.failure IS 'Issue';
COMMENT ON COLUMN exports.claim IS 'of the run that writes the file';
COMMENT ON COLUMN exports.attempts IS 'runs that have claimed it';
COMMENT ON COLUMN exports.expires_at IS 'when file and row may be removed';
ALTER TABLE exports ENABLE ROW LEVEL SECURITY;
ALTER TABLE exports FORCE ROW LEVEL SECURITY;
CREATE POLICY company ON exports
    USING (company_id = (SELECT nullif(current_setting('app.company_id', true), '')::uuid))
    WITH CHECK (company_id = (SELECT nullif(current_setting('app.company_id', true), '')::uuid));
GRANT SELECT, INSERT, DELETE, UPDATE (status, skus_done, as_of, rows, size_bytes, sha256, failure, claim, attempts,
    heartbeat_at, finished_at, expires_at) ON exports TO pcds_app;

-- The companies whose exports wait for a run or lost theirs, and the state of that work: another one after each claim.
CREATE FUNCTION pcds_open_exports(stalled_before timestamptz, asked_before timestamptz)
RETURNS TABLE (company_id uuid, slug text, work text, skus integer)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT exports.company_id, companies.slug,
        max(exports.id::text) || '/' || count(*) || '/' || sum(exports.attempts)
            || '/' || coalesce(extract(epoch FROM max(exports.heartbeat_at)), 0), max(exports.skus_total)
    FROM exports JOIN companies ON companies.id = exports.company_id
    WHERE exports.status IN ('queued', 'processing')
        AND CASE WHEN exports.claim IS NULL THEN exports.created_at <= asked_before
            ELSE exports.heartbeat_at < stalled_before END
    GROUP BY exports.company_id, companies.slug
$$;

-- Let a request in as `pcds_admit` does, and say what is left of its key's limit: the requests of any 60 seconds, how
-- many of them are left now, and the whole seconds until there is one more. It counts the places that are taken.
CREATE FUNCTION pcds_admit_counted(presented bytea, is_token boolean, usual_ceiling integer, at timestamptz)
RETURNS TABLE (client_id uuid, company_id uuid, name text, scopes text[], plan text, digest bytea, retry_after integer,
    quota integer, remaining integer, reset integer)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
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
