"""From a file of UK packs to the packaging data file: ratings are proposed, a person checks them, then they count."""

import csv
import json
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from api.app import create
from tests.api.test_declaration_command import UK, Operator, part, placed
from tests.clusters import founded
from warehouse.operate.settings import Settings

SKUS = [
    {"sku_code": "JAR", "packaging_format": "jar",
     "components": [part("body", "glass", "glass", 200), part("closure", "metal", "steel", 8)]},
    {"sku_code": "TRAY", "packaging_format": "tray",
     "components": [part("body", "plastic", "PET", 20) | {"colour": "carbon_black"}, part("label", "paper", None, 1)]},
    {"sku_code": "=POT", "packaging_format": "pot",
     "components": [part("body", "plastic", "PP", 12), part("cap", "plastic", None, 4) | {"separable": True}]},
    {"sku_code": "PILLS", "packaging_format": "box", "use_contexts": ["pharmaceutical"],
     "components": [part("body", "paper", "PAP21", 15)]},
    {"sku_code": "CAN", "packaging_format": "can", "components": [part("body", "metal", "aluminium", 15)]},
    {"sku_code": "PALLET", "packaging_format": "pallet", "packaging_level": "transport", "material": "wood",
     "weight_grams": 20_000},
    {"sku_code": "ELSEWHERE", "packaging_format": "jar", "material": "glass", "weight_grams": 90},
]  # fmt: skip


@pytest.fixture(scope="module")
def operator(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ratings")
    folder.chmod(0o711)
    settings = Settings.load(data_dir=folder / "data")
    with founded(settings) as database:
        at_work = Operator(settings.data_dir)
        with TestClient(create(settings, database), headers={"X-API-Key": at_work.key}) as http:
            at_work.http = http
            for sku in SKUS:
                body = {"name": sku["sku_code"].strip("="), "packaging_level": "sales", **sku}
                made = http.post("/api/v1/skus", json=body)
                assert made.status_code == 201, made.text
                market = "FR" if sku["sku_code"] == "ELSEWHERE" else "GB"
                path = f"/api/v1/skus/{made.json()['data']['id']}/volumes"
                answer = http.put(path, json=[placed(market, 100_000, half=2 if market == "GB" else 0)])
                assert answer.status_code == 200, answer.text
            yield at_work


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_ratings_are_proposed_checked_by_a_person_and_only_then_declared(operator, tmp_path):
    out, uk = tmp_path / "ram.csv", tmp_path / "uk.csv"
    told = operator.json("declaration", "ratings", out, "--company", operator.company, "--year", 2025)
    assert {name: told[name] for name in ("market", "scheme", "version", "rated", "unrated", "unverified")} == {
        "market": "GB",
        "scheme": "uk_ram",
        "version": "1.1",
        "rated": 7,
        "unrated": 1,
        "unverified": 1,
    }
    proposed = {(row["sku_code"], row["component_type"]): row["rating"] for row in table(out)}
    assert proposed == {
        ("'=POT", "body"): "G",
        ("JAR", "body"): "G",
        ("JAR", "closure"): "G",
        ("PILLS", "body"): "G-M",
        ("TRAY", "body"): "R",
        ("TRAY", "label"): "R",
        ("CAN", "body"): "",
    }
    can = next(row for row in table(out) if row["sku_code"] == "CAN")
    assert (can["unverified_rating"], can["confidence"]) == ("G", "unverified")
    assert {row["unverified_rating"] for row in table(out) if row is not can} - {"G"} == {""}
    tray = next(row for row in table(out) if row["sku_code"] == "TRAY")
    assert (tray["why"], tray["rules"], tray["confidence"]) == ("carbon black", "RAM-RIGID-006", "secondary")
    [cap] = [row for row in table(tmp_path / "ram.open.csv") if row["component_type"] == "cap"]
    assert (cap["sku_code"], cap["field"], cap["could_become"]) == ("'=POT", "polymer_or_grade", "green; red")
    assert "made of" in cap["ask"]

    before = operator.declare(*UK, uk)  # nobody has handed in a rating: none is taken
    assert before["uncounted"] == len(SKUS) - 2
    assert all(row["ram_rag_rating"] == "" for row in table(uk))

    refused = operator.run("declaration", "--company", operator.company, "--year", 2025, *UK, "--ram", out, uk)
    assert refused.returncode, "what rests on memory is no rating before a person has written it there"
    assert "of the ratings says nothing." in refused.stderr
    rows = [row if row["sku_code"] != "CAN" else row | {"rating": "G"} for row in table(out)]
    with out.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    with out.open("a", encoding="utf-8", newline="") as file:  # the person decides what the service could not
        csv.writer(file).writerow(["=POT", "cap", "A", "", "", "", "", ""])
    after = operator.declare(*UK, "--ram", out, uk)
    assert after["uncounted"] == 0
    columns = ("packaging_material", "packaging_material_subtype", "ram_rag_rating")
    assert {tuple(row[name] for name in columns) for row in table(uk)} == {
        ("GL", "", "G"),
        ("ST", "", "G"),
        ("AL", "", "G"),
        ("PL", "Rigid", "R"),
        ("PC", "", "R"),
        ("PL", "Rigid", "G"),
        ("PL", "Rigid", "A"),
        ("PC", "", "G-M"),
        ("WD", "", ""),
    }


def test_a_sku_says_what_another_scheme_would_rate_it_and_what_it_asks(operator):
    listed = operator.http.get("/api/v1/skus", params={"sku_code": "=POT"}).json()["data"]
    answer = operator.http.get(f"/api/v1/skus/{listed[0]['id']}", headers={"Accept-Language": "fr"})
    [entry] = answer.json()["data"]["compliance"]["schemes"]
    assert (entry["scheme"], entry["version"], entry["rating"]) == ("uk_ram", "1.1", None)
    assert entry["open"][0]["field"] == "polymer_or_grade"
    assert entry["open"][0]["ask"].startswith("De quoi cette partie")
    assert "schemes" not in json.dumps(listed)


def test_what_no_scheme_rates_is_refused(operator, tmp_path):
    ask = ("declaration", "ratings", "--company", operator.company)
    for options, sentence in (
        (("--year", 2025, "--market", "FR"), "No scheme rates the packaging of FR in 2025"),
        (("--year", 2024), "No scheme rates the packaging of GB in 2024; schemes: GB from 2025, GB from 2027."),
        (("--year", 2025, "--market", "XX"), "no jurisdiction XX"),
    ):
        done = operator.run(*ask, *options, tmp_path / "ram.csv")
        assert (done.returncode, done.stdout) == (1, "")
        assert sentence in done.stderr
    assert not list(tmp_path.iterdir())
