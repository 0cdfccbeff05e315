"""Computes the words by which a SKU is found with fewer function calls; the stored words stay as they are."""

from pathlib import Path
from typing import Final

from alembic import op

revision = "0046"
down_revision = "0045"

_TEXTS: Final = """(name || chr(10) || sku_code
    || coalesce(chr(10) || gtin, '') || coalesce(chr(10) || material, '') || coalesce(chr(10) || material_subtype, '')
    || coalesce(chr(10) || packaging_format, '') || coalesce(chr(10) || product_category, ''))"""


def upgrade() -> None:
    """Replace the function."""
    text = Path(__file__).with_suffix(".sql").read_text(encoding="utf-8")
    op.get_bind().exec_driver_sql(text.replace("{texts}", _TEXTS))


def downgrade() -> None:
    """Put the function of 0027 in its place again."""
    before = Path(__file__).with_name("0027_words.sql").read_text(encoding="utf-8")
    start, end = before.index("CREATE FUNCTION pcds_sku_words("), "\n);\n"
    function = before[start : before.index(end, start) + len(end)]
    op.get_bind().exec_driver_sql(function.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION"))
