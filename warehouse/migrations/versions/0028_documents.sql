ALTER TABLE docs ADD renews UUID, ADD withdrawn_at TIMESTAMP WITH TIME ZONE, ADD withdrawn_reason TEXT;
COMMENT ON COLUMN docs.renews IS 'the earlier declaration in whose place it was issued';
COMMENT ON COLUMN docs.withdrawn_reason IS 'why a person withdrew it; its status is rejected since';
CREATE INDEX ix_docs_renews ON docs (company_id, renews) WHERE renews IS NOT NULL;

CREATE TABLE issued_translations (
    doc_id UUID NOT NULL,
    lang TEXT NOT NULL,
    company_id UUID NOT NULL,
    content JSON NOT NULL,
    pdf BYTEA NOT NULL,
    sha256 TEXT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_issued_translations PRIMARY KEY (doc_id, lang)
);
COMMENT ON COLUMN issued_translations.doc_id IS 'the issued declaration, whose own row has its first language';
COMMENT ON COLUMN issued_translations.content IS 'what the PDF says, point by point';
COMMENT ON COLUMN issued_translations.sha256 IS 'of the PDF, hexadecimal';
ALTER TABLE issued_translations ENABLE ROW LEVEL SECURITY;
ALTER TABLE issued_translations FORCE ROW LEVEL SECURITY;
CREATE POLICY company ON issued_translations
    USING (company_id = (SELECT nullif(current_setting('app.company_id', true), '')::uuid))
    WITH CHECK (company_id = (SELECT nullif(current_setting('app.company_id', true), '')::uuid));
GRANT SELECT, INSERT ON issued_translations TO pcds_app;
