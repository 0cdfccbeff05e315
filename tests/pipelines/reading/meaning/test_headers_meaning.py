"""Headers are parsed, not searched: every word of a header was understood, or the column is asked about or not read."""

import csv
import itertools
import json
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.reading.columns import open_column, recognise, substitute_column
from pipelines.reading.grammar import measure_of
from pipelines.reading.grid import Column, ReadingRefused
from tests.pipelines.reading.writing import Table, delimited, read, workbook

FILES = Path(__file__).parent / "files"
ASKED = "asked"
HEAD = ["SKU", "Name"]

FILES_OF_HEADERS = {
    "k01a_kg_per_1000.csv": ("weight_grams", 8.4),
    "k01c_per_case_of_12.csv": ("weight_grams", 180),
    "k01d_g_per_m2.csv": ("weight_grams", None),
    "k01f_second_line_pallet.csv": ("weight_grams", ASKED),
    "k01g_ean_of_the_case.csv": ("gtin", None),
    "k01i_volume_in_1000.csv": ("volumes", {"DE/2026/0": 12_000}),
    "k01j_co2.csv": ("weight_grams", None),
    "k02a_volume_kg.csv": ("volumes", ASKED),
    "k02c_volume_gb_h1.csv": ("volumes", {"GB/2025/1": 12_000}),
    "k02d_volume_gb_h1_h2.csv": ("volumes", {"GB/2025/1": 12_000, "GB/2025/2": 13_000}),
    "k02f_volume_quarter.csv": ("volumes", None),
    "k02g_volume_cases.csv": ("volumes", {"FR/2026/0": 120_000}),
    "k13a_per_carton.csv": ("weight_grams", ASKED),
    "k13c_percent.csv": ("weight_grams", None),
    "k20a_hyphen_break.xlsx": ("weight_grams", 180),
}


@pytest.mark.parametrize(("name", "right"), FILES_OF_HEADERS.items())
def test_a_file_is_read_as_its_headers_mean(name: str, right: tuple[str, object]) -> None:
    field, value = right
    upload, rows = read((FILES / name).read_bytes())
    stored = rows.values[field][0] if field in rows.values.columns else None
    assert (json.loads(stored) if isinstance(stored, str) and field == "volumes" else stored) == (
        None if value is ASKED else value
    )
    assert (value is ASKED) <= bool(upload.source["asked"])
    assert rows.errors.height == 0
    assert "components" not in rows.values.columns or rows.values["components"].null_count() == rows.values.height


def test_every_file_of_headers_is_here() -> None:
    with (FILES / "cases.csv").open(encoding="utf-8", newline="") as file:
        kinds = {row["file"]: row["kind"].split()[0] for row in csv.DictReader(file)}
    assert {name for name, kind in kinds.items() if kind in ("K1", "K2", "K13", "K20")} == set(FILES_OF_HEADERS)


def column_of(header: str) -> Column | None:
    """What is read of a header."""
    return recognise(header, 0, "sku") or substitute_column(header)


def test_a_weight_of_a_market_is_asked_about_beside_one_that_is_read() -> None:
    upload, _ = read((FILES / "k02g_volume_cases.csv").read_bytes())
    [asked] = upload.source["asked"]
    assert (asked["column"], asked["text"], asked["could_be"]) == ("E", "lu", ["annual_volume_be"])


@pytest.mark.parametrize(
    ("header", "name", "factor"),
    [
        ("Packaging weight (kg per 1000 pcs)", "weight_grams", "1"),
        ("Packaging weight kg/1000", "weight_grams", "1"),
        ("Verpackungsgewicht (g / Tsd. Stück)", "weight_grams", "0.001"),
        ("Poids emballage (g par UVC)", "weight_grams", "1"),
        ("Peso imballo (kg, vedi scheda tecnica)", "weight_grams", "1000"),
        ("Gewicht verpakking (in kg)", "weight_grams", "1000"),
        ("Masa opakowania (g / szt.)", "weight_grams", "1"),
        ("Peso da embalagem (g por unidade)", "weight_grams", "1"),
        ("Förpackningsvikt (kg per 1000 st)", "weight_grams", "1"),
        ("Verpackungs-\ngewicht (kg)", "weight_grams", "1000"),
        ("Verpackungsgewicht\nin kg, siehe Datenblatt", "weight_grams", "1000"),
        ("Packaging weight (empty, g)", "weight_grams", "1"),
        ("Glass (kg / 1000)", "glass_weight_g", "1"),
        ("Component 1 weight (g per 100)", "component_1_weight_g", "0.01"),
        ("Recycled content (fraction)", "recycled_content_percent", "100"),
        ("Jahresmenge DE (Tsd.)", "annual_volume_de", "1000"),
        ("Annual volume GB 2025 1st half", "annual_volume_gb_2025_h1", "1"),
        ("Volume annuel (k) FR", "annual_volume_fr", "1000"),
        ("Annual volume BE-VLG", "annual_volume_be_vlg", "1"),
        ("Material (glass / plastic)", "material", "1"),
        ("Food contact (yes/no)", "food_contact", "1"),
        ("Article code (as in our shop)", "sku_code", "1"),
        ("Product name (with g or ml)", "name", "1"),
        ("Material (PP, PET, glass)", "material", "1"),
        ("Markets (ISO 3166-1 alpha-2)", "markets", "1"),
        ("Packaging weight (approx., g)", "weight_grams", "1"),
    ],
)
def test_what_is_understood_is_read(header: str, name: str, factor: str) -> None:
    column = column_of(header)
    assert column is not None
    assert (column.name, column.factor) == (name, Decimal(factor))


@pytest.mark.parametrize(
    "header",
    [
        "Packaging weight (per case)",
        "Packaging weight (kg / Gebinde)",
        "Packaging weight (kg per Zxqv)",
        "Packaging weight (公斤)",
        "Verpackungsgewicht (g, Einheit siehe Spalte F)",
        "Packaging weight (g or kg)",
        "Jahresmenge DE + AT",
        "Volume annuel BE/LU",
        "Annual volume DE (cases)",
        "Annual volume DE (Mainland)",
        "Annual volume DE 2025 2026",
        "Packaging material (glued)",
        "Verpackungsgewicht Zxqv",
        "Packaging material Zxqv",
        "Zxqv recycled content",
        "Food contact zxqv",
        "Packaging level zxqv",
        "Reusable packaging zxqv",
        "Markets zxqv",
        "Packaging format zxqv",
        "Zxqv material grade",
        "Annual volume zxqv FR",
        "GTIN (pallet)",
        "EAN (of the case)",
        "Description (of the pallet)",
        "Description (supplier)",
    ],
)
def test_what_is_not_understood_is_asked(header: str) -> None:
    assert column_of(header) is None
    assert open_column(header, 0, "sku", loose=True) is not None
    table: Table = [["SKU", "Name", header], ["A", "a", "1"]]
    for data in (delimited(table), workbook({"Sheet1": table})):
        [asked] = read(data)[0].source["asked"]
        assert (asked["column"], asked["header"]) == ("C", header)
        assert asked["text"]
        assert asked["answer"]["columns"] == {open_column(header, 0, "sku", loose=True).name: "C"}  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "header",
    [
        "Packaging weight (kg CO2 eq)",
        "Packaging weight (g/m²)",
        "Packaging weight (t per year)",
        "Packaging weight (maximum)",
        "Poids emballage (objectif)",
        "Packaging weight %",
        "Annual volume FR Jan",
        "Annual volume FR H1 2025",
    ],
)
def test_what_means_something_else_is_not_read(header: str) -> None:
    assert column_of(header) is None


@pytest.mark.parametrize(
    "header", ["Country of origin", "Material number", "Poids égoutté", "GTIN zxqv", "Zxqv of the product name"]
)
def test_a_term_of_something_else_is_not_asked_about(header: str) -> None:
    assert column_of(header) is None
    assert read(delimited([[*HEAD, header], ["A", "a", "1"]]))[0].source["asked"] == []


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (["Article code (per pallet)", "Name"], "sku_code"),
        (["Article code (per pallet)", "Name", "EAN"], "sku_code"),
        (["SKU", "Product name (of the carton)"], "name"),
    ],
)
def test_a_code_or_a_name_of_another_object_refuses_with_the_answer(head: list[str], name: str) -> None:
    data = delimited([head, ["A-1", "b", "4006381333931"][: len(head)]])
    with pytest.raises(ReadingRefused) as refused:
        read(data)
    [issue] = refused.value.issues
    place = "A" if name == "sku_code" else "B"
    assert (issue.field, issue.kind, issue.could_be, issue.answer) == (
        name,
        "column",
        [name],
        {"columns": {name: place}},
    )
    _, rows = read(data, issue.answer)
    assert rows.values[name].to_list() == [{"sku_code": "A-1", "name": "b"}[name]]


def test_another_column_of_the_code_answers_for_one_of_another_object() -> None:
    upload, rows = read(delimited([["Article code (per pallet)", "SKU", "Name"], ["P", "A", "a"]]))
    assert (rows.values["sku_code"].to_list(), upload.source["asked"]) == (["A"], [])


@pytest.mark.parametrize(
    ("header", "unit", "grams"),
    [
        ("Packaging weight (per case)", "per case of 12", 2),
        ("Packaging weight (kg / Gebinde)", "kg/1000", 24),
        ("Brutto Pack", "g", 24),
        ("Weight of it all", "kg per 24", 1000),
        ("Packaging weight", "kg", 24_000),
        ("Packaging weight (g)", "kg", 24_000),
    ],
)
def test_the_mapping_says_the_unit_of_a_column_however_it_was_found(header: str, unit: str, grams: float) -> None:
    table = [[*HEAD, header], ["A", "a", "24"]]
    for columns in ({}, {"columns": {"weight_grams": "C"}}):
        upload, rows = read(delimited(table), {**columns, "units": {"weight_grams": unit}})
        found = rows.values["weight_grams"].to_list() if "weight_grams" in rows.values.columns else None
        asked = [question["text"] for question in upload.source["asked"]]
        # A unit alone does not say that a column is the packaging's weight.
        unread = {"Brutto Pack": (None, []), "Weight of it all": (None, ["it all"])} if not columns else {}
        assert (found, asked) == unread.get(header, ([grams], []))


def test_a_mapped_column_takes_no_unit_that_is_not_understood() -> None:
    table = [[*HEAD, "Gebindegewicht (kg / Gebinde)"], ["A", "a", "24"]]
    upload, rows = read(delimited(table), {"columns": {"weight_grams": "C"}})
    [asked] = upload.source["asked"]
    assert (asked["kind"], asked["text"], "weight_grams" in rows.values.columns) == ("unit", "kg / gebinde", False)
    assert read(delimited(table), asked["answer"])[1].values.height == 1
    told = {"columns": {"weight_grams": "C"}, "units": {"weight_grams": "kg per 12"}}
    assert read(delimited(table), told)[1].values["weight_grams"].to_list() == [2000]


def test_a_mapped_column_of_a_long_header_takes_no_unit_silently() -> None:
    header = " ".join(f"word{at}" for at in range(60)) + " (kg)"
    upload, rows = read(delimited([[*HEAD, header], ["A", "a", "24"]]), {"columns": {"weight_grams": "C"}})
    assert [asked["kind"] for asked in upload.source["asked"]] == ["unit"]
    assert "weight_grams" not in rows.values.columns
    upload, rows = read(
        delimited([[*HEAD, header.replace("word5", "")[-90:]], ["A", "a", "24"]]), {"columns": {"weight_grams": "C"}}
    )
    assert (upload.source["asked"], rows.values["weight_grams"].to_list()) == ([], [24_000])


def test_a_cell_with_its_own_unit_is_per_what_its_header_says() -> None:
    table = [[*HEAD, "Packaging weight (kg / 1000)"], ["A", "a", "8.4 kg"], ["B", "b", "8.4"]]
    assert read(delimited(table))[1].values["weight_grams"].to_list() == [8.4, 8.4]


def test_a_unit_below_the_header_may_be_per_something() -> None:
    table = [[*HEAD, "Packaging weight"], ["", "", "kg / 1000"], ["A", "a", "8.4"]]
    assert read(delimited(table))[1].values["weight_grams"].to_list() == [8.4]


@pytest.mark.parametrize("unit", ["fathoms", "per case", "g per m2", "kg kg/1000", "kg or g", "1000", "%"])
def test_a_unit_that_is_not_understood_is_refused(unit: str) -> None:
    with pytest.raises(ReadingRefused) as refused:
        read(delimited([[*HEAD, "Packaging weight"], ["A", "a", "1"]]), {"units": {"weight_grams": unit}})
    assert (refused.value.issues[0].code, refused.value.issues[0].field) == (
        "invalid_mapping",
        "mapping.units.weight_grams",
    )


def test_what_is_asked_of_a_long_table_is_asked_once() -> None:
    head = ["SKU", "Name", "Component", "Material", "Weight (g)", "Recycled content (zxqv)"]
    table: Table = [head, ["A", "a", "Bottle", "glass", 9, 1], ["A", "a", "Lid", "metal", 1, 1]]
    upload, _ = read(delimited(table))
    assert upload.source["layout"] == "long"
    assert [asked["text"] for asked in upload.source["asked"]] == ["zxqv"]


def test_a_share_may_be_given_as_a_fraction() -> None:
    said = measure_of("fraction", "percent")
    assert said is not None
    assert said.factor == 100
    table = [[*HEAD, "Recycled content"], ["A", "a", "0.3"]]
    told = {"units": {"recycled_content_percent": "fraction"}}
    assert read(delimited(table), told)[1].values["recycled_content_percent"].to_list() == [30]


LANGUAGES = {
    # term, per, each, case, of, year, a shorter period, known note, term of volumes, thousand
    "en": ("Packaging weight", "per", "piece", "case", "of", "year", "Q1", "see data sheet", "Annual volume", "k"),
    "de": ("Verpackungsgewicht", "je", "Stück", "Kiste", "von", "Jahr", "Monat", "laut Blatt", "Jahresmenge", "Tsd"),
    "fr": ("Poids emballage", "par", "pièce", "caisse", "de", "an", "T1", "voir fiche", "Volume annuel", "milliers"),
    "es": ("Peso envase", "por", "unidad", "caja", "de", "año", "enero", "ver ficha", "Unidades vendidas", "miles"),
    "it": ("Peso imballo", "per", "pezzo", "cartone", "da", "anno", "gennaio", "vedi scheda", "Unità vendute", "mila"),
    "nl": ("Gewicht verpakking", "per", "stuk", "doos", "van", "jaar", "kwartaal", "zie blad", "Jaarvolume", "duizend"),
    "pl": ("Masa opakowania", "na", "sztukę", "karton", "po", "rok", "kwartał", "patrz karta", "Roczna ilość", "tys"),
    "pt": ("Peso da embalagem", "por", "unidade", "caixa", "de", "ano", "março", "veja ficha", "Volume anual", "mil"),
    "sv": ("Förpackningsvikt", "per", "styck", "kartong", "med", "år", "kvartal", "se blad", "Årsvolym", "tusen"),
}  # fmt: skip
UNITS = {"": Decimal(1), "g": Decimal(1), "kg": Decimal(1000), "mg": Decimal("0.001")}
UNKNOWN = ("zxqv", "公斤", "Gebindeart", "‰", "€", "CO2")
languages = st.sampled_from(sorted(LANGUAGES))


@st.composite
def weights(draw: st.DrawFn) -> tuple[str, Decimal | None]:
    """A header of a weight, and its factor; None where a part of it means something else or nothing."""
    term, per, each, case, of, year, quarter, note, _, _ = LANGUAGES[draw(languages)]
    unit = draw(st.sampled_from(sorted(UNITS)))
    pers = {
        "": Decimal(1), f"{per} {each}": Decimal(1), f"{per} 1000": Decimal("0.001"), "/ 1000": Decimal("0.001"),
        f"{per} {case} {of} 12": 1 / Decimal(12), f"{per} {case}": None, f"{per} {year}": None, f"{per} m²": None,
        "/ m²": None, f"{per} zxqv": None,
    }  # fmt: skip
    what = draw(st.sampled_from(sorted(pers)))
    more = draw(st.lists(st.sampled_from([note, quarter, "target", *UNKNOWN]), max_size=2, unique=True))
    quantity = f"{unit} {what}".strip()
    parts = draw(st.permutations([part for part in (quantity, *more) if part]))
    joined = draw(st.sampled_from([", ", "; ", ") ("]))
    shape = draw(st.sampled_from(["{term} ({rest})", "{term}\n{rest}", "{term} [{rest}]"])) if parts else "{term}"
    factor = pers[what]
    right = None if factor is None or set(more) - {note} else UNITS[unit] * factor
    return shape.format(term=term, rest=joined.join(parts)), right


@given(weights())
def test_no_part_of_a_weight_s_header_vanishes(made: tuple[str, Decimal | None]) -> None:
    header, right = made
    column = column_of(header)
    if column is not None:
        assert right is not None, header
        assert (column.field.name, round(column.factor, 20)) == ("weight_grams", round(right, 20)), header


@st.composite
def volumes(draw: st.DrawFn) -> tuple[str, tuple[str, int | None, int, int] | None]:
    """A header of units placed, with the market, year, half and multiplier; None where a part of it is none of them."""
    _, _, each, case, _, _, quarter, note, term, thousand = LANGUAGES[draw(languages)]
    market = draw(st.sampled_from(["DE", "GB", "France", "US-CA"]))
    year, half = draw(st.sampled_from([None, 2025])), draw(st.sampled_from([0, 0, 1]))
    more = draw(
        st.lists(
            st.sampled_from([thousand, each, case, quarter, "kg", "+ AT", "/LU", "zxqv", "‰"]), max_size=2, unique=True
        )
    )
    notes = draw(st.lists(st.just(note), max_size=1))
    period = [str(year)] * (year is not None) + [f"H{half}"] * (half != 0)
    parts = draw(st.permutations([market, *period]))
    tail = "".join(f" ({part})" for part in draw(st.permutations([*more, *notes])))
    code = {"France": "FR"}.get(market, market)
    bad = set(more) - {thousand, each} or (half and code != "GB")
    right = None if bad else (code, year, half, 1000 if thousand in more else 1)
    return f"{term} {' '.join(parts)}{tail}", right


@given(volumes())
def test_no_part_of_a_volume_s_header_vanishes(made: tuple[str, tuple[str, int | None, int, int] | None]) -> None:
    header, right = made
    column = column_of(header)
    if column is not None:
        assert (column.market, column.year, column.half, column.factor) == right, header


TERMS = {
    "material": ("Packaging material", "Verpackungsmaterial", "Matériau d'emballage"),
    "recycled_content_percent": ("Recycled content", "Rezyklatanteil", "Taux de recyclé"),
    "food_contact": ("Food contact", "Lebensmittelkontakt", "Contact alimentaire"),
    "packaging_level": ("Packaging level", "Verpackungsebene", "Niveau d'emballage"),
    "reusable": ("Reusable", "Mehrweg", "Réutilisable"),
    "markets": ("Markets", "Märkte", "Marchés"),
    "weight_grams": ("Packaging weight", "Verpackungsgewicht", "Poids emballage"),
    "packaging_format": ("Packaging format", "Verpackungsart", "Type d'emballage"),
    "material_subtype": ("Material grade", "Materialsorte", "Sous-type de matériau"),
}
TEXTS = ("packaging_format", "material_subtype")
"""Fields whose notes may say anything but that they are another object's."""


@st.composite
def terms(draw: st.DrawFn) -> tuple[str, str]:
    """A header of a term and a word that is none, before, behind or below it, and the field of the term."""
    name = draw(st.sampled_from(sorted(TERMS)))
    term, word = draw(st.sampled_from(TERMS[name])), draw(st.sampled_from([*UNKNOWN, "zxqv wvut", "Zxqv-Wvut"]))
    shapes = ["{word} {term}", "{term} {word}", "{term}, {word}", "{term} - {word}"]
    shape = draw(st.sampled_from(shapes if name in TEXTS else [*shapes, "{term} ({word})"]))
    return shape.format(word=word, term=term), name


@given(terms())
def test_no_word_beside_a_term_of_any_kind_vanishes(made: tuple[str, str]) -> None:
    header, name = made
    assert column_of(header) is None, header
    found = open_column(header, 0, "sku", loose=True)
    other = {"‰", "€", "CO2", "Gebindeart"}  # these may say that it is something else, which is not asked
    assert (found is not None and found.name == name) or any(word in header for word in other), header


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_plain_headers_of_nine_languages_are_read(language: str) -> None:
    term, per, each, case, of, _, _, note, volume, thousand = LANGUAGES[language]
    for unit, what in itertools.product(("g", "kg"), (f"{per} {each}", f"{per} 1000", f"{per} {case} {of} 12")):
        column = column_of(f"{term} ({unit} {what}, {note})")
        assert column is not None, (unit, what)
    found = column_of(f"{volume} DE 2026 ({thousand} {each})")
    assert found is not None
    assert (found.market, found.year, found.factor) == ("DE", 2026, 1000)
