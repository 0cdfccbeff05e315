CREATE TABLE supplier_requests (
    id UUID NOT NULL,
    company_id UUID NOT NULL,
    sku_id UUID NOT NULL,
    component_ids UUID[] NOT NULL,
    supplier_name TEXT,
    token_hash BYTEA NOT NULL,
    state TEXT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    updated_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_supplier_requests PRIMARY KEY (id),
    CONSTRAINT uq_supplier_requests_token_hash UNIQUE (token_hash)
);
CREATE INDEX ix_supplier_requests_newest ON supplier_requests (company_id, created_at DESC, id);
COMMENT ON COLUMN supplier_requests.component_ids IS 'the lines of the SKU''s graph that are asked about';
COMMENT ON COLUMN supplier_requests.token_hash IS 'SHA-256 of the token in the link';
COMMENT ON COLUMN supplier_requests.state IS 'open, awaiting_review or closed';

CREATE TABLE review_entries (
    id UUID NOT NULL,
    company_id UUID NOT NULL,
    kind TEXT NOT NULL,
    state TEXT NOT NULL,
    sku_id UUID,
    request_id UUID,
    payload JSON NOT NULL,
    filing_key BYTEA,
    filed_by_type TEXT NOT NULL,
    filed_by_id TEXT,
    filed_by_name TEXT,
    filed_at TIMESTAMP WITH TIME ZONE NOT NULL,
    decided_by_id TEXT,
    decided_by_name TEXT,
    decided_at TIMESTAMP WITH TIME ZONE,
    reason TEXT,
    CONSTRAINT pk_review_entries PRIMARY KEY (id),
    CONSTRAINT uq_review_entries_company_id_filing_key UNIQUE (company_id, filing_key)
);
CREATE INDEX ix_review_entries_open ON review_entries (company_id, filed_at, id) WHERE state = 'open';
CREATE INDEX ix_review_entries_decided ON review_entries (company_id, decided_at DESC, id)
    WHERE decided_at IS NOT NULL;
CREATE UNIQUE INDEX uq_review_entries_request ON review_entries (request_id) WHERE state = 'open';
COMMENT ON COLUMN review_entries.kind IS 'supplier_answer, sku_update, doc_draft or supplier_document';
COMMENT ON COLUMN review_entries.state IS 'open, replaced, accepted or rejected';
COMMENT ON COLUMN review_entries.sku_id IS 'the SKU that it is about; null for one that is not held yet';
COMMENT ON COLUMN review_entries.request_id IS 'of a supplier''s answer: the request that it answers';
COMMENT ON COLUMN review_entries.filing_key IS 'the same for a filing that is repeated, which is then filed once';
COMMENT ON COLUMN review_entries.reason IS 'why it was accepted or rejected, in the decider''s words';

CREATE TABLE review_files (
    id UUID NOT NULL,
    company_id UUID NOT NULL,
    request_id UUID,
    entry_id UUID,
    type TEXT NOT NULL,
    filename TEXT NOT NULL,
    media_type TEXT NOT NULL,
    size_bytes INTEGER NOT NULL,
    sha256 TEXT NOT NULL,
    reference TEXT,
    issuer TEXT,
    issued_on DATE,
    expires_on DATE,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_review_files PRIMARY KEY (id)
);
CREATE INDEX ix_review_files_request_id ON review_files (request_id);
CREATE INDEX ix_review_files_entry_id ON review_files (entry_id);
COMMENT ON COLUMN review_files.id IS 'the object <company_id>/files/<id> holds the bytes';
COMMENT ON COLUMN review_files.request_id IS 'the request that a supplier attached it to';
COMMENT ON COLUMN review_files.entry_id IS 'the entry that it came with; null until the answer is sent';

-- The request behind a token that still takes answers; no row for an unknown token and for one that was answered to its
-- end: both take the same way.
CREATE FUNCTION pcds_supplier_request(presented bytea) RETURNS TABLE (request_id uuid, company_id uuid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT id, company_id FROM supplier_requests WHERE token_hash = presented AND state <> 'closed'
$$;

-- Let a supplier's answer in: counted for its address, and for its request where the token is one; for neither where
-- one of them must wait. Always one row, without a request where the token is none.
CREATE FUNCTION pcds_admit_supplier(presented bytea, address text, ceiling integer, at timestamptz)
RETURNS TABLE (request_id uuid, company_id uuid, retry_after integer)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
#variable_conflict use_variable
BEGIN
    SELECT found.request_id, found.company_id INTO request_id, company_id FROM pcds_supplier_request(presented) AS found;
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
