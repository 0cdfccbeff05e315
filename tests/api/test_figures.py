"""GET /figures/…: tonnes, what is not counted, what is undecided, and duties, as the last rollup stored them."""

import json
from decimal import Decimal

import pytest

from tests.api.portfolios import counted, placed, service_behind, weighed
from warehouse.figures import stored as stored_figures
from warehouse.figures.market import figures_in, placed_in

JAR = [
    {"component_type": "body", "material_family": "glass", "polymer_or_grade": "glass", "weight_g": 200},
    {"component_type": "closure", "material_family": "metal", "polymer_or_grade": "steel", "weight_g": 8.25},
]
BOX = [
    {"component_type": "body", "material_family": "paper", "polymer_or_grade": "PAP20", "weight_g": 400},
    {"component_type": "label", "material_family": "paper", "polymer_or_grade": "paper", "weight_g": None},
]
LISTS = ("tonnes", "uncounted", "undecided", "obligations")


@pytest.fixture
def declared(caller):
    """A caller with jars in Germany and Great Britain, and boxes whose label has no weight."""
    placed(caller, "JAR", JAR, ("DE", 2025, 0, 1_000_000), ("GB", 2025, 2, 10_001), ("DE", 2024, 0, 5), level="sales")
    placed(caller, "BOX", BOX, ("DE", 2025, 0, 7))
    counted(caller)
    weighed(caller)
    return caller


def rows(caller, name, **params):
    answer = caller.get(f"/figures/{name}", params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()["data"]


def test_tonnes_by_market_period_and_category(declared):
    found = rows(declared, "tonnes", market="de", year=2025)
    assert [(row["category_code"], row["tonnes"], row["units"], row["skus"]) for row in found] == [
        ("ferrous_metals", 8.25, 1_000_000, 1),
        ("glass", 200, 1_000_000, 1),
        ("paper", 0.0028, 7, 1),
    ]
    assert {(row["in_scope_tonnes"], row["undecided_tonnes"], row["out_of_scope_tonnes"]) for row in found} == {
        (0, 8.25, 0),
        (0, 200, 0),
        (0, 0, 0.0028),
    }
    assert {row["half"] for row in rows(declared, "tonnes", market="UK", half=2)} == {2}
    assert rows(declared, "tonnes", category_code="glass", year=2024) == rows(
        declared, "tonnes", market="DE", category_code="glass", year=2024
    )


def test_numbers_keep_the_places_that_they_are_written_with(declared):
    text = declared.get("/figures/tonnes", params={"market": "GB", "half": 2, "category_code": "GL"}).text
    assert '"tonnes":2.000200,' in text
    [row] = json.loads(text, parse_float=Decimal)["data"]
    assert row["tonnes"] == Decimal("2.000200")


def test_what_is_not_counted_and_what_is_undecided_names_the_fields(declared):
    assert rows(declared, "uncounted", market="DE") == [
        {
            "market": "DE",
            "year": 2025,
            "half": 0,
            "halves": None,
            "sku_code": "BOX",
            "units": 7,
            "reason": "weight_missing",
            "fields": ["components[1].weight_g"],
            "tonnes": 0,
            "archived": False,
        }
    ]
    assert {row["reason"] for row in rows(declared, "uncounted", sku_code="JAR")} == {"half_missing"}
    [jar] = rows(declared, "undecided", market="DE", year=2025)
    assert (jar["sku_code"], jar["category_codes"], jar["fields"]) == (
        "JAR",
        ["ferrous_metals", "glass"],
        ["use_contexts"],
    )


@pytest.mark.promise("FIG-05")
def test_a_year_of_one_half_is_a_lower_bound_and_says_which_half_is_there(declared):
    """decisions §13, half-yearly markets: what is there counts in every answer of the year, never 0 t and *below*."""
    of_year = rows(declared, "tonnes", market="GB", year=2025, half=0)
    assert [(row["category_code"], row["tonnes"], row["halves"]) for row in of_year] == [
        ("GL", 2.0002, [2]),
        ("ST", 0.082508, [2]),
    ]
    assert {row["tonnes"] for row in rows(declared, "tonnes", market="GB", year=2025, half=2)} == {2.0002, 0.082508}
    assert [row["halves"] for row in rows(declared, "tonnes", market="GB", year=2025, half=2)] == [None, None]
    [listed] = rows(declared, "uncounted", market="GB")
    assert (listed["units"], listed["reason"], listed["halves"]) == (10_001, "half_missing", [2])
    duties = rows(declared, "obligations", market="GB", year=2025)
    assert {(row["verdict"], row["reason"], *row["fields"]) for row in duties} == {
        ("undecidable", "record_lacks_fact", "units of half 1")
    }
    assert {tuple(row["halves"]) for row in duties} == {(2,)}
    assert {row["tonnes_upper"] for row in duties} == {2.082708}


def test_readiness_has_the_figures_of_which_the_obligations_speak(declared):
    """decisions §13: 1 463 t of a first half, and readiness said `figures: null`."""
    service = service_behind(declared)
    stored = stored_figures.current(service.settings.data_dir, declared.company)
    found = figures_in(stored, "GB", 2026)
    assert (found["year"], found["halves"], found["uncounted"]) == (2025, [2], 1)
    assert {row["category_code"]: row["tonnes"] for row in found["tonnes"]} == {"GL": 2.0002, "ST": 0.082508}
    placed = placed_in(stored, "GB", None, 0, 2026)
    assert (placed.year, placed.halves, placed.obligations) == (2025, [2], found["obligations"])
    rest = rows(declared, "obligations", market="GB", year=2025)
    assert [each["verdict"] for each in found["obligations"]] == [each["verdict"] for each in rest]


def test_duties_have_verdict_source_and_what_is_missing(declared):
    found = rows(declared, "obligations", market="DE", year=2025)
    glass = next(row for row in found if row["material"] == "glass")
    assert (glass["obligation"], glass["threshold_tonnes"], glass["verdict"], glass["tonnes_upper"]) == (
        "completeness_declaration",
        80,
        "undecidable",
        200,
    )
    assert glass["fields"] == ["use_contexts"]
    assert glass["source_url"].startswith("https://")
    assert {row["year"] for row in rows(declared, "obligations")} == {2024, 2025}


def test_every_answer_names_what_it_was_computed_from(declared):
    before = [declared.get(f"/figures/{name}").json() for name in LISTS]
    for answer in before:
        assert answer["as_of"].endswith("Z")
        assert answer["snapshot"].startswith("snapshots/")
        assert answer["ruleset_version"] == before[0]["ruleset_version"]
        assert answer["newer_writes"] == 0
    declared.made(sku_code="LATER")
    assert declared.get("/figures/tonnes").json()["newer_writes"] == 1


@pytest.mark.parametrize("name", LISTS)
def test_pages_add_up_to_the_list(declared, name):
    whole = declared.get(f"/figures/{name}", params={"limit": 200}).json()
    total = whole["pagination"]["total"]
    assert len(whole["data"]) == total > 0
    one_by_one = [rows(declared, name, limit=1, offset=offset) for offset in range(total)]
    assert [row for page in one_by_one for row in page] == whole["data"]
    assert rows(declared, name, offset=total) == []


@pytest.mark.parametrize("name", LISTS)
def test_a_company_without_figures_gets_none_and_no_instant(caller, name):
    answer = caller.get(f"/figures/{name}").json()
    assert (answer["data"], answer["pagination"]["total"], answer["as_of"]) == ([], 0, None)


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"market": "XX"}, "unknown_market"),
        ({"year": "twenty"}, "out_of_range"),
        ({"year": "1999"}, "out_of_range"),
        ({"half": "3"}, "out_of_range"),
        ({"limit": "x"}, "invalid_type"),
        ({"category_code": "a\x00"}, "invalid_format"),
    ],
)
def test_a_parameter_that_cannot_be_is_refused(caller, params, code):
    answer = caller.get("/figures/tonnes", params=params)
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_body")
    assert [(issue["field"], issue["code"]) for issue in answer.json()["details"]] == [(next(iter(params)), code)]


def test_a_key_without_the_scope_is_refused(join):
    assert join(scopes=("write",)).get("/figures/tonnes").status_code == 403
