"""Lines that are no data: left out and listed with their reason; what only looks odd stays a row."""

import io

import pytest
import xlsxwriter

from pipelines.reading import lines
from pipelines.reading.questions import answer_with
from tests.pipelines.reading.writing import delimited, read, workbook

HEAD = ["sku_code", "name", "weight_grams", "material"]
DATA = ["A-1", "Bottle", "12.5", "glass"]


def left_out(*rows: list[str], head: list[str] = HEAD) -> list[tuple[int, str]]:
    """The lines that are skipped, which must be the same in both formats, and in no count."""
    found = []
    for data in (delimited([head, *rows]), workbook({"SKUs": [head, *rows]})):
        upload, typed = read(data)
        found.append([(line["line"], line["reason"]) for line in upload.source["skipped"]])
        assert upload.rows == typed.values.height + typed.rejected == len(rows) - len(found[-1])
    assert found[0] == found[1]
    return found[0]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (["EXAMPLE-001", "Bottle 500 ml", "12.5", "glass"], lines.EXAMPLE),
        (["Exemple :", "Bouteille", "12,5", "verre"], lines.EXAMPLE),
        (["A-9", "Beispiel: Flasche", "12", "Glas"], lines.EXAMPLE),
        (["A-9", "Bottle (example)", "12", "glass"], lines.EXAMPLE),
        (["M", "M", "K", "K"], lines.HELP), (["Pflichtfeld", "Pflichtfeld", "Kann", "Kann"], lines.HELP),
        (["Text (255)", "Text (500)", "Zahl", "Auswahl"], lines.HELP),
        (["Mandatory. Your own code.", "Mandatory. What it is.", "Optional: in grams", "Optional"], lines.HELP),
        (["sku_code", "name", "weight_grams", "material"], lines.REPEATED),
        (["NTG-P-001", "NTG-P-002", "NTG-P-049", "NTG-P-050"], lines.HELP),
        (["The code that your own system gives to the packaging", "its name", "without product", "of the list"],
         lines.HELP),
        (["Total", "", "125.5", ""], lines.TOTAL), (["", "Summe:", "125.5", ""], lines.TOTAL),
        (["Total général", "", "125.5", ""], lines.TOTAL), (["TOTAL 2026", "3 SKUs total", "1", ""], None),
        (["Date: 12.03.2026", "", "", ""], lines.NOTE), (["", "Unterschrift", "", ""], lines.NOTE),
        (["We confirm that all of this is right", "", "", ""], lines.NOTE),
        (["Average", "", "7.5", ""], lines.TOTAL), (["Durchschnitt", "Mittelwert", "7,5", ""], lines.TOTAL),
        (["", "Moyenne :", "7,5", ""], lines.TOTAL), (["AVERAGE", "Average Joe's jar", "7.5", "glass"], None),
        (["TOTAL", "Total Quartz oil can", "125.5", "metal"], None),
        (["A-9", "Example Street bottle", "1", "glass"], None),
        (["EXA-1", "Bottle", "1", "glass"], None), (["M", "Bottle M", "1", "glass"], None),
        (["A-9", "Date: the fruit", "1", "glass"], None), (["A-9", "n", "heavy", "stone"], None),
    ],
)  # fmt: skip
def test_a_line_is_left_out_by_what_it_says(row: list[str], reason: str | None) -> None:
    assert left_out(row, DATA) == ([] if reason is None else [(2, reason)])


def test_help_is_only_looked_for_below_the_header_and_totals_everywhere() -> None:
    flags = ["M", "M", "K", "K"]
    assert left_out(flags, ["EXAMPLE-1", "e", "1", ""], DATA, ["Total", "", "9", ""], ["B", "b", "", ""]) == [
        (2, lines.HELP),
        (3, lines.EXAMPLE),
        (5, lines.TOTAL),
    ]
    assert left_out(DATA, ["B", "M", "K", "K"])[:1] == []


def test_the_first_column_may_say_it_although_no_field_is_read_from_it() -> None:
    head = ["", *HEAD]
    rows = [
        ["Description", "the code", "the name", "grams", "one of"],
        ["Exemple :", *DATA],
        ["", *DATA],
        ["Summe", "", "", "12.5", ""],
    ]
    assert left_out(*rows, head=head) == [(2, lines.HELP), (3, lines.EXAMPLE), (5, lines.TOTAL)]


def test_a_first_column_with_a_header_holds_values_and_no_words_for_lines() -> None:
    rows = [["C", *DATA], ["Text", "B", "b", "1", ""], ["Total", "T", "Quartz oil", "3", "metal"]]
    assert left_out(*rows, head=["Class", *HEAD]) == []


def test_no_more_lines_are_listed_than_a_person_reads() -> None:
    table = [HEAD, DATA, *[["Total", "", str(at), ""] for at in range(300)]]
    found = read(delimited(table))[0].source["skipped"]
    assert len(found) == 201
    assert found[-1]["reason"].startswith("and 99 more")


@pytest.mark.parametrize(
    "total",
    [
        ["Total", "2 items", "14.5", ""],
        ["Summe:", "2 Artikel", "14.5", ""],
        ["TOTAL", "all of them", "14.50", ""],
        ["Somme", "des articles", "14.5", "2"],
    ],
)
def test_a_line_whose_figure_is_the_sum_of_its_column_is_a_total(total: list[str]) -> None:
    rows = [["A-1", "Bottle", "12.5", ""], ["A-2", "Cap", "2", ""]]
    assert left_out(*rows, [*total[:3], ""]) == [(4, lines.TOTAL)]
    assert left_out(*rows, [total[0], total[1], "15", ""]) == []
    assert left_out(rows[0], [total[0], total[1], "12.5", ""]) == []
    again = [["B-1", "Jar", "3", ""], ["B-2", "Lid", "4", ""]]
    for figure in ("7", "21.5"):  # since the last total, or of all
        assert left_out(*rows, [*total[:3], ""], *again, [total[0], total[1], figure, ""]) == [
            (4, lines.TOTAL),
            (7, lines.TOTAL),
        ]


def test_every_figure_of_a_total_is_a_sum() -> None:
    head = ["sku_code", "name", "weight_grams", "annual_volume_fr"]
    rows = [["A-1", "Bottle", "12,5", "10"], ["A-2", "Cap", "2,0", "20"]]
    assert left_out(*rows, ["Total", "2 items", "14,5", "30"], head=head) == [(4, lines.TOTAL)]
    assert left_out(*rows, ["Total", "2 items", "14,5", "31"], head=head) == []


@pytest.mark.parametrize(
    "block",
    [
        [["Place, date:", "Signature:", "", ""]],
        [["Ort, Datum", "Unterschrift", "", ""], ["Berlin, 1.2.", "Eva", "", ""]],
        [["Fait à", "Paris", "", ""]],
        [["Lieu et date", "", "", ""], ["Lyon", "M. Dupont", "", ""]],
        [["Place, date: Paris, 1 February", "Jane Doe", "", ""]],
        [["Luogo / data", "Firma", "", ""]],
        [["Legend", "x = yes", "", ""]],
        [["Légende :", "x = oui", "", ""], ["", "o = non", "", ""]],
        [["Abkürzungen", "", "", ""], ["KST", "Kunststoff", "", ""]],
        [["Legenda", "x = tak", "", ""], ["n", "nie", "", ""]],
    ],
)
def test_a_signature_block_is_no_sku(block: list[list[str]]) -> None:
    assert left_out(DATA, *block) == [(at, lines.NOTE) for at in range(3, 3 + len(block))]
    # with a row below it only the titles are known for what they are
    assert left_out(DATA, *block, DATA)[:1] == [(3, lines.NOTE)]
    assert (2 + len(block), lines.NOTE) not in left_out(DATA, *block, DATA) or len(block) == 1


@pytest.mark.parametrize(
    "row",
    [
        ["an35", "an200", "n..6", "an..3"],
        ["an..35", "an..200", "n6,2", ""],
        ["M an35", "M/an200", "K n..6", "K a3"],
        ["AN 35", "AN 200", "N 6.2", "A 3"],
        ["", "an..70", "n..6", "a3"],
    ],
)
def test_formats_below_the_header_are_help(row: list[str]) -> None:
    assert left_out(["M", "M", "K", "K"], row, DATA) == [(2, lines.HELP), (3, lines.HELP)]
    assert left_out(DATA, ["AN35", "Bottle", "3", ""]) == []


def test_words_in_place_of_codes_at_the_end_are_asked_about() -> None:
    """A list of what words mean, below lines that all have a code with a digit and say more than a name."""
    rows, end = [DATA, ["A-2", "Cap", "2", "metal"]], [["x", "is yes", "", ""], ["o", "is no", "", ""]]
    for data in (delimited([HEAD, *rows, *end]), workbook({"SKUs": [HEAD, *rows, *end]})):
        upload, typed = read(data)
        [asked] = upload.source["asked"]
        assert (asked["kind"], asked["lines"], typed.values.height) == ("lines", "4-5", 2)
        assert read(data, mapping={"lines": {"4-5": "read"}})[1].values.height == 4
    for others in ([*rows, ["BOX", "Box", "3", "paper"]], [*rows, ["A-3", "Lid", "", ""]], rows[:1]):
        assert not read(delimited([HEAD, *others, *end]))[0].source["asked"], "other lines are no better"
    assert read(delimited([HEAD, *rows, ["BOX", "Box", "3", "paper"]]))[1].values.height == 3


def crossed_out(*lines: int) -> bytes:
    """A workbook of three SKUs in which each cell of these lines has a font that is crossed out."""
    buffer = io.BytesIO()
    with xlsxwriter.Workbook(buffer, {"in_memory": True}) as book:
        sheet, struck = book.add_worksheet("SKUs"), book.add_format({"font_strikeout": True})
        for at, row in enumerate([HEAD, DATA, ["A-2", "Jar", "30", "PP"], ["A-3", "Cup", "4", "PS"]]):
            for column, cell in enumerate(row):
                sheet.write(at, column, cell, struck if at + 1 in lines or (at == 1 and column == 1) else None)
    return buffer.getvalue()


def test_a_line_that_is_crossed_out_is_left_out_and_said() -> None:
    """A cell alone that is crossed out may be no value any more: its line is asked about, and a fault till then."""
    upload, typed = read(crossed_out(3))
    assert [(line["line"], line["reason"]) for line in upload.source["skipped"]] == [(3, lines.STRUCK)]
    [asked] = upload.source["asked"]
    assert (asked["kind"], asked["lines"], asked["answer"]) == ("lines", "2", {"lines": {"2": "skip"}})
    assert typed.errors.select("line", "sku_code", "code").rows() == [(2, "A-1", "invalid_format")]
    assert (upload.rows, typed.values["sku_code"].to_list()) == (2, ["A-3"])
    upload, typed = read(crossed_out(3), {"lines": {"2-3": "read"}})
    assert (upload.source["skipped"], typed.values["sku_code"].to_list()) == ([], ["A-1", "A-2", "A-3"])
    assert read(crossed_out(3), asked["answer"])[0].rows == 1


@pytest.mark.parametrize("between", [" / ", "; ", ", ", "\n", " + ", " und ", " bis ", " - ", "|"])
def test_a_cell_of_several_codes_is_asked_about(between: str) -> None:
    rows = [DATA, [f"A-100{between}A-101", "Cap", "2", "metal"], ["A-2", "Jar", "3", "glass"], ["B-7; B-8", *DATA[1:]]]
    upload, typed = read(workbook({"SKUs": [HEAD, *rows]}))
    [asked] = upload.source["asked"]
    assert (asked["lines"], asked["answer"]) == ("3, 5", {"lines": {"3": "skip", "5": "skip"}})
    assert typed.values["sku_code"].to_list() == ["A-1", "A-2"]
    assert typed.errors.select("line", "code").rows() == [(3, "invalid_format"), (5, "invalid_format")]
    assert read(workbook({"SKUs": [HEAD, *rows]}), answer_with(asked, "read"))[1].values.height == 4


def test_no_graph_is_stored_without_a_part_of_a_line_of_several_codes() -> None:
    names = [["sku_code", "name"], ["A-1", "Juice"], ["A-2", "Beer"]]
    parts = [["sku_code", "component_type", "material_family"], ["A-1, A-2", "body", "glass"], ["A-1", "cap", "metal"]]
    _, typed = read(workbook({"SKUs": names, "components": parts}))
    assert "components" not in typed.values.columns or not typed.values["components"].count()
    together = [["sku_code", "name", *parts[0][1:]], ["A-1; A-2", "x", "body", "glass"], ["A-1", "x", "cap", "metal"]]
    typed = read(workbook({"SKUs": [*together, ["A-3", "y", "body", "glass"], ["A-4", "z", "body", "glass"]]}))[1]
    assert typed.values["sku_code"].to_list() == ["A-3", "A-4"]


def test_a_line_of_a_text_without_a_delimiter_is_a_heading_or_a_note_and_no_row_that_lost_some() -> None:
    text = "sku_code,name,weight_grams\nDrinks\nA-1,Bottle,20\nA-2 Box 12\nA-3,Jar,3\n\n* estimates\n"
    upload, typed = read(text.encode())
    assert [(line["line"], line["reason"]) for line in upload.source["skipped"]] == [
        (2, lines.HEADING),
        (7, lines.OPEN),
    ]
    assert typed.errors.select("line", "code").rows() == [(4, "ragged_row")]
    assert typed.values["sku_code"].to_list() == ["A-1", "A-3"]


@pytest.mark.parametrize("codes", ["A-100/1", "A / B-1", "Box 12", "12 - large", "A-1 / 2025", "1,5 l"])
def test_one_code_with_signs_is_one(codes: str) -> None:
    upload, typed = read(workbook({"SKUs": [HEAD, DATA, [codes, "Cap", "2", "metal"], ["A-2", "Jar", "3", "glass"]]}))
    assert (upload.source["asked"], typed.values.height) == ([], 3)
    whole = [[f"{at} / {at}", *DATA[1:]] for at in (10, 11, 12)]
    assert read(workbook({"SKUs": [HEAD, *whole]}))[1].values.height == 3, "all codes are so"


@pytest.mark.parametrize("heading", [["Drinks", "", "", ""], ["", "Drinks", "", ""], ["Drinks 0,5 l", "", "", ""]])
def test_a_heading_of_the_lines_below_is_left_out_and_said_once(heading: list[str]) -> None:
    rows = [heading, DATA, ["A-2", "Jar", "3", "glass"], heading, ["A-3", "Cup", "4", "PS"]]
    for data in (delimited([HEAD, *rows]), workbook({"SKUs": [HEAD, *rows]})):
        upload, typed = read(data)
        assert [(line["line"], line["reason"]) for line in upload.source["skipped"]] == [
            (2, lines.HEADING),
            (5, lines.HEADING),
        ]
        assert (typed.values.height, typed.errors.height) == (3, 0)
        assert read(data, {"lines": {"2": "read"}})[0].rows == 4
    spaced = delimited([HEAD, ["Drinks", "", "", ""], DATA, ["A 2", *DATA[1:]]])
    assert [line["line"] for line in read(spaced)[0].source["skipped"]] == [2], "no other code is without a digit"
    few = delimited([HEAD, heading, DATA, heading])
    assert len(read(few)[0].source["skipped"]) <= 1, "no line below it, or as many headings as rows"


@pytest.mark.parametrize("first", ["SKU", "Article", "Artikelnummer"])
def test_a_further_header_may_name_a_year_and_a_thing(first: str) -> None:
    table = [["SKU", "Name", "Packaging weight (g)"], ["A-1", "Box", "12"], [first, "Country", "Units 2025"]]
    upload, rows = read(delimited([*table, ["B-1", "DE", "100"]]))
    assert rows.values["sku_code"].to_list() == ["A-1"]
    assert rows.errors.select("line", "code").rows() == [(4, "ambiguous_column")]
    assert [entry["line"] for entry in upload.source["skipped"]] == [3]
