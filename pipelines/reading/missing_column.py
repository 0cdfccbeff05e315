"""Refuses a table that lacks a needed column: the refusal lists the headers seen and says what to send instead."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from json import dumps

from pipelines.reading.fields import Table
from pipelines.reading.grid import letter
from pipelines.reading.refusal import ReadingRefused
from schemas.issues import Issue
from schemas.messages import Message
from schemas.normalise import shown

_MOST_QUOTED = 20
_LONGEST_QUOTED = 60


@dataclass(frozen=True, slots=True)
class SearchedHeader:
    """The header that was searched for the column: its line, its labels, and the positions that are read already."""

    table: Table
    sheet: str | None
    line: int
    cells: Sequence[str | None]
    used: Collection[int]

    def describe(self) -> str | Message:
        """Return the sheet as a part of the sentence; a text file has no sheet."""
        if self.sheet is None:
            return ""
        if self.table == "component":
            return Message(" of the components sheet {title}", title=shown(self.sheet))
        return Message(" of the sheet {title}", title=shown(self.sheet))


def refusal(names: Sequence[str], place: SearchedHeader, barcode: int | None) -> ReadingRefused:
    """Return why a table without columns of these fields is not read. `barcode` is the position of a GTIN column."""
    free = [at for at, cell in enumerate(place.cells) if cell is not None and at not in place.used]
    likely: dict[str, int] = {}
    if "sku_code" in names and barcode is not None:
        likely["sku_code"] = barcode
    likely.update(zip([name for name in names if name not in likely], free, strict=False))
    return ReadingRefused([_issue(name, place, likely.get(name)) for name in names])


def _issue(name: str, place: SearchedHeader, likely: int | None) -> Issue:
    if not place.line:
        message = Message(
            "A table without headers needs {name} by its letter: add it to the columns of the mapping.", name=name
        )
        return Issue("invalid_mapping", message, "mapping")
    filled = [(at, cell) for at, cell in enumerate(place.cells) if cell is not None]
    some = ", ".join(f"{letter(at)} {shown(cell[:_LONGEST_QUOTED])}" for at, cell in filled[:_MOST_QUOTED])
    some += ", …" if len(filled) > _MOST_QUOTED else ""
    where, line = place.describe(), place.line
    if likely is None:
        message = Message(
            "No column{sheet} is recognised as {name}. Line {line} looks most like the header and holds: {some}. "
            "Add a column with the header {name}.",
            sheet=where,
            name=name,
            line=line,
            some=some,
        )
        return Issue("missing_column", message, name)
    columns = {"columns": {name: letter(likely)}}
    mapping = dumps(columns if place.table == "sku" else {"components": columns})
    message = Message(
        "No column{sheet} is recognised as {name}. Line {line} looks most like the header and holds: {some}. "
        "Rename the right column to {name}, or name it: mapping={mapping}.",
        sheet=where,
        name=name,
        line=line,
        some=some,
        mapping=mapping,
    )
    return Issue("missing_column", message, name)
