"""Makes every table and function, the row-level security, and the rights of the application's role.

The SQL stands in `../baseline`, a file a subject. Row-level security isolates companies: a table with a company's id
shows its rows to the company of the transaction's setting `app.company_id` and to no session without one. It is forced,
so that it binds the tables' owner too, unless it is a superuser. The setting is read in a sub-select, which Postgres
evaluates once a statement instead of once a row.
"""

from alembic import op
from sqlalchemy import text

from warehouse.operate import migrate

revision = "0001"
down_revision = None

_COMPANY = "(SELECT nullif(current_setting('app.company_id', true), '')::uuid)"
_WITH_A_COMPANY = """
SELECT table_name, column_name FROM information_schema.columns
WHERE table_schema = 'public'
AND (column_name = 'company_id' OR (table_name, column_name) = ('companies', 'id'))
"""
_LETTERS = "pg_c_utf8"
_COLLATIONS = f"""
SELECT quote_ident(collname) FROM pg_collation WHERE collname IN ('{_LETTERS}', 'und-x-icu')
ORDER BY collname <> '{_LETTERS}'"""
"""The collations that know all letters, the one of Postgres 17 first, then that of a server with ICU."""


def upgrade() -> None:
    """Make functions before tables, of which some compute a column or have a trigger."""
    connection = op.get_bind()
    letters = connection.execute(text(_COLLATIONS)).scalar()
    op.execute("SET LOCAL check_function_bodies = off")  # they name tables that are made after them
    for statements in migrate.files():
        collated = statements.replace(f"COLLATE {_LETTERS}", f"COLLATE {letters}" if letters else "")
        connection.exec_driver_sql(collated)
    for table, column in connection.execute(text(_WITH_A_COMPANY)).all():
        own = f"{column} = {_COMPANY}"
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
        op.execute(f"CREATE POLICY company ON {table} USING ({own}) WITH CHECK ({own})")


def downgrade() -> None:
    """Do nothing: there is no release before the first to go back to."""
    raise NotImplementedError("0001 is the first release; drop the database instead")
