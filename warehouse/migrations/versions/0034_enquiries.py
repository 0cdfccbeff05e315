"""Adds enquiries: requests to one supplier about many SKUs, under one link that ends at an instant or is withdrawn."""

from pathlib import Path

from alembic import op

revision = "0034"
down_revision = "0033"

_LINK = "pcds_supplier_request(bytea, timestamptz)"
_ENQUIRY = "pcds_supplier_enquiry(bytea, timestamptz)"


def upgrade() -> None:
    """Make the table, the columns and the functions; a link now also ends with its last instant or its withdrawal."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))
    op.execute("CREATE POLICY owner_admits ON supplier_enquiries FOR SELECT TO CURRENT_ROLE USING (true)")
    for function in (_LINK, _ENQUIRY):
        op.execute(f"REVOKE ALL ON FUNCTION {function} FROM PUBLIC")
        op.execute(f"GRANT EXECUTE ON FUNCTION {function} TO pcds_app")


def downgrade() -> None:
    """Drop them: enquiries are lost; their requests stay, and those without an answer are closed."""
    earlier = (Path(__file__).parent / "0017_supplier_requests.sql").read_text(encoding="utf-8")
    functions = "-- The request behind a token" + earlier.partition("-- The request behind a token")[2]
    op.execute(f"DROP FUNCTION {_ENQUIRY}")
    op.execute(f"DROP FUNCTION {_LINK}")
    op.get_bind().exec_driver_sql(functions.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION"))
    op.execute("REVOKE ALL ON FUNCTION pcds_supplier_request(bytea) FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION pcds_supplier_request(bytea) TO pcds_app")
    op.execute("UPDATE supplier_requests SET state = 'closed' WHERE enquiry_id IS NOT NULL AND state = 'open'")
    op.execute("ALTER TABLE supplier_requests DROP enquiry_id, DROP expires_at, DROP withdrawn_at")
    op.execute("DROP TABLE supplier_enquiries")
