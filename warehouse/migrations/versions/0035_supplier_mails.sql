ALTER TABLE supplier_enquiries ADD supplier_email TEXT, ADD language TEXT, ADD asked_by UUID;
COMMENT ON COLUMN supplier_enquiries.supplier_email IS 'whom its mails go to; null where the link is handed over otherwise';
COMMENT ON COLUMN supplier_enquiries.language IS 'of its mails; null is English';
COMMENT ON COLUMN supplier_enquiries.asked_by IS 'the person whom the supplier answers a mail to; null for an API key';

CREATE TABLE supplier_mails (
    id UUID NOT NULL,
    company_id UUID NOT NULL,
    enquiry_id UUID NOT NULL,
    kind TEXT NOT NULL,
    state TEXT NOT NULL,
    due_at TIMESTAMP WITH TIME ZONE NOT NULL,
    tries INTEGER NOT NULL,
    fault TEXT,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    ended_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_supplier_mails PRIMARY KEY (id)
);
CREATE INDEX ix_supplier_mails_enquiry_id ON supplier_mails (enquiry_id);
CREATE INDEX ix_supplier_mails_created_at ON supplier_mails (company_id, created_at);
CREATE INDEX ix_supplier_mails_due ON supplier_mails (due_at) WHERE state = 'waiting';
COMMENT ON COLUMN supplier_mails.kind IS 'asked, reminder or rejected; its text is made when it is sent';
COMMENT ON COLUMN supplier_mails.state IS 'waiting, sent, not_needed or failed';
COMMENT ON COLUMN supplier_mails.due_at IS 'when it is sent, or tried again';
COMMENT ON COLUMN supplier_mails.fault IS 'why the last try failed, as a code';
COMMENT ON COLUMN supplier_mails.ended_at IS 'when it was sent, or given up';
ALTER TABLE supplier_mails ENABLE ROW LEVEL SECURITY;
ALTER TABLE supplier_mails FORCE ROW LEVEL SECURITY;
CREATE POLICY company ON supplier_mails
    USING (company_id = (SELECT nullif(current_setting('app.company_id', true), '')::uuid))
    WITH CHECK (company_id = (SELECT nullif(current_setting('app.company_id', true), '')::uuid));
GRANT SELECT, INSERT, UPDATE (state, due_at, tries, fault, ended_at) ON supplier_mails TO pcds_app;

-- The companies with mails to send at this instant, and the state of that work: the same until something is sent.
CREATE FUNCTION pcds_due_mails(at timestamptz) RETURNS TABLE (company_id uuid, slug text, work text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT mails.company_id, companies.slug, max(mails.id::text) || '/' || count(*) || '/' || sum(mails.tries)
    FROM supplier_mails AS mails JOIN companies ON companies.id = mails.company_id
    WHERE mails.state = 'waiting' AND mails.due_at <= at
    GROUP BY mails.company_id, companies.slug
$$;
