"""Shows how the columns of a file were read, and turns a person's other choices into a mapping.

A form has one choice for each column: `sku.A` for column A of the main table, `component.A` for one of the components
sheet; the value is the field, empty for none. What the person left as it was stays as it was read. Where a needed
column was not known, the form also asks for the line of the headers.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal  # Any: pieces of a mapping

from api.imports.submissions import sheets_mapping
from api.pages.render import name_of_field, rows, text
from pipelines.reading.columns import field_column
from pipelines.reading.grid import LONGEST_HEADER, VOLUME, fields_of
from pipelines.reading.mapping import merged
from pipelines.reading.questions import answer_with
from schemas.imports.inputs import OwnWordInput
from schemas.imports.types import Asked, ImportSource, Reading, SourceSheet
from schemas.issues import Issue
from schemas.messages import format_word, header, word
from schemas.normalise import Unfit
from schemas.refusals import Refused
from schemas.vocabularies import VOCABULARIES
from schemas.words import market_named

Table = Literal["sku", "component"]
_COLUMNS_UNKNOWN: Final = ("missing_column", "ambiguous_column", "invalid_mapping")
"""Why a file was refused that has an outline; a file that was accepted fails for other reasons."""
_MOST_UNREAD: Final = 20
"""Columns that are not read and stand between the others all the same."""
_NAMES: Final = ("sku_code", "name", "gtin")
_WITHOUT: Final = ""
"""The choice of no field."""
EMPTY: Final = "-"
"""The choice of an empty cell; no code is written so."""


@dataclass(frozen=True, slots=True)
class ShownColumn:
    """One column of the file with what was read from it; `field` is empty where none was."""

    table: Table
    sheet: str | None
    column: str
    header: str
    field: str
    samples: Sequence[str]
    could_be: Sequence[str] = ()
    message: str | None = None

    @property
    def may_be_units(self) -> bool:
        """Return whether units placed may stand in the column: its samples have digits, and it is no code or name."""
        if self.table != "sku" or self.field in _NAMES:
            return False
        return any(character.isdecimal() for text in self.samples for character in text)

    @property
    def input(self) -> str:
        """The name of the column's choice in the form."""
        return f"{self.table}.{self.column}"


def shown_columns(source: ImportSource) -> list[ShownColumn]:
    """Return every column of both tables: those that are read, those that are asked about, those that are not read."""
    parts = source["components"]
    columns = [*_of_table("sku", source["sheet"], source), *_columns_in_question(source)]
    if parts is not None:
        table: Table = "component" if _is_own_sheet(source, parts) else "sku"
        columns += _of_table(table, parts["sheet"], parts)
    first: dict[str, ShownColumn] = {}
    for column in columns:  # one column may serve several fields; a person chooses one
        if column.input not in first or (column.field and not first[column.input].field):
            first[column.input] = column
    return sorted(first.values(), key=lambda column: (column.table != "sku", len(column.column), column.column))


def apart(columns: Sequence[ShownColumn]) -> tuple[list[ShownColumn], list[ShownColumn]]:
    """Return the columns that a page shows, and those that it folds away: columns that are not read, where many are.

    A file of a product database has two hundred of them, and the report stands below.
    """
    visible = [column for column in columns if column.field or column.message is not None]
    unread = [column for column in columns if not column.field and column.message is None]
    return ([*columns], []) if len(unread) <= _MOST_UNREAD or not visible else (visible, unread)


def field_choices(column: ShownColumn, source: ImportSource, lang: str) -> list[tuple[str, str]]:
    """Return the fields that a column can be, with their words: those of its table, and what it is now."""
    tables: list[Table] = ["component"] if column.table == "component" else ["sku"]
    if column.table == "sku" and source["layout"] != "rows":
        tables.append("component")
    choices = {name: name_of_field(table, name, lang) for table in reversed(tables) for name in fields_of(table)}
    if column.table == "sku":
        choices[VOLUME.name] = text("imports.units_placed.of_row", lang)
    if column.field:
        choices.setdefault(column.field, name_of_field(column.table, column.field, lang))
    needed = ("sku_code", "component_type" if column.table == "component" else "name")
    first = [(field, choices.pop(field)) for field in needed if field in choices]
    return [*first, *sorted(choices.items(), key=lambda choice: choice[1].casefold())]


def chosen_mapping(source: ImportSource, form: Mapping[str, str]) -> dict[str, object]:
    """Return the mapping with which the file is read as the form says."""
    parts, columns = source["components"], shown_columns(source)
    mapping = _mapping_of("sku", source, columns, form) | sheets_mapping(source)
    if parts is not None and _is_own_sheet(source, parts):
        of_parts = _mapping_of("component", parts, columns, form)
        mapping["components"] = {**of_parts, "sheet": parts["sheet"]}
    return mapping


def header_row_input(table: Table) -> str:
    """Return the name of the input for the line of a table's headers."""
    return f"{table}.header_row"


def _mapping_of(
    table: Table, read: ImportSource | SourceSheet, all_columns: Iterable[ShownColumn], form: Mapping[str, str]
) -> dict[str, object]:
    """Return the mapping of one table: what a mapping had settled before, then what the form changes."""
    mapped, columns = set(read.get("mapped", ())), [column for column in all_columns if column.table == table]
    chosen: dict[str, list[str]] = {}
    off = {field["field"] for field in read.get("switched_off", ())}
    for column in columns:
        now = _chosen_field(column, form)
        if now != column.field or now in mapped:
            chosen.setdefault(now, []).append(column.column)
        if now != column.field and column.field:
            off.add(column.field)
    kept = {_chosen_field(column, form) for column in columns}
    settled: dict[str, object] = dict.fromkeys(sorted(off - kept))
    settled |= {name: at[0] if len(at) == 1 else at for name, at in chosen.items() if name != _WITHOUT}
    mapping: dict[str, object] = {"columns": settled} if settled else {}
    for key in ("constants", "values"):
        if values := read.get(key):
            mapping[key] = values
    line = form.get(header_row_input(table), str(read["header_row"]) if read.get("header_row_mapped") else "").strip()
    if line:
        mapping["header_row"] = int(line) if line.isdecimal() else line
    return mapping


def _chosen_field(column: ShownColumn, form: Mapping[str, str]) -> str:
    """Return the field that a form chooses for a column: units placed where it names a market, else its choice.

    Raise `Refused` where the market is not known.
    """
    market = form.get(f"market.{column.input}", "").strip()
    if not market:
        return form.get(column.input, column.field)
    try:
        code = market_named(market)
    except Unfit as unfit:
        raise Refused([Issue(unfit.code, unfit.message, f"market.{column.input}")]) from None
    period = (form.get(f"{part}.{column.input}", "") for part in ("year", "half"))
    return "_".join([VOLUME.name, code.lower().replace("-", "_"), *(part for part in period if part)])


def chosen_decimal(form: Mapping[str, str]) -> dict[str, object]:
    """Return the piece of mapping that settles the decimal mark, where a form says it."""
    return {"decimal": form["decimal"]} if form.get("decimal") in (",", ".") else {}


def asked_for_columns(*, dry_run: bool, failure_code: str | None, failure_kind: str | None = None) -> bool:
    """Return whether an import is a dry run that ended with questions about the file, which a person can answer.

    `failure_kind` is the kind of its first question; where nobody knew the columns, it may have none.
    """
    return dry_run and (failure_code in _COLUMNS_UNKNOWN or failure_kind is not None)


def _of_table(table: Table, sheet: str | None, read: ImportSource | SourceSheet) -> Iterator[ShownColumn]:
    samples = read.get("samples", {})
    for column in read["columns"]:
        yield ShownColumn(
            table, sheet, column["column"], column["header"], column["field"], samples.get(column["column"], ())
        )
    for ignored in read["ignored"]:
        at = ignored["column"]
        yield ShownColumn(table, sheet, at, ignored["header"], _WITHOUT, samples.get(at, ()))


def _columns_in_question(source: ImportSource) -> Iterator[ShownColumn]:
    for question in source.get("asked", ()):
        if not is_about_column(question) or question["column"] is None or question["header"] is None:
            continue
        yield ShownColumn(
            "component" if "components" in question["answer"] else "sku",
            question.get("sheet", source["sheet"]),
            question["column"],
            question["header"],
            _WITHOUT,
            source.get("samples", {}).get(question["column"], ()),
            question["could_be"],
            question["message"],
        )


def is_about_column(question: Asked) -> bool:
    """Return whether a question is which field a column is, as the table of columns asks it; old ones have no kind."""
    return question.get("kind", "column") == "column" and question["column"] is not None


def _is_own_sheet(source: ImportSource, parts: SourceSheet) -> bool:
    return parts["sheet"] is not None and parts["sheet"] != source["sheet"]


def field_choices_of(field: str, lang: str) -> tuple[str, list[tuple[str, str]]]:
    """Return the field's header and its codes with their words; no codes where the field has no vocabulary."""
    column = field_column(field, "sku") or field_column(field, "component")
    if column is None:
        return name_of_field("sku", field, lang), []
    label, vocabulary = name_of_field(column.table, field, lang), column.field.vocabulary
    codes = [(code, word(vocabulary, code, lang)) for code in VOCABULARIES[vocabulary]] if vocabulary else []
    return label, sorted(codes, key=lambda choice: choice[1].casefold())


@dataclass(frozen=True, slots=True)
class ShownReading:
    """What a text became, in words; `choices` are the codes that it can mean instead, by `input`: none of a number."""

    input: str
    column: str
    field: str
    text: str
    value: str
    rows: int
    choices: Sequence[tuple[str, str]]


def shown_readings(source: ImportSource, lang: str) -> list[ShownReading]:
    """Return what the texts of a file became, those that lose something first."""
    fields = {reading["field"]: field_choices_of(reading["field"], lang) for reading in source.get("readings", ())}
    beside = [(code, word("truth", code, lang)) for code in ("true", "false")]
    beside += [(code, word("colour", code, lang)) for code in VOCABULARIES["colour"]]
    beside.append(("metallised", header("component", "metallised", lang)))
    readings = []
    for at, reading in enumerate(source.get("readings", ())):
        label, choices = fields[reading["field"]]
        words = dict([*beside, *choices])
        if reading["field"] == "packaging_format":
            words |= {code: format_word(code, lang) for code in reading["value"].split(", ")[1:]}
        value = ", ".join(words.get(code, code) for code in reading["value"].split(", "))
        can_change = choices if _is_whole(reading) else []
        readings.append(
            ShownReading(f"word.{at}", reading["column"], label, reading["text"], value, reading["rows"], can_change)
        )
    return readings


def chosen_words(source: ImportSource, form: Mapping[str, str]) -> list[OwnWordInput]:
    """Return the company's own words that a form makes of readings."""
    return [
        OwnWordInput(field=reading["field"], text=reading["text"], value=None if chosen == EMPTY else chosen)
        for at, reading in enumerate(source.get("readings", ()))
        if (chosen := form.get(f"word.{at}", "")) and _is_whole(reading)
    ]


def _is_whole(reading: Reading) -> bool:
    """Return whether a reading quotes its text as it is; one that was cut cannot be a word."""
    return len(reading["text"]) <= LONGEST_HEADER


_NOT_READ: Final = "-"
"""The choice that a column is nothing that is read."""
_WORDS: Final = frozenset(row["key"] for row in rows() if row["key"].startswith("imports.asked."))
"""Texts of choices that are words of the mapping."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its place in the file, its input in the form, values of its column, and the choices in words."""

    input: str
    place: str
    message: str
    samples: Sequence[str]
    choices: Sequence[tuple[str, str]]


def open_questions(source: ImportSource, lang: str, *, beside_columns: bool) -> list[Question]:
    """Return the questions of an import; `beside_columns` where the table of columns asks what a column is."""
    return [
        Question(
            f"answer.{at}",
            _place(question, lang),
            question["message"],
            _samples(question, source),
            _choices(question, lang),
        )
        for at, question in enumerate(source.get("asked", ()))
        if not (beside_columns and is_about_column(question))
    ]


def chosen_answers(source: ImportSource, form: Mapping[str, str]) -> dict[str, object]:
    """Return the pieces of mapping that a form chose, together."""
    mapping: dict[str, object] = {}
    for at, question in enumerate(source.get("asked", ())):
        choice = form.get(f"answer.{at}", "")
        if choice not in {code for code, _ in _choices(question, "en")}:
            continue
        piece: dict[str, object] = {"columns": dict.fromkeys(question["could_be"])}  # reads its field from nowhere
        if choice != _NOT_READ:
            piece = answer_with(question, choice)
        elif "components" in question["answer"]:
            piece = {"components": piece}
        mapping = merged(mapping, piece)
    return mapping


def _place(question: Asked, lang: str) -> str:
    """Return where in the file a question is: its sheet, column and lines."""
    column = question["column"] and text("imports.asked.column", lang, column=question["column"])
    lines = question.get("lines") and text("imports.asked.lines", lang, lines=question["lines"])
    return ", ".join(part for part in (question.get("sheet"), column, lines) if part)


def _samples(question: Asked, source: ImportSource) -> Sequence[str]:
    """Return values of the column that a question is about."""
    parts = source["components"]
    of_parts = parts is not None and _is_own_sheet(source, parts) and question.get("sheet") == parts["sheet"]
    read: ImportSource | SourceSheet = parts if parts is not None and of_parts else source
    return read.get("samples", {}).get(question["column"] or "", ())


def _choices(question: Asked, lang: str) -> list[tuple[str, str]]:
    if not question.get("answer"):  # of an import of an earlier release
        return []
    choices = [(choice, _word(question, choice, lang)) for choice in question["could_be"]]
    columns = _piece(question).get("columns")
    if is_about_column(question) and isinstance(columns, Mapping) and list(columns) == question["could_be"]:
        choices.append((_NOT_READ, text("imports.asked.not_read", lang)))
    return choices


def _piece(question: Asked) -> Mapping[str, Any]:
    """Return the piece of mapping that answers a question, of the table that it is about."""
    parts = question["answer"].get("components")
    return parts if isinstance(parts, Mapping) else question["answer"]


def _word(question: Asked, choice: str, lang: str) -> str:
    """Return a choice in words: a field by its name, a code by its word, what the file itself says as it is."""
    kind, of_parts = question["kind"], "components" in question["answer"]
    if kind == "column":
        field = field_column(choice, "component" if of_parts else "sku")
        if field is not None and (family := dict(field.fixed).get("material_family")):  # the weight of its parts
            return word("material_family", family, lang)
        if field is not None:
            return name_of_field("component" if of_parts else "sku", choice, lang)
    values = _piece(question).get("values") if kind == "value" else None
    if isinstance(values, Mapping) and len(values) == 1:
        column = field_column(next(iter(values)), "component" if of_parts else "sku")
        if column is not None and column.field.vocabulary:
            return word(column.field.vocabulary, choice, lang)
    key = f"imports.asked.{kind}.{choice}"
    return text(key, lang) if key in _WORDS else choice
