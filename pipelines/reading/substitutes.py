"""Chooses substitute columns, which count only where a field has no better one.

`grammar.py` decides which field a single header can stand for; headers that `columns.py` recognises come first.
"""

from collections.abc import Container
from dataclasses import replace
from typing import Final

from pipelines.reading.columns import substitute_column
from pipelines.reading.fields import LONGEST_HEADER, Column
from pipelines.reading.grammar import names_packaging, word_roles
from schemas.fields import SKU_CODE
from schemas.words import fold

SHARED_WITH_PRODUCT: Final = frozenset(
    {"material", "material_subtype", "weight_grams", "weight_unit", "packaging_format", "recycled_content_percent"}
)
"""Fields that a product has as well: beside `Packaging weight`, `Weight` is the product's."""
_READ_AS_NAME: Final = frozenset({"description"})
"""Fields whose column is read as the name where there is no other name."""


def with_substitutes(columns: list[Column], cells: list[str | None], *, mapped: Container[str] = ()) -> list[Column]:
    """Add for each field without a column its one substitute; of two substitutes none is added.

    A key's substitute may otherwise be read as another field: a description is the name where there is no other. A
    column that names the packaging is better than one that does not, unless the mapping names the field (`mapped`).
    """
    found: dict[str, list[Column]] = {}
    taken = {column.position for column in columns if column.name not in _READ_AS_NAME}
    for at, cell in enumerate(cells):
        column = None if cell is None or at in taken or len(cell) >= LONGEST_HEADER else substitute_column(cell)
        if column is not None:
            found.setdefault(column.name, []).append(replace(column, position=at))
    ours = (column for column in columns if column.exact or names_packaging(column.header) or column.name in mapped)
    settled = {column.name for column in ours} | {c.name for c in columns if c.name not in SHARED_WITH_PRODUCT}
    spares = [
        chosen for name in sorted(found.keys() - settled) if (chosen := _choose_substitute(found[name])) is not None
    ]
    better = {column.name for column in spares if names_packaging(column.header)}
    missing = found.keys() - {column.name for column in columns}
    spares = [column for column in spares if column.name in better | missing]
    instead = {column.position for column in spares}
    return [
        *spares,
        *(
            column
            for column in columns
            if column.position not in instead and not (column.name in better and column.name not in settled)
        ),
    ]


def _code_rank(column: Column) -> int:
    """Rank substitutes of the code: the article's own number, then a supplier's or customer's one, then a bare id."""
    return 2 if fold(column.header) == "id" else int("somebody" in word_roles(column.header))


def _choose_substitute(found: list[Column]) -> Column | None:
    """Return a field's only substitute, or the only one that names the packaging; None where it is not clear."""
    if found[0].name == SKU_CODE.name:
        best = min(map(_code_rank, found))
        found = [column for column in found if _code_rank(column) == best]
    if len(found) > 1 and found[0].name in SHARED_WITH_PRODUCT:
        found = [column for column in found if names_packaging(column.header)]
    return found[0] if len(found) == 1 else None
