"""Keeps with a declaration its tonnes in scope, undecided and out of scope, its halves, and its most deciding question.

All columns are null in the rows that are there: nothing stored is rewritten (decisions §13). Their tonnes by scope are
read from their own bytes (`warehouse.declarations.kept`).
"""

from alembic import op

revision = "0048"
down_revision = "0047"

_COLUMNS = (
    ("halves", "SMALLINT[]", "the halves that were there, of a calendar year of a half-yearly market"),
    ("in_scope_tonnes", "NUMERIC", "what is filed; null in the UK file, and in rows from before revision 0048"),
    ("undecided_tonnes", "NUMERIC", "tonnes of which a fact is missing that would decide"),
    ("out_of_scope_tonnes", "NUMERIC", "tonnes that no category is about"),
    ("question", "JSON", "the missing fact that decides most: field, tonnes, skus"),
)


def upgrade() -> None:
    """Add the columns, without a default, so that no row is written."""
    for name, kind, meaning in _COLUMNS:
        op.execute(f"ALTER TABLE kept_declarations ADD COLUMN {name} {kind}")
        op.execute(f"COMMENT ON COLUMN kept_declarations.{name} IS '{meaning}'")


def downgrade() -> None:
    """Drop the columns; the bytes of the declarations have the tonnes."""
    for name, _, _ in _COLUMNS:
        op.execute(f"ALTER TABLE kept_declarations DROP COLUMN {name}")
