CREATE TABLE review_entries (
    id uuid NOT NULL,
    company_id uuid NOT NULL,
    kind text NOT NULL,
    state text NOT NULL,
    sku_id uuid,
    request_id uuid,
    payload json NOT NULL,
    filing_key bytea,
    filed_by_type text NOT NULL,
    filed_by_id text,
    filed_by_name text,
    filed_at timestamptz NOT NULL,
    decided_by_id text,
    decided_by_name text,
    decided_at timestamptz,
    reason text,
    note text,
    decided json,
    CONSTRAINT pk_review_entries PRIMARY KEY (id),
    CONSTRAINT uq_review_entries_company_id_filing_key UNIQUE (company_id, filing_key)
);
CREATE INDEX ix_review_entries_answers ON review_entries (request_id, filed_at DESC) WHERE (request_id IS NOT NULL);
CREATE INDEX ix_review_entries_decided ON review_entries (company_id, decided_at DESC, id) WHERE (decided_at IS NOT NULL);
CREATE INDEX ix_review_entries_open ON review_entries (company_id, filed_at, id) WHERE (state = 'open'::text);
CREATE UNIQUE INDEX uq_review_entries_request ON review_entries (request_id) WHERE (state = 'open'::text);
COMMENT ON COLUMN review_entries.kind IS 'supplier_answer, sku_update, doc_draft or supplier_document';
COMMENT ON COLUMN review_entries.state IS 'open, replaced, accepted or rejected';
COMMENT ON COLUMN review_entries.sku_id IS 'the SKU that it is about; null for one that is not held yet';
COMMENT ON COLUMN review_entries.request_id IS 'of a supplier''s answer: the request that it answers';
COMMENT ON COLUMN review_entries.filing_key IS 'the same for a filing that is repeated, which is then filed once';
COMMENT ON COLUMN review_entries.reason IS 'why it was accepted or rejected, in the decider''s words';
COMMENT ON COLUMN review_entries.note IS 'what the supplier is told of a rejection';
COMMENT ON COLUMN review_entries.decided IS 'what was decided on: fields and grade before and after';
GRANT SELECT,INSERT ON review_entries TO pcds_app;
GRANT UPDATE (state, decided_by_id, decided_by_name, decided_at, reason, note, decided) ON review_entries TO pcds_app;

CREATE TABLE review_files (
    id uuid NOT NULL,
    company_id uuid NOT NULL,
    request_id uuid,
    entry_id uuid,
    type text NOT NULL,
    filename text NOT NULL,
    media_type text NOT NULL,
    size_bytes integer NOT NULL,
    sha256 text NOT NULL,
    reference text,
    issuer text,
    issued_on date,
    expires_on date,
    created_at timestamptz NOT NULL,
    CONSTRAINT pk_review_files PRIMARY KEY (id)
);
CREATE INDEX ix_review_files_entry_id ON review_files (entry_id);
CREATE INDEX ix_review_files_request_id ON review_files (request_id);
COMMENT ON COLUMN review_files.id IS 'the object <company_id>/files/<id> holds the bytes';
COMMENT ON COLUMN review_files.request_id IS 'the request that a supplier attached it to';
COMMENT ON COLUMN review_files.entry_id IS 'the entry that it came with; null until the answer is sent';
GRANT SELECT,INSERT ON review_files TO pcds_app;
GRANT UPDATE (entry_id) ON review_files TO pcds_app;

CREATE TABLE supplier_enquiries (
    id uuid NOT NULL,
    company_id uuid NOT NULL,
    supplier_name text NOT NULL,
    message text,
    token_hash bytea NOT NULL,
    due_on date,
    expires_at timestamptz NOT NULL,
    created_at timestamptz NOT NULL,
    withdrawn_at timestamptz,
    supplier_email text,
    language text,
    asked_by uuid,
    CONSTRAINT pk_supplier_enquiries PRIMARY KEY (id),
    CONSTRAINT uq_supplier_enquiries_token_hash UNIQUE (token_hash)
);
CREATE INDEX ix_supplier_enquiries_newest ON supplier_enquiries (company_id, created_at DESC, id);
COMMENT ON COLUMN supplier_enquiries.message IS 'what the supplier reads above the items';
COMMENT ON COLUMN supplier_enquiries.token_hash IS 'SHA-256 of the token in the link';
COMMENT ON COLUMN supplier_enquiries.due_on IS 'the day by which answers are asked for; nothing ends with it';
COMMENT ON COLUMN supplier_enquiries.expires_at IS 'when its links end';
COMMENT ON COLUMN supplier_enquiries.withdrawn_at IS 'when a person ended its links before that';
COMMENT ON COLUMN supplier_enquiries.supplier_email IS 'whom its mails go to; null where the link is handed over otherwise';
COMMENT ON COLUMN supplier_enquiries.language IS 'of its mails; null is English';
COMMENT ON COLUMN supplier_enquiries.asked_by IS 'the person whom the supplier answers a mail to; null for an API key';
CREATE POLICY owner_admits ON supplier_enquiries FOR SELECT TO CURRENT_ROLE USING (true);
GRANT SELECT,INSERT ON supplier_enquiries TO pcds_app;
GRANT UPDATE (withdrawn_at) ON supplier_enquiries TO pcds_app;

CREATE TABLE supplier_mails (
    id uuid NOT NULL,
    company_id uuid NOT NULL,
    enquiry_id uuid NOT NULL,
    kind text NOT NULL,
    state text NOT NULL,
    due_at timestamptz NOT NULL,
    tries integer NOT NULL,
    fault text,
    created_at timestamptz NOT NULL,
    ended_at timestamptz,
    CONSTRAINT pk_supplier_mails PRIMARY KEY (id)
);
CREATE INDEX ix_supplier_mails_created_at ON supplier_mails (company_id, created_at);
CREATE INDEX ix_supplier_mails_due ON supplier_mails (due_at) WHERE (state = 'waiting'::text);
CREATE INDEX ix_supplier_mails_enquiry_id ON supplier_mails (enquiry_id);
COMMENT ON COLUMN supplier_mails.kind IS 'asked, reminder or rejected; its text is made when it is sent';
COMMENT ON COLUMN supplier_mails.state IS 'waiting, sent, not_needed or failed';
COMMENT ON COLUMN supplier_mails.due_at IS 'when it is sent, or tried again';
COMMENT ON COLUMN supplier_mails.fault IS 'why the last try failed, as a code';
COMMENT ON COLUMN supplier_mails.ended_at IS 'when it was sent, or given up';
CREATE POLICY owner_finds ON supplier_mails FOR SELECT TO CURRENT_ROLE USING (true);
GRANT SELECT,INSERT ON supplier_mails TO pcds_app;
GRANT UPDATE (state, due_at, tries, fault, ended_at) ON supplier_mails TO pcds_app;

CREATE TABLE supplier_requests (
    id uuid NOT NULL,
    company_id uuid NOT NULL,
    sku_id uuid NOT NULL,
    component_ids uuid[] NOT NULL,
    supplier_name text,
    token_hash bytea NOT NULL,
    state text NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    enquiry_id uuid,
    expires_at timestamptz,
    withdrawn_at timestamptz,
    asked json,
    CONSTRAINT pk_supplier_requests PRIMARY KEY (id),
    CONSTRAINT uq_supplier_requests_token_hash UNIQUE (token_hash)
);
CREATE INDEX ix_supplier_requests_enquiry_id ON supplier_requests (enquiry_id) WHERE (enquiry_id IS NOT NULL);
CREATE INDEX ix_supplier_requests_newest ON supplier_requests (company_id, created_at DESC, id);
COMMENT ON COLUMN supplier_requests.component_ids IS 'the lines of the SKU''s graph that are asked about';
COMMENT ON COLUMN supplier_requests.token_hash IS 'SHA-256 of the token in the link';
COMMENT ON COLUMN supplier_requests.state IS 'open, awaiting_review or closed';
COMMENT ON COLUMN supplier_requests.enquiry_id IS 'the enquiry that it is an item of';
COMMENT ON COLUMN supplier_requests.expires_at IS 'when its link ends; null for one without end';
COMMENT ON COLUMN supplier_requests.withdrawn_at IS 'when a person ended its link';
COMMENT ON COLUMN supplier_requests.asked IS 'what its components were then, by id; null for requests before it was kept';
CREATE POLICY owner_admits ON supplier_requests FOR SELECT TO CURRENT_ROLE USING (true);
GRANT SELECT,INSERT ON supplier_requests TO pcds_app;
GRANT UPDATE (state, updated_at, withdrawn_at) ON supplier_requests TO pcds_app;
