"""Tells why a table lacks a needed column: the headers seen, and the column whose name and values fit, if any does."""

from collections.abc import Sequence
from json import dumps

from pipelines.reading.fields import Column
from pipelines.reading.grid import letter
from pipelines.reading.key_columns import Searched, likely_code, likely_name, likely_type
from schemas.issues import Issue
from schemas.messages import Message
from schemas.normalise import shown

_MOST_QUOTED = 20
_LONGEST_QUOTED = 60


def issues_of(names: Sequence[str], header: Searched, columns: Sequence[Column]) -> list[Issue]:
    """Return why a table without columns of these fields is not read; `columns` are those that it has."""
    taken = [column.position for column in columns]
    code = next((column.position for column in columns if column.name == "sku_code"), None)
    likely: dict[str, int | None] = {}
    if "sku_code" in names:
        barcode = next((column.position for column in columns if column.name == "gtin"), None)
        code = likely["sku_code"] = likely_code(header, taken) if barcode is None else barcode
    if "name" in names:
        likely["name"] = likely_name(header, taken, code)
    if "component_type" in names:
        likely["component_type"] = likely_type(header, [*taken, *(at for at in likely.values() if at is not None)])
    return [_issue(name, header, likely.get(name)) for name in names]


def _sheet_of(header: Searched) -> str | Message:
    """Return the sheet as a part of the sentence; a text file has no sheet."""
    if header.sheet is None:
        return ""
    if header.table == "component":
        return Message(" of the components sheet {title}", title=shown(header.sheet))
    return Message(" of the sheet {title}", title=shown(header.sheet))


def _issue(name: str, header: Searched, likely: int | None) -> Issue:
    if not header.line:
        message = Message(
            "A table without headers needs {name} by its letter: add it to the columns of the mapping.", name=name
        )
        return Issue("invalid_mapping", message, "mapping")
    filled = [(at, cell) for at, cell in enumerate(header.cells) if cell is not None]
    some = ", ".join(f"{letter(at)} {shown(cell[:_LONGEST_QUOTED])}" for at, cell in filled[:_MOST_QUOTED])
    some += ", …" if len(filled) > _MOST_QUOTED else ""
    where, line = _sheet_of(header), header.line
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
    answer = columns if header.table == "sku" else {"components": columns}
    message = Message(
        "No column{sheet} is recognised as {name}. Line {line} looks most like the header and holds: {some}. "
        "Rename the right column to {name}, or name it: mapping={mapping}.",
        sheet=where,
        name=name,
        line=line,
        some=some,
        mapping=dumps(answer),
    )
    return Issue("missing_column", message, name, kind="column", could_be=[name], answer=answer)
