"""Whatever is there and empty can be typed: any columns of any table, in every language, with any cells filled.

An import of such a file goes on in `tests/pipelines/test_empty_tables.py`.
"""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from pipelines.reading.grid import ReadingRefused, Table, fields_of
from schemas import contracts, words
from schemas.messages import LANGUAGES, word
from services.imports.workbook import columns
from tests.drawing import examples
from tests.pipelines.reading.writing import delimited, read, workbook

Rows = Sequence[Sequence[object]]
HEADERS = {
    table: [
        row["header"]
        for row in words.table_rows("headers.csv")
        if row["table"] == table and row["field"] != "annual_volume"
    ]
    for table in ("sku", "component", "part", "spare")
}
GROUPED = [
    "Glas",
    "Weight plastic (g)",
    "Packaging 1 - Material",
    "Packaging 1 - Weight (g)",
    "Packaging 2 - Type",
    "Poids 2",
]
VOLUMES = ["annual_volume_fr", "annual_volume_de_2026", "annual_volume_gb_2026_h1", "Jahresmenge DE"]
CELLS = [
    None,
    None,
    None,
    "",
    " ",
    "A-1",
    "A-2",
    "1",
    "1,5",
    "null",
    "Total",
    "EXAMPLE-001",
    "body",
    "plastic",
    "kg",
    "x",
    "#N/A",
    "n/a",
]


def headers(table: Table, lang: str) -> list[str]:
    """The headers of the template's sheet of a table."""
    return [column.header for column in columns(table, lang)]


def needed(table: Table, lang: str) -> list[str]:
    """Those of the columns without which there is no table."""
    keys = ("sku_code", "name") if table == "sku" else ("sku_code", "component_type")
    return [column.header for column in columns(table, lang) if column.name in keys]


@st.composite
def tables(draw: st.DrawFn, table: Table) -> Rows:
    """A header with the columns that are needed, in one language, and any others; up to three lines below it."""
    lang = draw(st.sampled_from(LANGUAGES))
    more = headers(table, lang) + [*fields_of(table)] + HEADERS[table]
    if table == "sku":
        more += HEADERS["part"] + HEADERS["spare"] + GROUPED + VOLUMES
    own = ["sku_code", "name" if table == "sku" else "component_type"]
    first = needed(table, lang) if draw(st.booleans()) else own
    header = [*first, *draw(st.lists(st.sampled_from(more), max_size=6, unique=True))]
    row = st.lists(st.sampled_from(CELLS), min_size=len(header), max_size=len(header))
    return [header, *draw(st.lists(row, max_size=3))]


def typed(data: bytes) -> None:
    """Refused as a whole, or typed, with every contract kept."""
    try:
        upload, rows = read(data)
    except ReadingRefused:
        return
    for table in (upload.table, upload.components):
        if table is not None:
            contracts.parsed_table(tuple(table.columns)).validate(table)
    contracts.typed_rows(tuple(rows.values.columns)).validate(rows.values)


@examples(150)
@given(tables("sku"), tables("component"), st.sampled_from(LANGUAGES))
def test_a_workbook_of_any_columns_and_cells_is_typed(
    main: Sequence[Sequence[object]], parts: Sequence[Sequence[object]], lang: str
) -> None:
    typed(workbook({"SKU": main, word("sheet", "components", lang): parts}))


@examples(150)
@given(tables("sku"))
def test_a_text_of_any_columns_and_cells_is_typed(main: Rows) -> None:
    typed(delimited(main))
