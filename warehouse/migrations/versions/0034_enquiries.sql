CREATE TABLE supplier_enquiries (
    id UUID NOT NULL,
    company_id UUID NOT NULL,
    supplier_name TEXT NOT NULL,
    message TEXT,
    token_hash BYTEA NOT NULL,
    due_on DATE,
    expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    withdrawn_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_supplier_enquiries PRIMARY KEY (id),
    CONSTRAINT uq_supplier_enquiries_token_hash UNIQUE (token_hash)
);
CREATE INDEX ix_supplier_enquiries_newest ON supplier_enquiries (company_id, created_at DESC, id);
COMMENT ON COLUMN supplier_enquiries.message IS 'what the supplier reads above the items';
COMMENT ON COLUMN supplier_enquiries.token_hash IS 'SHA-256 of the token in the link';
COMMENT ON COLUMN supplier_enquiries.due_on IS 'the day by which answers are asked for; nothing ends with it';
COMMENT ON COLUMN supplier_enquiries.expires_at IS 'when its links end';
COMMENT ON COLUMN supplier_enquiries.withdrawn_at IS 'when a person ended its links before that';
ALTER TABLE supplier_enquiries ENABLE ROW LEVEL SECURITY;
ALTER TABLE supplier_enquiries FORCE ROW LEVEL SECURITY;
CREATE POLICY company ON supplier_enquiries
    USING (company_id = (SELECT nullif(current_setting('app.company_id', true), '')::uuid))
    WITH CHECK (company_id = (SELECT nullif(current_setting('app.company_id', true), '')::uuid));
GRANT SELECT, INSERT, UPDATE (withdrawn_at) ON supplier_enquiries TO pcds_app;

ALTER TABLE supplier_requests ADD enquiry_id UUID, ADD expires_at TIMESTAMP WITH TIME ZONE,
    ADD withdrawn_at TIMESTAMP WITH TIME ZONE;
COMMENT ON COLUMN supplier_requests.enquiry_id IS 'the enquiry that it is an item of';
COMMENT ON COLUMN supplier_requests.expires_at IS 'when its link ends; null for one without end';
COMMENT ON COLUMN supplier_requests.withdrawn_at IS 'when a person ended its link';
CREATE INDEX ix_supplier_requests_enquiry_id ON supplier_requests (enquiry_id) WHERE enquiry_id IS NOT NULL;
GRANT UPDATE (withdrawn_at) ON supplier_requests TO pcds_app;

-- The request behind a token that takes answers at this instant; no row for any other token, whatever the reason.
CREATE FUNCTION pcds_supplier_request(presented bytea, at timestamptz) RETURNS TABLE (request_id uuid, company_id uuid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT id, company_id FROM supplier_requests
    WHERE token_hash = presented AND state <> 'closed' AND withdrawn_at IS NULL
        AND (expires_at IS NULL OR expires_at > at)
$$;

-- The enquiry behind a token, until it expires or is withdrawn; answered items end only their own links.
CREATE FUNCTION pcds_supplier_enquiry(presented bytea, at timestamptz) RETURNS TABLE (enquiry_id uuid, company_id uuid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT id, company_id FROM supplier_enquiries
    WHERE token_hash = presented AND withdrawn_at IS NULL AND expires_at > at
$$;

-- Let a supplier's answer in, as before, by links that have not ended.
CREATE OR REPLACE FUNCTION pcds_admit_supplier(presented bytea, address text, ceiling integer, at timestamptz)
RETURNS TABLE (request_id uuid, company_id uuid, retry_after integer)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
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
DROP FUNCTION pcds_supplier_request(bytea);
