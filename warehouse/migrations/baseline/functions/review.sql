CREATE FUNCTION pcds_admit_supplier(presented bytea, address text, ceiling integer, at timestamptz) RETURNS TABLE(request_id uuid, company_id uuid, retry_after integer)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $$
#variable_conflict use_variable
BEGIN
    SELECT found.request_id, found.company_id INTO request_id, company_id
        FROM pcds_supplier_request(presented, at) AS found;
    BEGIN
        retry_after := pcds_take('supplier-address:' || address, ceiling, at);
        IF retry_after = 0 AND request_id IS NOT NULL THEN
            retry_after := pcds_take('supplier-request:' || request_id, ceiling, at);
        END IF;
        IF retry_after > 0 THEN
            RAISE EXCEPTION USING ERRCODE = 'PC429';
        END IF;
    EXCEPTION WHEN SQLSTATE 'PC429' THEN
        NULL; -- the place that one of them took is free again
    END;
    RETURN NEXT;
END $$;
REVOKE ALL ON FUNCTION pcds_admit_supplier FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pcds_admit_supplier TO pcds_app;

CREATE FUNCTION pcds_due_mails(at timestamptz) RETURNS TABLE(company_id uuid, slug text, work text)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $$
    SELECT mails.company_id, companies.slug, max(mails.id::text) || '/' || count(*) || '/' || sum(mails.tries)
    FROM supplier_mails AS mails JOIN companies ON companies.id = mails.company_id
    WHERE mails.state = 'waiting' AND mails.due_at <= at
    GROUP BY mails.company_id, companies.slug
$$;
REVOKE ALL ON FUNCTION pcds_due_mails FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pcds_due_mails TO pcds_app;

CREATE FUNCTION pcds_supplier_enquiry(presented bytea, at timestamptz) RETURNS TABLE(enquiry_id uuid, company_id uuid)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $$
    SELECT id, company_id FROM supplier_enquiries
    WHERE token_hash = presented AND withdrawn_at IS NULL AND expires_at > at
$$;
REVOKE ALL ON FUNCTION pcds_supplier_enquiry FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pcds_supplier_enquiry TO pcds_app;

CREATE FUNCTION pcds_supplier_request(presented bytea, at timestamptz) RETURNS TABLE(request_id uuid, company_id uuid)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $$
    SELECT id, company_id FROM supplier_requests
    WHERE token_hash = presented AND state <> 'closed' AND withdrawn_at IS NULL
        AND (expires_at IS NULL OR expires_at > at)
$$;
REVOKE ALL ON FUNCTION pcds_supplier_request FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pcds_supplier_request TO pcds_app;
