"""Any table of valid records, however it is written, reads back to the same records; no bytes raise but a refusal."""

import contextlib
import json
import random
import re
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stdnum import ean

from pipelines.reading.column_values import codes_in
from pipelines.reading.grid import ReadingRefused
from pipelines.reading.lines import NO_CODE
from schemas import words
from schemas.fields import SKU, Field
from schemas.vocabularies import VOCABULARIES
from tests.drawing import examples
from tests.pipelines.reading.writing import delimited, read, values, workbook

LETTERS = "abcXYZ éèüßœ0123456789,;.|\t\"'-_/()&<>%€"
SHORT = st.text(st.sampled_from(LETTERS), min_size=1, max_size=12)
OF_PACKAGING = ("pack", "emballage", "vide", "empty", "leer", "tar")
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "cp1252")


def clean(text: str) -> bool:
    """A text that a table can hold as it is: not empty, not the clearing word, no escape mark."""
    return bool(text.strip()) and text.strip().lower() != "null" and text[0] not in "'=#" and text == text.strip()


def value_of(field: Field) -> st.SearchStrategy[object]:
    match field.kind:
        case "number" if field.unit == "percent":  # shares of at most 1 may be fractions: meaning/
            return st.one_of(st.just(0.0), st.integers(101, 9_999).map(lambda n: n / 100))
        case "number":
            return st.integers(0, 9_999).map(lambda n: n / 100)
        case "integer":
            return st.integers(0, 2_000_000)
        case "truth":
            return st.booleans()
        case "code":
            return st.sampled_from(VOCABULARIES[field.vocabulary or ""])
        case "codes":
            return st.lists(st.sampled_from(VOCABULARIES[field.vocabulary or ""]), min_size=1, max_size=3, unique=True)
        case "markets":
            return st.lists(st.sampled_from(["FR", "DE", "GB", "US-CA", "IT"]), min_size=1, max_size=4, unique=True)
        case "gtin":
            return st.integers(10**11, 10**12 - 1).map(lambda n: f"{n}{ean.calc_check_digit(str(n))}")
        case "uuid":
            return st.uuids().map(str)
        case "ppm":
            return st.integers(0, 100).map(lambda n: f"<{n}")
        case _:
            return SHORT.filter(clean)


FIELDS = [
    field for field in SKU.values() if field.kind not in ("substances", "components") and field.name != "sku_code"
]
OPTIONAL = [field for field in FIELDS if field.name != "name"]


@dataclass(frozen=True)
class Case:
    """A table of records and a way to write it."""

    fields: list[Field]
    records: list[dict[str, object]]
    lang: str
    mark: str
    delimiter: str
    encoding: str
    titles: int
    numbers: bool


def is_code(text: str) -> bool:
    """Whether a text is one code: no footnote's mark, no list of codes, no zeros alone, which stand for none."""
    return NO_CODE.search(text) is None and len(codes_in(text)) < 2 and not re.fullmatch(r"\s*0{6,}\s*", text)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    chosen = draw(st.lists(st.sampled_from(OPTIONAL), max_size=6, unique_by=lambda field: field.name))
    fields = draw(st.permutations([SKU["sku_code"], SKU["name"], *chosen]))
    texts = SHORT.filter(clean).filter(is_code)
    codes = draw(st.lists(texts, min_size=1, max_size=5, unique=True))
    records = []
    for code in codes:
        record: dict[str, object] = {"sku_code": code, "name": draw(SHORT.filter(clean))}
        for field in chosen:
            if draw(st.booleans()):
                record[field.name] = draw(value_of(field))
        records.append(record)
    return Case(
        list(fields),
        records,
        draw(st.sampled_from(["own", "en", "fr", "de"])),
        draw(st.sampled_from([".", ","])),
        draw(st.sampled_from([",", ";", "\t", "|"])),
        draw(st.sampled_from(ENCODINGS)),
        draw(st.integers(0, 3)),
        draw(st.booleans()),
    )


def header(field: Field, lang: str, at: int) -> str:
    if lang == "own":
        return field.name
    listed = [
        row["header"]
        for row in words.table_rows("headers.csv")
        if (row["table"], row["field"], row["lang"]) == ("sku", field.name, lang)
    ]
    if field.name == "weight_grams":  # a weight that is not said to be the packaging's is asked about: test_asked.py
        listed = [text for text in listed if any(word in text.lower() for word in OF_PACKAGING)]
    return listed[at % len(listed)]


def cell(value: object, mark: str) -> str:
    if isinstance(value, bool):
        return "oui" if value else "non"
    if isinstance(value, float):
        return f"{value:.2f}".replace(".", mark)
    return "; ".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)


def table(case: Case) -> list[list[object]]:
    head = [header(field, case.lang, at) for at, field in enumerate(case.fields)]
    body = [[cell(record.get(field.name), case.mark) for field in case.fields] for record in case.records]
    return [*[["Portfolio"] + [""] * (len(head) - 1)] * case.titles, head, *body]


def saying(encoding: str) -> dict[str, object] | None:
    """The mapping of a text of one byte a letter, whose encoding nobody can tell by any letters (decisions §13)."""
    return {"encoding": encoding} if encoding == "cp1252" else None


def expected(case: Case) -> list[dict[str, object]]:
    def stored(value: object) -> object:
        return "{" + ",".join(value) + "}" if isinstance(value, list) else value

    return [{field.name: stored(record.get(field.name)) for field in case.fields} for record in case.records]


@examples(150)
@given(cases())
def test_csv(case: Case) -> None:
    data = delimited(table(case), case.delimiter, case.encoding)
    assert values(data, saying(case.encoding)) == expected(case)


@examples(60)
@given(cases())
def test_workbook(case: Case) -> None:
    cells = table(case)
    if case.numbers:
        first = case.titles + 1
        for row, record in zip(cells[first:], case.records, strict=True):
            for at, field in enumerate(case.fields):
                if isinstance(record.get(field.name), int | float):
                    row[at] = record[field.name]
    assert values(workbook({"Read me": [["About"]], "SKUs": cells})) == expected(case)


SEEDS = [
    delimited([["sku_code", "name", "weight_grams", "markets"], ["A", 'é "x"', "1,5", "FR,DE"], ["B", "b", "2", "GB"]]),
    delimited([["sku_code", "name"], ["A", "ü"]], ";", "utf-16"),
    workbook(
        {"SKUs": [["sku_code", "name"], ["A", "a"]], "components": [["sku_code", "component_type"], ["A", "cap"]]}
    ),
]


@pytest.mark.parametrize("seed", range(30))
def test_damaged_bytes_are_read_or_refused(seed: int) -> None:
    chance = random.Random(seed)
    for original in SEEDS:
        for _ in range(10):
            data = bytearray(original)
            for _ in range(chance.randint(1, 8)):
                at = chance.randrange(len(data))
                match chance.randrange(4):
                    case 0:
                        data[at] = chance.randrange(256)
                    case 1:
                        del data[at : at + chance.randint(1, 20)]
                    case 2:
                        data[at:at] = bytes(chance.choices(b'",;\n\r\x00\xff<>&=', k=3))
                    case _:
                        data = data[: max(at, 1)] + data[at:]
                if not data:
                    break
            with contextlib.suppress(ReadingRefused):
                read(bytes(data))


PART_FIELDS = ("component_type", "material_family", "polymer_or_grade", "weight_g", "recycled_content_percent")
GRADES = st.sampled_from(["PET", "HDPE", "GL70", "FE 40"])


@st.composite
def parts(draw: st.DrawFn) -> dict[str, object]:
    found: dict[str, object] = {
        "component_type": draw(st.sampled_from(VOCABULARIES["component_type"])),
        "material_family": draw(st.sampled_from(VOCABULARIES["material_family"])),
    }
    if draw(st.booleans()):
        found["polymer_or_grade"] = draw(GRADES)
    if draw(st.booleans()):
        found["weight_g"] = draw(st.integers(1, 99_999)) / 100
    if draw(st.booleans()):
        found["recycled_content_percent"] = float(draw(st.integers(2, 100)))
    return found


Graph = list[dict[str, object]]


Record = tuple[dict[str, object], Graph]
OWN = ("sku_code", "name", "packaging_level", "weight_grams", "recycled_content_percent")


def as_sheets(skus: list[Record], mark: str) -> dict[str, list[list[object]]]:
    lines = [[fields["sku_code"], *_cells(part, mark)] for fields, graph in skus for part in graph]
    own = [[cell(fields.get(name), mark) for name in OWN] for fields, _ in skus]
    return {"SKUs": [[*OWN], *own], "components": [["sku_code", *PART_FIELDS], *lines]}


def as_long(skus: list[Record], mark: str, *, merged: bool) -> list[list[object]]:
    head = [f"component_{name}" if name in ("weight_g", "recycled_content_percent") else name for name in PART_FIELDS]
    table: list[list[object]] = [[*OWN, *head]]
    for fields, graph in skus:
        own = [cell(fields.get(name), mark) for name in OWN]
        for number, part in enumerate(graph or [{}]):
            key = own if not number else [*([""] * 2 if merged else own[:2]), *[""] * 3]
            table.append([*key, *_cells(part, mark)])
    return table


def as_wide(skus: list[Record], mark: str, group: str) -> list[list[object]]:
    width = max(len(graph) for _, graph in skus)
    head = [f"{group} {at + 1} - {name}" for at in range(width) for name in PART_FIELDS]
    rows: list[list[object]] = []
    for fields, graph in skus:
        own = [cell(fields.get(name), mark) for name in OWN]
        padded = [*graph, *[{}] * (width - len(graph))]
        rows.append([*own, *[text for part in padded for text in _cells(part, mark)]])
    return [[*OWN, *head], *rows]


def _cells(part: dict[str, object], mark: str) -> list[object]:
    return [cell(part.get(name), mark) for name in PART_FIELDS]


@examples(40)
@given(
    st.lists(st.lists(st.integers(0, 99_999), min_size=4, max_size=4), min_size=1, max_size=5),
    st.sampled_from(
        [
            ("Glas", "Weißblech", "Papier", "Kunststoff"),
            ("Poids verre (g)", "Poids acier (g)", "Poids papier (g)", "Poids plastique (g)"),
            ("glass weight", "steel weight", "paper weight", "plastic weight"),
        ]
    ),
    st.sampled_from([",", "."]),
)
def test_weights_of_materials_read_back_to_the_same_weights(
    hundredths: list[list[int]], head: tuple[str, ...], mark: str
) -> None:
    rows = [[f"S{at}", "n", *[cell(of / 100, mark) for of in weights]] for at, weights in enumerate(hundredths)]
    table = [["sku_code", "name", *head], *rows]
    _, typed = read(delimited(table, ";"))
    assert typed.errors.rows() == []
    found = [
        [] if text is None else [part["weight_g"] for part in json.loads(text)] for text in typed.values["components"]
    ]
    assert found == [[of / 100 for of in weights if of] for weights in hundredths]


@st.composite
def portfolios(draw: st.DrawFn) -> list[Record]:
    """SKUs with fields of their own, some of which components have too, and graphs, some of which are empty."""
    found = []
    for at in range(draw(st.integers(1, 4))):
        own: dict[str, object] = {"sku_code": f"S{at}", "name": f"n{at}"}
        if draw(st.booleans()):
            own["packaging_level"] = draw(st.sampled_from(VOCABULARIES["packaging_level"]))
        for name in ("weight_grams", "recycled_content_percent"):
            if draw(st.booleans()):
                own[name] = draw(st.integers(101, 9_999)) / 100
        found.append((own, draw(st.lists(parts(), max_size=3))))
    return found


def records_of(data: bytes, mapping: dict[str, object] | None = None) -> list[Record]:
    """What the records of a file hold: fields that are given, and the components."""
    _, rows = read(data, mapping)
    assert rows.errors.rows() == []
    return [
        ({name: row[name] for name in OWN if row[name] is not None}, json.loads(row.get("components") or "[]"))
        for row in rows.values.to_dicts()
    ]


def in_any_order(records: list[Record]) -> list[tuple[dict[str, object], list[list[tuple[str, object]]]]]:
    """Records without the order of groups, which is that of their columns."""
    return [(own, sorted((sorted(part.items()) for part in graph), key=str)) for own, graph in records]


@pytest.mark.long
@examples(50)
@given(
    portfolios(),
    st.sampled_from([",", "."]),
    st.sampled_from([",", ";", "\t", "|"]),
    st.sampled_from(ENCODINGS),
    st.data(),
)
def test_every_layout_holds_the_same_records(
    skus: list[Record], mark: str, delimiter: str, encoding: str, data: st.DataObject
) -> None:
    group = data.draw(st.sampled_from(["packagings", "Emballage", "Verpackung", "component"]))
    assert records_of(workbook(as_sheets(skus, mark))) == skus
    for table in (as_long(skus, mark, merged=False), as_long(skus, mark, merged=True), as_wide(skus, mark, group)):
        order = data.draw(st.permutations(range(2, len(table[0]))))
        shuffled = [[row[at] for at in (0, 1, *order)] for row in table]
        assert records_of(delimited(table, delimiter, encoding), saying(encoding)) == skus
        assert in_any_order(records_of(workbook({"Liste": shuffled}))) == in_any_order(skus)
