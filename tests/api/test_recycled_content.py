"""Recycled content by plant over REST, as a page and as a file: of one company alone, from its snapshot."""

import csv
import io

import pytest

from tests.api.people import signed_in
from tests.api.portfolios import counted

BODY = {"component_type": "body", "material_family": "plastic", "polymer_or_grade": "PP", "weight_g": 30}
SITE = {"name": "Lyon works", "roles": ["manufacturing"], "country": "FR"}


def placed(caller, code, **more):
    """A tray of food, a million of which went to Germany."""
    made = caller.made(sku_code=code, packaging_format="tray", food_contact=True, **more)
    rows = [{"market": "DE", "year": 2025, "half": 0, "units_placed": 1_000_000}]
    assert caller.put(f"/skus/{made['id']}/volumes", rows).status_code == 200


@pytest.fixture
def trays(caller):
    """30 t of 20 %, 30 t that say nothing, both of Lyon; 30 t of no plant."""
    site = caller.post("/sites", SITE).json()["data"]["id"]
    told = [BODY | {"recycled_content_percent": 20}]
    placed(caller, "TOLD", manufacturing_site_id=site, components=told)
    placed(caller, "SILENT", manufacturing_site_id=site, components=[BODY])
    placed(caller, "NOWHERE", components=told)
    counted(caller)
    return caller


def test_an_average_with_bounds_and_what_has_no_plant(trays):
    answer = trays.get("/recycled-content").json()
    [line] = answer["summary"]["averages"]
    stated = {name: line[name] for name in ("site_name", "category_no", "point", "skus", "tonnes", "unknown_tonnes")}
    assert stated == {
        "site_name": "Lyon works",
        "category_no": "12",
        "point": "b",
        "skus": 2,
        "tonnes": 60,
        "unknown_tonnes": 30,
    }
    assert (line["known_percent"], line["least_percent"], line["most_percent"]) == (20, 10, 60)
    assert (line["find_2030_most_tonnes"], line["find_2040_most_tonnes"], line["find_2040_least_tonnes"]) == (0, 9, 0)
    [nowhere] = answer["data"]
    assert (nowhere["sku_code"], nowhere["tonnes"], nowhere["fields"]) == ("NOWHERE", 30, ["manufacturing_site_id"])
    assert (answer["summary"]["year"], answer["summary"]["years"], answer["newer_writes"]) == (2025, [2025], 0)
    assert answer["pagination"] == {"limit": 50, "offset": 0, "total": 1}
    assert trays.get("/recycled-content?offset=1").json()["data"] == []


def test_another_year_another_company_and_no_snapshot_have_nothing(trays, join):
    other = join()
    for answer in (trays.get("/recycled-content?year=2024").json(), other.get("/recycled-content").json()):
        assert (answer["summary"]["averages"], answer["data"], answer["summary"]["tonnes"]) == ([], [], 0)
    assert other.get("/recycled-content").json()["as_of"] is None
    assert trays.get("/recycled-content?year=soon").status_code == 400


def test_a_plant_that_was_merged_has_the_average_of_the_one_that_stays(trays):
    kept = trays.post("/sites", SITE | {"name": "Lyon"}).json()["data"]["id"]
    gone = trays.get("/recycled-content").json()["summary"]["averages"][0]["site_id"]
    assert trays.post(f"/sites/{gone}/merge", {"into": kept}).status_code == 200
    [line] = trays.get("/recycled-content").json()["summary"]["averages"]
    assert (line["site_id"], line["site_name"]) == (kept, "Lyon")


def test_the_page_and_its_file(trays, pool):
    browser = signed_in(trays, pool, "viewer")
    shown = browser.get("/recycled-content").text
    for words in (
        "Lyon works",
        "NOWHERE",
        "post-consumer",
        "At which plant is it manufactured?",
        "Plastic: PP – rigid",
    ):
        assert words in shown
    assert "In welchem Werk" in browser.get("/recycled-content?lang=de").text
    assert "/recycled-content" in browser.get("/figures").text
    rows = list(csv.DictReader(io.StringIO(browser.get("/recycled-content/file.csv?year=2025").text)))
    assert [row["state"] for row in rows] == ["average", "open", "not_recorded", "not_recorded", "not_recorded"]
    assert (rows[0]["least_percent"], rows[0]["most_percent"]) == ("10.0000", "60.0000")
    assert rows[1]["sku_code"] == "NOWHERE"
