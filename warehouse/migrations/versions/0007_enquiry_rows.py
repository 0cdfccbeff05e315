"""Makes the table of an enquiry, a row for all parts that are alike, and lets one file belong to several SKUs.

The release before goes on meanwhile: its enquiries have no rows, and its files belong to one SKU. Every statement
takes a lock for an instant.
"""

from alembic import op

revision = "0007"
down_revision = "0006"

_COMPANY = "company_id = (SELECT nullif(current_setting('app.company_id', true), '')::uuid)"
_ROWS = f"""
CREATE TABLE supplier_rows (
    company_id uuid NOT NULL,
    enquiry_id uuid NOT NULL,
    number integer NOT NULL,
    part json NOT NULL,
    parts integer NOT NULL,
    answer json,
    is_confirmed boolean NOT NULL,
    note text,
    saved_at timestamptz,
    CONSTRAINT pk_supplier_rows PRIMARY KEY (enquiry_id, number)
);
COMMENT ON COLUMN supplier_rows.part IS 'what its parts have in common, as the record had it';
COMMENT ON COLUMN supplier_rows.parts IS 'how many parts it is asked for';
COMMENT ON COLUMN supplier_rows.answer IS 'what the supplier has filled in so far';
COMMENT ON COLUMN supplier_rows.is_confirmed IS 'whether the supplier says that it is right';
COMMENT ON COLUMN supplier_rows.note IS 'what the supplier was told when an answer of it was rejected';
ALTER TABLE supplier_rows ENABLE ROW LEVEL SECURITY;
ALTER TABLE supplier_rows FORCE ROW LEVEL SECURITY;
CREATE POLICY company ON supplier_rows USING ({_COMPANY}) WITH CHECK ({_COMPANY});
GRANT SELECT, INSERT ON supplier_rows TO pcds_app;
GRANT UPDATE (answer, is_confirmed, note, saved_at) ON supplier_rows TO pcds_app
"""
_REQUESTS = """
ALTER TABLE supplier_requests ADD COLUMN IF NOT EXISTS row_numbers integer[];
COMMENT ON COLUMN supplier_requests.row_numbers IS 'the row of its enquiry that each part is in'
"""
_ENQUIRIES = """
ALTER TABLE supplier_enquiries ADD COLUMN IF NOT EXISTS opened_at timestamptz,
    ADD COLUMN IF NOT EXISTS valid_months integer;
COMMENT ON COLUMN supplier_enquiries.valid_months IS 'how long an accepted answer holds; null is 12';
COMMENT ON COLUMN supplier_enquiries.opened_at IS 'when its link was first opened';
GRANT UPDATE (opened_at) ON supplier_enquiries TO pcds_app
"""
_REVIEW_FILES = """
ALTER TABLE review_files ADD COLUMN IF NOT EXISTS enquiry_id uuid, ADD COLUMN IF NOT EXISTS row_numbers integer[];
COMMENT ON COLUMN review_files.enquiry_id IS 'the enquiry that a supplier attached it to, for many items at once';
COMMENT ON COLUMN review_files.row_numbers IS 'the rows of that enquiry whose parts it is about'
"""
_OF_ENQUIRY = """
CREATE INDEX IF NOT EXISTS ix_review_files_enquiry_id ON review_files (enquiry_id) WHERE enquiry_id IS NOT NULL
"""
_TECHNICAL_FILES = """
ALTER TABLE technical_files ADD COLUMN IF NOT EXISTS component_ids uuid[];
COMMENT ON COLUMN technical_files.component_ids IS 'the parts that it is evidence for; null for all of the SKU';
ALTER TABLE technical_files DROP CONSTRAINT IF EXISTS pk_technical_files;
ALTER TABLE technical_files ADD CONSTRAINT pk_technical_files PRIMARY KEY (id, sku_id)
"""
# Not of enquiries: the class that the column holds has got this name.
_FORESEEN = "COMMENT ON COLUMN imports.preview IS 'Foreseen, of a dry run'"
_ADMIT = """
CREATE OR REPLACE FUNCTION pcds_admit_enquiry(presented bytea, address text, ceiling integer, at timestamptz)
RETURNS TABLE(enquiry_id uuid, company_id uuid, retry_after integer)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $$
#variable_conflict use_variable
BEGIN
    SELECT found.enquiry_id, found.company_id INTO enquiry_id, company_id
        FROM pcds_supplier_enquiry(presented, at) AS found;
    BEGIN
        retry_after := pcds_take('supplier-address:' || address, ceiling, at);
        IF retry_after = 0 AND enquiry_id IS NOT NULL THEN
            retry_after := pcds_take('supplier-request:' || enquiry_id, ceiling, at);
        END IF;
        IF retry_after > 0 THEN
            RAISE EXCEPTION USING ERRCODE = 'PC429';
        END IF;
    EXCEPTION WHEN SQLSTATE 'PC429' THEN
        NULL; -- the place that one of them took is free again
    END;
    RETURN NEXT;
END $$;
REVOKE ALL ON FUNCTION pcds_admit_enquiry FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pcds_admit_enquiry TO pcds_app
"""


def upgrade() -> None:
    """Lock one table of requests at a time: with a request's two they could form a deadlock."""
    for statements in (_ROWS, _REQUESTS, _ENQUIRIES, _REVIEW_FILES, _OF_ENQUIRY, _TECHNICAL_FILES, _FORESEEN, _ADMIT):
        with op.get_context().autocommit_block():
            op.get_bind().exec_driver_sql(statements)
