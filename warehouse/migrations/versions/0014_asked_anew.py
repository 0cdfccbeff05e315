"""Lets an enquiry be asked again by itself, and keeps the supplier's article number of a part.

Every statement takes a lock for an instant.
"""

from alembic import op

revision = "0014"
down_revision = "0011"

_COMPANY = "company_id = (SELECT nullif(current_setting('app.company_id', true), '')::uuid)"
_ENQUIRIES = """
ALTER TABLE supplier_enquiries ADD COLUMN IF NOT EXISTS asks_again boolean;
COMMENT ON COLUMN supplier_enquiries.asks_again IS
    'whether it is asked again by itself when a part has changed or the answers are old; null is no'
"""
_ROWS = """
ALTER TABLE supplier_rows ADD COLUMN IF NOT EXISTS article text;
COMMENT ON COLUMN supplier_rows.article IS 'the supplier''s article number of its parts';
GRANT UPDATE (article) ON supplier_rows TO pcds_app
"""
_ARTICLES = f"""
CREATE TABLE IF NOT EXISTS supplier_articles (
    company_id uuid NOT NULL,
    component_id uuid NOT NULL,
    supplier text NOT NULL,
    article text NOT NULL,
    CONSTRAINT pk_supplier_articles PRIMARY KEY (company_id, component_id, supplier)
);
COMMENT ON COLUMN supplier_articles.component_id IS 'the line of a SKU''s graph';
COMMENT ON COLUMN supplier_articles.supplier IS 'the name of the supplier, in small letters';
COMMENT ON COLUMN supplier_articles.article IS 'the number under which the supplier sells it';
ALTER TABLE supplier_articles ENABLE ROW LEVEL SECURITY;
ALTER TABLE supplier_articles FORCE ROW LEVEL SECURITY;
DROP POLICY IF EXISTS company ON supplier_articles;
CREATE POLICY company ON supplier_articles USING ({_COMPANY}) WITH CHECK ({_COMPANY});
GRANT SELECT, INSERT, UPDATE ON supplier_articles TO pcds_app
"""


def upgrade() -> None:
    """Lock one table of requests at a time: with a request's two they could form a deadlock."""
    for statements in (_ENQUIRIES, _ROWS, _ARTICLES):
        with op.get_context().autocommit_block():
            op.get_bind().exec_driver_sql(statements)
