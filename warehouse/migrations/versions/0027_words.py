"""Adds the words by which a SKU is found: a column that Postgres computes at each write of the row.

There is no index on it. Under row-level security Postgres uses an index only for operators that leak nothing, and
those that search a text are none of them; an index on a text that changes would also make each update write all indexes
of its row. A company's rows are read instead: 50 000 take 40 ms.
"""

from pathlib import Path

from alembic import op
from sqlalchemy import text

revision = "0027"
down_revision = "0026"

_LETTERS = "pg_c_utf8"
_COLLATIONS = f"""
SELECT quote_ident(collname) FROM pg_collation WHERE collname IN ('{_LETTERS}', 'und-x-icu')
ORDER BY collname <> '{_LETTERS}'"""
"""The collations that know all letters, the one of Postgres 17 first, then that of a server with ICU."""
_FUNCTIONS = ("pcds_words(text)", "pcds_sku_words(text, text, text, text, text, text, text, json)")


def upgrade() -> None:
    """Add functions and column, which writes each row of `skus` anew; a session of the application may call both."""
    made = Path(__file__).with_suffix(".sql").read_text(encoding="utf-8")
    letters = op.get_bind().execute(text(_COLLATIONS)).scalar()
    op.get_bind().exec_driver_sql(made.replace(f"COLLATE {_LETTERS}", f"COLLATE {letters}" if letters else ""))
    for function in _FUNCTIONS:
        op.execute(f"REVOKE ALL ON FUNCTION {function} FROM PUBLIC")
        op.execute(f"GRANT EXECUTE ON FUNCTION {function} TO pcds_app")


def downgrade() -> None:
    """Drop them; no other column has less."""
    op.execute("ALTER TABLE skus DROP COLUMN words")
    for function in reversed(_FUNCTIONS):
        op.execute(f"DROP FUNCTION {function}")
