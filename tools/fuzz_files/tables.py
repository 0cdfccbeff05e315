"""Makes the table of a seed, always the same one: a portfolio that somebody has cut, emptied, doubled or put together.

The bytes are those of a well-formed CSV or workbook; what is odd is the table in it. Damaged files are made by
`tools.fuzz_files.mutated`.
"""

import csv
import io
import random
from collections.abc import Callable, Sequence
from datetime import date, datetime
from typing import Final, TypeAlias

import xlsxwriter

Cell: TypeAlias = str | int | float | bool | date | None
Table: TypeAlias = list[list[Cell]]
Maker: TypeAlias = Callable[[random.Random], Cell]

_CODES: Final = tuple(f"F-{number}" for number in range(12))


def _one_of(*values: Cell) -> Maker:
    return lambda rng: rng.choice(values)


_ITEM: Final[dict[tuple[str, ...], Maker]] = {
    ("name", "Bezeichnung", "Désignation"): _one_of("Jar", "Bottle 1 l", "Box", "Dose"),
    ("description", "Beschreibung"): _one_of("blue", "for export", None),
    ("material", "Material", "Matériau"): _one_of("glass", "plastic", "Papier", "Weißblech", "metal"),
    ("material_subtype", "Materialdetail"): _one_of("PET", "HDPE", "PTE", "clear glass", None),
    ("weight_grams", "Verpackungsgewicht (g)", "weight (kg)", "packaging_weight_g"): _one_of(12.5, "12,5", 30, "1.234"),
    ("recycled_content_percent",): _one_of(0, 30, "45,5", "100 %"),
    ("markets", "Märkte"): _one_of("FR", "DE;NL", "NA", "GB", None),
    ("food_contact", "Lebensmittelkontakt"): _one_of("yes", "nein", True, False, None),
    ("pfas_status",): _one_of("absent", "below_limit", "unknown", None),
    ("pfas_value",): _one_of(12, "<5", None),
    ("gtin", "EAN"): _one_of("4006381333931", 4006381333931, None),
    ("packaging_level",): _one_of("primary", "transport", None),
    ("packaging_format",): _one_of("bottle", "tray", "box", None),
    ("annual_volume_fr_2026",): _one_of(1000, "2.000", None),
    ("annual_volume_de",): _one_of(1, 10**9, None),
    ("annual_volume_gb_2026_h1",): _one_of(5, None),
    ("weight_unit", "Einheit"): _one_of("g", "kg", None),
    ("unit_count",): _one_of(1, 12, None),
}
_PART: Final[dict[tuple[str, ...], Maker]] = {
    ("component_type", "Component", "Komponente", "Élément"): _one_of(
        "body", "cap", "Deckel", "label", "Teil 17", None
    ),
    ("material_family", "Material"): _one_of("plastic", "glass", "paper", None),
    ("polymer_or_grade",): _one_of("PET", "PP", "PTE", None),
    ("component_weight_g", "weight_g", "weight of part (kg)"): _one_of(1, 2.5, "3,5", 0, None),
    ("colour", "Farbe"): _one_of("clear", "black", "blau", None),
    ("component_pfas_value",): _one_of(5, None),
    ("component_id",): _one_of(None, "00000000-0000-4000-8000-000000000000"),
    ("position_in_sku",): _one_of(1, 2, None),
}
_GROUPED: Final = ("material", "weight_g", "shape", "type", "colour", "recycled_content_percent")
_MATERIALS: Final = ("Glas (g)", "plastic_weight_g", "Poids papier (g)", "Weißblech (kg)", "other_weight_g")
_ODD: Final[tuple[Cell, ...]] = (
    *("", " ", "null", "NULL", "nan", "None", "NaT", r"\N", "<NA>", "(null)", "undefined", "[null]", "#N/A", "#REF!"),
    *("-", "k.A.", "n/a", "?", "0", "-1", "1e300", "1E+12", "NaN", "inf", "∞", "1,234", "1.234", "12..5", "84-86"),
    *("12 stone", "12 kg", "'0815", '"D-5"', "'D-5'", " D-5", "=1+1", "@x", "{a,b}", "[]", "{}", '{"a": 1}', "a;b"),
    *("Total", "Summe:", "Example", "EXAMPLE-001", "Prepared by", "sku_code", "name", "x" * 300, "y" * 3000),
    *("\u200b", "\u202eabc", "\U0001f9f4", "a\nb", "\x07", "é" * 5, "İ", "ß", "5.0", "00012", "1/2", "03/04/2026"),
    *(0, -1, 1.5, 1e300, 10**15, 0.1 + 0.2, True, False, None, date(2026, 3, 4)),
)
_SAME: Final = 0.6


def table(seed: int) -> tuple[str, bytes]:
    """Return the name and bytes of the file of a seed."""
    rng = random.Random(seed)
    made = [_base(rng)]
    if rng.random() < 0.4:  # a sheet of components, which may know other SKUs than the first
        made.append(_parts(rng))
    if rng.random() < 0.1:
        made.append(_base(rng))
    for _ in range(rng.choice((1, 1, 2, 3, 5))):
        at = rng.randrange(len(made))
        made[at] = rng.choice(_DAMAGES)(rng, made[at])
    if len(made) == 1 and rng.random() < 0.6:
        return f"{seed}.csv", _csv(rng, made[0])
    rng.shuffle(made) if rng.random() < 0.2 else None
    names = rng.choice((("Items", "Components", "More"), ("skus", "components", "x"), ("Tabelle1", "Teile", "T3")))
    return f"{seed}.xlsx", _workbook(dict(zip(names, made, strict=False)))


def mapping(seed: int) -> dict[str, object] | None:
    """Return what the caller says of the table of a seed: mostly nothing, else columns, constants and values."""
    rng = random.Random(f"mapping {seed}")
    if rng.random() < 0.8:
        return None
    fields = [names[0] for names in (*_ITEM, *_PART)]
    said: dict[str, object] = {}
    if rng.random() < 0.7:
        letters = rng.sample("ABCDEFG", rng.randint(1, 3))
        said["columns"] = {rng.choice(["sku_code", *fields]): rng.choice([at, at, at, None]) for at in letters}
    if rng.random() < 0.3:
        said["constants"] = {rng.choice(fields): rng.choice(("g", "plastic", "body", "12", "FR"))}
    if rng.random() < 0.2:
        said["values"] = {rng.choice(fields): {"x": None, "Jar": "null", "12": 3}}
    if rng.random() < 0.2:
        said["layout"] = rng.choice(("rows", "long", "wide", "materials"))
    if rng.random() < 0.2:
        said["decimal"] = rng.choice((",", "."))
    if rng.random() < 0.1:
        said["header_row"] = rng.choice((1, 2))
    return said


def _base(rng: random.Random) -> Table:
    """Return a table of SKUs, with their parts in lines, side by side, in columns of materials, or nowhere."""
    header, makers = _columns(rng, _ITEM, rng.randint(1, 7), first=("sku_code", "Artikelnummer", "Code article"))
    match rng.randrange(6):
        case 0 | 1:
            more, of_parts = _columns(rng, _PART, rng.randint(1, 5))
        case 2:
            fields = rng.sample(_GROUPED, rng.randint(1, 3))
            more = [f"packagings_{number}_{name}" for number in range(1, rng.randint(2, 4)) for name in fields]
            of_parts = [rng.choice([*_ITEM.values(), *_PART.values()]) for _ in more]
        case 3:
            more = rng.sample(_MATERIALS, rng.randint(1, 4))
            of_parts = [_one_of(1, "2,5", 0, None) for _ in more]
        case _:
            more, of_parts = [], []
    return _filled(rng, [*header, *more], [*makers, *of_parts], is_repeated=bool(of_parts))


def _parts(rng: random.Random) -> Table:
    header, makers = _columns(rng, _PART, rng.randint(1, 5), first=("sku_code", "Artikelnummer"))
    return _filled(rng, header, makers, is_repeated=True)


def _columns(
    rng: random.Random, of: dict[tuple[str, ...], Maker], count: int, first: Sequence[str] = ()
) -> tuple[list[Cell], list[Maker]]:
    chosen = rng.sample(sorted(of), min(count, len(of)))
    if of is _ITEM and rng.random() < 0.95:
        chosen = [next(iter(of)), *(names for names in chosen if names != next(iter(of)))]
    makers = [of[names] for names in chosen]
    header: list[Cell] = [rng.choice(names) if rng.random() > _SAME else names[0] for names in chosen]
    if not first:
        return header, makers
    return [rng.choice(first) if rng.random() > _SAME else first[0], *header], [_one_of(*_CODES), *makers]


def _filled(rng: random.Random, header: list[Cell], makers: list[Maker], *, is_repeated: bool) -> Table:
    codes = rng.sample(_CODES, rng.randint(1, 6))
    if is_repeated:
        codes = [code for code in codes for _ in range(rng.choice((1, 1, 2, 3)))]
    return [header, *([code, *(make(rng) for make in makers[1:])] for code in codes)]


def _without_column(rng: random.Random, rows: Table) -> Table:
    at = rng.randrange(_width(rows))
    return [row[:at] + row[at + 1 :] for row in rows]


def _with_empty_column(rng: random.Random, rows: Table) -> Table:
    at = rng.randrange(_width(rows))
    return [rows[0], *(_replaced(row, at, None) for row in rows[1:])]


def _with_double_column(rng: random.Random, rows: Table) -> Table:
    at, to = rng.randrange(_width(rows)), rng.randrange(_width(rows) + 1)
    return [[*row[:to], *row[at : at + 1], *row[to:]] for row in rows]


def _with_odd_column(rng: random.Random, rows: Table) -> Table:
    at, odd = rng.randrange(_width(rows)), rng.choice(_ODD)
    return [rows[0], *(_replaced(row, at, odd) for row in rows[1:])]


def _with_odd_cells(rng: random.Random, rows: Table) -> Table:
    for _ in range(rng.randint(1, 8)):
        at = rng.randrange(len(rows))
        rows = [*rows[:at], _replaced(rows[at], rng.randrange(_width(rows)), rng.choice(_ODD)), *rows[at + 1 :]]
    return rows


def _with_other_codes(rng: random.Random, rows: Table) -> Table:
    return [rows[0], *(_replaced(row, 0, rng.choice(("G-1", "G-2", None, 7, "f-1", "F-1 "))) for row in rows[1:])]


def _with_header_again(rng: random.Random, rows: Table) -> Table:
    at = rng.randrange(1, len(rows) + 1)
    return [*rows[:at], rows[0], *rows[at:]]


def _with_header_in_another_order(rng: random.Random, rows: Table) -> Table:
    order = rng.sample(range(_width(rows)), _width(rows))
    at = rng.randrange(1, len(rows) + 1)
    below = [[row[place] if place < len(row) else None for place in order] for row in (rows[0], *rows[at:])]
    return [*rows[:at], *below]


def _with_another_table(rng: random.Random, rows: Table) -> Table:
    gap: Table = [[None]] * rng.randrange(3)
    return [*rows, *gap, *_base(rng)]


def _with_rows_again(rng: random.Random, rows: Table) -> Table:
    return [*rows, *rng.choices(rows, k=rng.randint(1, 3))]


def _without_rows(rng: random.Random, rows: Table) -> Table:
    return rows[: rng.randint(1, max(1, len(rows) - 1))]


def _with_ragged_rows(rng: random.Random, rows: Table) -> Table:
    return [[*row, *rng.choices(_ODD, k=rng.choice((0, 0, 1)))][: rng.choice((99, 99, 99, 2, 1))] for row in rows]


def _with_title(rng: random.Random, rows: Table) -> Table:
    title: Table = [[rng.choice(("Portfolio 2026", "Packaging of our items", "x"))], [None]]
    return [*title[: rng.randint(1, 2)], *rows]


def _turned(rng: random.Random, rows: Table) -> Table:
    width = _width(rows)
    return [[row[at] if at < len(row) else None for row in rows] for at in range(width)] if rng.random() < 0.2 else rows


_DAMAGES: Final[tuple[Callable[[random.Random, Table], Table], ...]] = (
    _without_column,
    _with_empty_column,
    _with_empty_column,
    _with_double_column,
    _with_odd_column,
    _with_odd_column,
    _with_odd_cells,
    _with_odd_cells,
    _with_other_codes,
    _with_header_again,
    _with_header_in_another_order,
    _with_another_table,
    _with_rows_again,
    _without_rows,
    _with_ragged_rows,
    _with_title,
    _turned,
)


def _width(rows: Table) -> int:
    return max((len(row) for row in rows), default=1) or 1


def _replaced(row: list[Cell], at: int, cell: Cell) -> list[Cell]:
    return [*row[:at], cell, *row[at + 1 :]] if at < len(row) else row


def _csv(rng: random.Random, rows: Table) -> bytes:
    out = io.StringIO()
    delimiter = rng.choice(",;\t")
    if rng.random() < 0.3:
        csv.writer(out, delimiter=delimiter, quoting=csv.QUOTE_ALL).writerows(rows)
    else:
        csv.writer(out, delimiter=delimiter).writerows(rows)
    return out.getvalue().encode(rng.choice(("utf-8", "utf-8", "utf-8-sig", "utf-16")))


def _workbook(sheets: dict[str, Table]) -> bytes:
    data = io.BytesIO()
    with xlsxwriter.Workbook(data, {"in_memory": True, "nan_inf_to_errors": True}) as book:
        day = book.add_format({"num_format": "yyyy-mm-dd"})
        for name, rows in sheets.items():
            sheet = book.add_worksheet(name)
            for number, row in enumerate(rows):
                for at, cell in enumerate(row):
                    if isinstance(cell, date):
                        sheet.write_datetime(number, at, datetime(cell.year, cell.month, cell.day), day)  # noqa: DTZ001
                    else:
                        sheet.write(number, at, cell)
    return data.getvalue()
