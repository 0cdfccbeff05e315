"""Gives an id to each name of a supplier, brand or site that no record of the company has (decisions §13, `create`).

The reader chooses the ids and the import makes the records (`pipelines.imports.records`). Without `create` the names
are asked about, and their rows are rejected.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final
from uuid import UUID, uuid5

import polars as pl

from pipelines.reading.fields import Column
from pipelines.reading.mapping import SheetMapping
from pipelines.reading.named_fields import Rewriting
from pipelines.reading.questions import question
from pipelines.reading.refusal import refuse
from pipelines.reading.values import unescaped
from schemas.messages import Message
from schemas.normalise import shown
from schemas.report import Asked
from schemas.texts import control_in
from schemas.words import fold

CREATED: Final[Mapping[str, str]] = {
    "brand_id": "brand",
    "manufacturing_site_id": "site",
    "packing_site_id": "site",
    "supplier_id": "supplier",
}
"""The fields whose records an import may make, and the kind of each."""
MOST: Final = 500
"""Most names of one column that an import makes records of."""
_SHOWN: Final = 3
_LONGEST: Final = 255
"""Characters of a record's name."""


def with_new_names(
    cells: pl.DataFrame, columns: Iterable[Column], mapped: SheetMapping, ids: UUID | None, sheet: str | None
) -> tuple[SheetMapping, tuple[Asked, ...]]:
    """Return the mapping with an id for each new name, and without `ids` a question for each column that has some.

    `ids` is the namespace of the new ids: one name has one id in all tables of a file.
    """
    rewritings: list[Rewriting] = []
    questions: list[Asked] = []
    for column in columns:
        kind = CREATED.get(column.field.name)
        if kind is None or column.constant is not None:
            continue
        names = _unknown_names(unescaped(cells[column.name]), column, mapped.values)
        if not names:
            continue
        if ids is None:
            questions.append(_question(column, names, sheet))
            continue
        if len(names) > MOST:
            message = Message(
                "{column} has {count} names that no record has; with create at most {most} are made. Add the records "
                "first, or map the right column.",
                column=shown(column.header),
                count=len(names),
                most=MOST,
            )
            raise refuse("invalid_mapping", message, "mapping")
        given = {name: str(uuid5(ids, f"{kind}/{fold(name)}")) for name in names}
        new = {fold(name): cell for name, cell in given.items()}
        rewritings.append(Rewriting(column, new, {}, given))
    return replace(mapped, values=(*mapped.values, *rewritings)) if rewritings else mapped, tuple(questions)


def _unknown_names(cells: pl.Series, column: Column, values: Iterable[Rewriting]) -> list[str]:
    known = {text for each in values if each.applies_to(column) for text in each.cells}
    found = [cell.strip() for cell in cells.drop_nulls().unique(maintain_order=True)]
    return [name for name in found if _is_name(name) and fold(name) not in known]


def _is_name(text: str) -> bool:
    if not text or text in ("null", "NULL") or len(text) > _LONGEST or control_in(text):
        return False
    try:
        UUID(text)
    except ValueError:
        return True
    return False


def _question(column: Column, names: list[str], sheet: str | None) -> Asked:
    some = ", ".join(shown(name) for name in names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")
    message = Message(
        "No record has the name {names}; their rows are rejected. Send mapping={mapping} so that the import makes "
        "these records, or correct the names.",
        names=some,
        mapping={"create": True},
    )
    return question("value", message, could_be=("create",), column=column, sheet=sheet, text=names[0])
