"""Records that a JSON body, a line of CSV and a row of a workbook can say alike, and the three ways to say them.

What only one of them can say is left out: a JSON value of another type, a cell with a unit or a word in French. Values
that no field may hold are in here too, each in its one place, so that they must be refused by all three.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from hypothesis import strategies as st

from schemas.fields import COMPONENT, SKU, Field
from schemas.vocabularies import SUBSTANCES, VOCABULARIES

Record = dict[str, Any]
Table = list[list[object]]

UNITS: Final = {"pfas": "ppb", "svhc": "percent_w_w", "bpa": None, "heavy_metals": "mg_per_kg"}
"""The unit that a `…_value` column is in."""

SUBSTANCE_COLUMNS: Final = [f"{name}_{part}" for name in SUBSTANCES for part in ("status", "value")]
SKU_COLUMNS: Final = [*(n for n in SKU if n not in ("substances", "components")), *SUBSTANCE_COLUMNS]
COMPONENT_COLUMNS: Final = ["sku_code", *(n for n in COMPONENT if n != "substances"), *SUBSTANCE_COLUMNS]

NOBODY: Final = "019a0000-0000-7000-8000-00000000dead"
_NO_WORDS: Final = ("null", "none", "nan")
_DITTO: Final = ('"', '-"-', '--"--')


def _sayable(text: str) -> bool:
    """Whether a cell can hold the text: something to see, no clearing word, ditto mark, escape or spreadsheet error."""
    return bool(text.strip()) and text.strip().lower() not in (*_NO_WORDS, *_DITTO) and text[0] not in "'#"


TEXTS: Final = st.text(
    st.sampled_from("aZé œß09 ,;.|\t\n\"'-_=+@/&<>%€\u00a0\u2009漢😀"), min_size=1, max_size=9
).filter(_sayable)
NUMBERS: Final = st.one_of(
    st.integers(0, 100), st.integers(0, 10_000).map(lambda n: n / 100), st.sampled_from([0.0, 1.234, 1e-7, 99.999999])
)


def _right(field: Field, ids: Mapping[str, Sequence[str]]) -> st.SearchStrategy[object]:  # noqa: PLR0912  (one case per kind)
    words = VOCABULARIES.get(field.vocabulary or "", ())
    match field.kind:
        case "number" if field.maximum is None:
            return NUMBERS | st.sampled_from([1e21, 123_456_789.123456, 15_000])
        case "number":
            return NUMBERS
        case "integer":
            return st.sampled_from([int(field.minimum or 0), 1, 12, 3.0, 1234, 2_147_483_647])
        case "truth":
            return st.booleans()
        case "code" if field.name == "packaging_level":
            return st.sampled_from([*words, "primary", "Grouping", " tertiary ", "Primaire - UC / UVC"])
        case "code":
            return st.sampled_from(words)
        case "codes":
            return st.lists(st.sampled_from(words), min_size=1, max_size=3)
        case "markets":
            return st.lists(
                st.sampled_from(["FR", "de", "UK", "us_ca", "US CA ", "US-ZZ", "br", "CH"]), min_size=1, max_size=4
            )
        case "gtin":
            return st.sampled_from(["4006381333931", "40170725", "614141007349", " 04006381333931 "])
        case "uuid":
            return st.sampled_from(ids[str(field.references)]).flatmap(lambda one: st.sampled_from([one, one.upper()]))
        case "ppm":
            return st.sampled_from([0, 12.5, 100, 100.01, 4000, "<100", "<50", " < 0.5 "])
        case _ if field.min_length:
            return TEXTS | st.sampled_from([" padded ", "\u00a0outside\u00a0", "n" * 500, "\u200bCafe\u0301\u00ad"])
        case _:
            return TEXTS | st.sampled_from(
                [" padded ", "a\u00adb\u200b", "Cafe\u0301", "007", "1e5", "TRUE", "=1+1", "-", "x" * 2000, "é" * 2000]
            )


def _wrong(field: Field) -> st.SearchStrategy[object]:
    match field.kind:
        case "number":
            return st.sampled_from([-0.01, -5] if field.maximum is None else [-1, 100.5])
        case "integer":
            return st.sampled_from([2**31, -(2**31) - 1, 2.5])
        case "code":
            return st.sampled_from(["unobtainium", "?"])
        case "codes":
            return st.sampled_from([["unobtainium"], [VOCABULARIES[field.vocabulary or ""][0], "unobtainium"]])
        case "markets":
            return st.sampled_from([["XX"], ["FR", "Atlantis", "F"], ["FR-TOOLONG"]])
        case "gtin":
            return st.sampled_from(["4006381333932", "12", "abc"])
        case "uuid":
            return st.sampled_from(["Evian", NOBODY[:-1]])
        case "ppm":
            return st.sampled_from([-1, "<101", "<-5"])
        case "truth":
            return st.nothing()
        case _ if field.name == "description":  # longer than a workbook's cell
            return st.nothing()
        case _:
            return st.sampled_from(["x" * ((field.max_length or 0) + 1), "a\x07b", "\x9b31m"])


def _entries(*, source: str | None) -> st.SearchStrategy[Record]:
    """Substance entries in the units of the columns; the status is any, so that some contradict their value."""

    def entry(name: str) -> st.SearchStrategy[Record | None]:
        fields = {"status": st.sampled_from(VOCABULARIES["substance_status"])}
        optional = {"value": st.sampled_from([0, 0.05, 24.9, 250, 100, 100.5, 5000])}
        held = st.fixed_dictionaries(fields, optional=optional)
        unit = {"unit": UNITS[name]} if UNITS[name] else {}
        return st.none() | held.map(
            lambda e: {**e, **(unit if "value" in e else {}), **({"source": source} if source else {})}
        )

    return st.fixed_dictionaries({}, optional={name: entry(name) for name in SUBSTANCES})


def _fields(
    draw: st.DrawFn, table: Mapping[str, Field], ids: Mapping[str, Sequence[str]], *, faulty: bool, most: int
) -> Record:
    """Some fields of a table, a few of them null, and where `faulty` some that cannot be held."""
    plain = [f for f in table.values() if f.kind not in ("substances", "components") and not f.required]
    record: Record = {}
    for field in draw(st.lists(st.sampled_from(plain), max_size=most, unique_by=lambda f: f.name)):
        values = _right(field, ids) | _wrong(field) if faulty else _right(field, ids)
        record[field.name] = draw(st.none() | values if draw(st.integers(0, 4)) == 0 else values)
    return record


@st.composite
def skus(draw: st.DrawFn, ids: Mapping[str, Sequence[str]], *, parts: bool) -> Record:
    """One SKU without its code, as a JSON body; with `parts` it may bring a component graph."""
    kind = draw(st.sampled_from(["right", "right", "faulty", "reference", "substances", "nameless part"]))
    record = {"name": draw(_right(SKU["name"], ids)), **_fields(draw, SKU, ids, faulty=kind == "faulty", most=9)}
    if kind == "faulty" and draw(st.integers(0, 5)) == 0:
        record["name"] = draw(st.sampled_from([None, "n" * 501]))
    if kind == "reference":
        record["packing_site_id"] = NOBODY
    if kind == "substances":
        record["substances"] = draw(_entries(source=record.get("substances_source")))
    if parts and kind == "nameless part":  # by itself: a file's reader finds it before what only a record shows
        return {**record, "food_contact": False, "components": [{"component_type": "cap", "weight_g": 1}]}
    if draw(st.integers(0, 3)) == 0:  # where the law looks
        record |= {"food_contact": True, "markets": ["FR"], "pfas_intentional": draw(st.booleans())}
    if parts and draw(st.booleans()):
        record["components"] = draw(st.lists(components(ids, faulty=kind == "faulty"), min_size=1, max_size=4))
    return record


@st.composite
def components(draw: st.DrawFn, ids: Mapping[str, Sequence[str]], *, faulty: bool) -> Record:
    """One line of a graph."""
    line = _fields(draw, COMPONENT, ids, faulty=faulty, most=6)
    line["component_type"] = draw(_right(COMPONENT["component_type"], ids))
    if line.get("component_id") is None:
        line["material_family"] = draw(_right(COMPONENT["material_family"], ids))
    if draw(st.integers(0, 3)) == 0:
        line["substances"] = draw(_entries(source=None))
    return line


def table(records: Sequence[Record], columns: Sequence[str], cell: Callable[[object], object]) -> Table:
    """Records as a header and rows: an omitted field is an empty cell, null the word."""
    flat = [_flat(record) for record in records]
    return [list(columns), *([cell(record[n]) if n in record else None for n in columns] for record in flat)]


def _flat(record: Record) -> Record:
    """A record with its substance entries in their columns."""
    flat = {name: value for name, value in record.items() if name not in ("substances", "components")}
    for name, entry in (record.get("substances") or {}).items():
        parts = ("status", "value")
        flat |= (
            {f"{name}_{part}": None for part in parts}
            if entry is None
            else {f"{name}_{part}": entry[part] for part in parts if part in entry}
        )
    return flat


def workbook_cell(value: object) -> object:
    """A value as a cell of a workbook: numbers and truths are cells of their type."""
    if value is None:
        return "null"
    if isinstance(value, list):
        return "; ".join(value)
    return re.sub(r"^([=+\-@])", r"'\1", value) if isinstance(value, str) else value


def text_cell(value: object) -> str:
    """A value as the text of a CSV file."""
    cell = workbook_cell(value)
    return str(cell).lower() if isinstance(cell, bool) else str(cell)


def column_of(path: str | None) -> str | None:
    """The import column that a field path of a JSON body stands for."""
    bare = re.sub(r"^components\[\d+\]\.", "", path or "")
    substance = re.match(r"substances\.(\w+)(?:\.(value))?", bare)
    return f"{substance[1]}_{substance[2] or 'status'}" if substance else bare.split("[")[0] or None


def replaced(value: Any, names: Mapping[str, str]) -> Any:
    """The value with ids in it exchanged, by their lower-case form."""
    if isinstance(value, dict):
        return {key: replaced(one, names) for key, one in value.items() if key != "id"}
    if isinstance(value, list):
        return [replaced(one, names) for one in value]
    if isinstance(value, UUID):
        value = str(value)
    if isinstance(value, str) and value.lower() in names:
        found = names[value.lower()]
        return found.upper() if value.isupper() else found
    return value
