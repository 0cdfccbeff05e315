"""`pcds rollup` and `pcds declaration` as an operator types them, over data that came in through the API."""

import csv
import hashlib
import json
from pathlib import Path

import polars as pl
import pytest
from starlette.testclient import TestClient

from api.app import create
from api.filings import commands as command
from compliance.filings.document import UNCOUNTED_COLUMNS
from compliance.filings.uk.rules import FileRefused, columns
from services.filings.files import DeclarationRequest
from tests.clusters import founded
from tests.commands import Pcds
from warehouse.operate.settings import Settings

NOBODY = "00000000-0000-7000-8000-000000000000"
ROOT = Path(__file__).parents[2]


def part(kind, family, text, grams):
    return {"component_type": kind, "material_family": family, "polymer_or_grade": text, "weight_g": grams}


def placed(market, units, *, year=2025, half=0):
    return {"market": market, "year": year, "half": half, "units_placed": units}


SKUS = [
    {"sku_code": "JAR", "name": "Jar", "packaging_level": "sales", "packaging_format": "jar",
     "components": [part("body", "glass", "glass", 200), part("closure", "metal", "steel", 8.25)],
     "volumes": [placed("GB", 10_001, half=2), placed("DE", 1_000_000)]},
    {"sku_code": "COLA", "name": "Cola", "packaging_level": "sales", "packaging_format": "bottle",
     "use_contexts": ["beverage"], "components": [part("body", "plastic", "PET", 25)],
     "volumes": [placed("GB", 100_000, half=2), placed("DE", 500_000)]},
    {"sku_code": "=BOX", "name": "Box", "packaging_level": "transport", "packaging_format": "box",
     "components": [part("body", "paper", "PAP20", 400), part("label", "paper", "paper", None)],
     "volumes": [placed("GB", 100, half=2), placed("DE", 7)]},
]  # fmt: skip


class Operator(Pcds):
    """Commands on one data directory, and the company that they are about."""

    def __init__(self, data_dir: Path) -> None:
        super().__init__(data_dir)
        self.company = self.json("company", "add", "--name", "Acme", "--plan", "enterprise")["id"]
        self.key = self.json("key", "issue", "--company", self.company)["api_key"]

    def declare(self, *arguments):
        return self.json("declaration", "--company", self.company, "--year", 2025, *arguments)

    def refused(self, status, *arguments):
        return super().refused(status, "declaration", "--company", self.company, "--year", 2025, *arguments)


@pytest.fixture(scope="module")
def operator(tmp_path_factory):
    folder = tmp_path_factory.mktemp("declaration")
    folder.chmod(0o711)
    settings = Settings.load(data_dir=folder / "data")
    with founded(settings) as database:
        at_work = Operator(settings.data_dir)
        with TestClient(create(settings, database), headers={"X-API-Key": at_work.key}) as http:
            for sku in SKUS:
                made = http.post("/api/v1/skus", json={name: sku[name] for name in sku if name != "volumes"})
                path = f"/api/v1/skus/{made.json()['data']['id']}/volumes"
                answer = http.put(path, json=sku["volumes"])
                assert answer.status_code == 200, answer.text
        yield at_work


UK = ("--market", "UK", "--half", 2, "--format", "rpd", "--organisation-id", "123456")


def test_a_rollup_says_what_changed_and_then_nothing(operator):
    [first] = operator.json("rollup", "--company", operator.company)["companies"]
    [again] = operator.json("rollup")["companies"]
    assert (first["company_id"], first["rows_written"]) == (operator.company, len(first["figures"]))
    assert again == {**first, "rows_written": 0}
    assert {
        "market": "DE",
        "year": 2025,
        "half": 0,
        "halves": None,
        "category_code": "glass",
        "tonnes": 200.0,
        "units": 1_000_000,
        "in_scope_tonnes": 0.0,
        "undecided_tonnes": 200.0,
        "out_of_scope_tonnes": 0.0,
        "scope_key": "de_system",
        "confidence": "official_page",
    } in first["figures"]
    assert {figure["half"] for figure in first["figures"] if figure["market"] == "GB"} == {0, 2}
    assert {
        tuple(figure["halves"]) for figure in first["figures"] if (figure["market"], figure["half"]) == ("GB", 0)
    } == {(2,)}


def test_a_declaration_for_machines_has_every_field(operator, tmp_path):
    out = tmp_path / "de.json"
    told = operator.declare("--market", "de", "--format", "json", out)
    said = json.loads(out.read_text())
    assert list(said) == [
        "company_id",
        "market",
        "year",
        "half",
        "halves",
        "as_of",
        "ruleset_version",
        "snapshot",
        "tonnes",
        "in_scope_tonnes",
        "undecided_tonnes",
        "out_of_scope_tonnes",
        "total_tonnes",
        "question",
        "uncounted",
        "scope_missing",
        "obligations",
    ]
    assert (said["company_id"], said["market"], said["year"], said["half"]) == (operator.company, "DE", 2025, 0)
    assert (operator.data_dir / said["snapshot"]).is_dir()
    assert said["tonnes"] == [
        {"category_code": code, "category_name": name, "basis": "own", "tonnes": tonnes, "units": units, "skus": 1,
         "in_scope_tonnes": 0, "undecided_tonnes": open_, "out_of_scope_tonnes": tonnes - open_,
         "scope_key": "de_system", "confidence": "official_page"}
        for code, name, tonnes, units, open_ in (
            ("ferrous_metals", "Eisenmetalle", 8.25, 1_000_000, 8.25),
            ("glass", "Glas", 200, 1_000_000, 200),
            ("paper", "Papier, Pappe, Karton", 0.0028, 7, 0),
            ("plastics", "Kunststoffe", 12.5, 500_000, 12.5),
        )
    ]  # fmt: skip
    totals = {"in_scope_tonnes": 0, "undecided_tonnes": 220.75, "out_of_scope_tonnes": 0.0028, "total_tonnes": 220.7528}
    assert {name: said[name] for name in totals} == totals
    assert {name: told[name] for name in totals} == totals
    assert list(told).index("in_scope_tonnes") < list(told).index("total_tonnes"), "what is filed is shown first"
    assert said["question"] == told["question"] == {"field": "use_contexts", "tonnes": 208.25, "skus": 1}
    assert said["scope_missing"] == [
        {"sku_code": "COLA", "units": 500_000, "category_codes": ["plastics"], "fields": ["reuse_deposit_system"]},
        {
            "sku_code": "JAR",
            "units": 1_000_000,
            "category_codes": ["ferrous_metals", "glass"],
            "fields": ["use_contexts"],
        },
    ]
    assert said["total_tonnes"] == told["total_tonnes"] == 220.7528
    assert said["uncounted"] == [
        {"sku_code": "=BOX", "units": 7, "reason": "weight_missing", "fields": ["components[1].weight_g"]}
    ]
    glass = next(each for each in said["obligations"] if each["material"] == "glass")
    assert {name: glass[name] for name in ("obligation", "operator", "threshold_tonnes", "tonnes", "verdict")} == {
        "obligation": "completeness_declaration",
        "operator": "lt",
        "threshold_tonnes": 80,
        "tonnes": 0,
        "verdict": "undecidable",
    }
    assert list(glass) == [
        "obligation",
        "material",
        "operator",
        "threshold_tonnes",
        "tonnes",
        "tonnes_upper",
        "verdict",
        "reason",
        "fields",
        "group",
        "group_verdict",
        "source_url",
        "confidence",
        "scope_key",
        "scope_confidence",
    ]


def test_a_csv_has_its_gaps_and_its_origin_beside_it(operator, tmp_path):
    told = operator.declare("--market", "DE", "--format", "csv", tmp_path / "de.csv")
    with (tmp_path / "de.csv").open(newline="") as file:
        assert next(csv.DictReader(file)) == {
            "category_code": "ferrous_metals",
            "category_name": "Eisenmetalle",
            "basis": "own",
            "tonnes": "8.250000",
            "units": "1000000",
            "skus": "1",
            "in_scope_tonnes": "0.000000",
            "undecided_tonnes": "8.250000",
            "out_of_scope_tonnes": "0.000000",
            "scope_key": "de_system",
            "confidence": "official_page",
        }
    assert (tmp_path / "de.uncounted.csv").read_text().splitlines() == [
        "sku_code,units,reason,fields",
        "'=BOX,7,weight_missing,components[1].weight_g",
    ]
    source = json.loads((tmp_path / "de.source.json").read_text())
    assert source["sha256"] == hashlib.sha256((tmp_path / "de.csv").read_bytes()).hexdigest()
    assert {source[name] for name in ("snapshot", "ruleset_version")} == {told["snapshot"], told["ruleset_version"]}
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "de.csv",
        "de.scope_missing.csv",
        "de.source.json",
        "de.uncounted.csv",
    ]
    assert (tmp_path / "de.scope_missing.csv").read_text().splitlines() == [
        "sku_code,units,category_codes,fields",
        "COLA,500000,plastics,reuse_deposit_system",
        "JAR,1000000,ferrous_metals; glass,use_contexts",
    ]


def test_a_figure_is_explained_down_to_its_skus_and_their_lines(operator, tmp_path):
    told = operator.declare("--market", "DE", "--explain", "glass", tmp_path / "de.csv")
    assert told["explained_skus"] == 1
    with (tmp_path / "de.explained.csv").open(newline="") as file:
        [row] = csv.DictReader(file)
    assert (row["sku_code"], row["units"], row["tonnes"]) == ("JAR", "1000000", "200.000000")
    assert row["components"] == "0 body glass glass 200.0 g; 1 closure metal steel 8.25 g"
    assert (row["version"], row["import_id"], row["import_line"]) == ("2", "", "")
    refused = operator.refused(1, "--market", "DE", "--explain", "gold", tmp_path / "de.csv")
    assert "no figure for gold; name a category_code of it: ferrous_metals, glass, paper, plastics." in refused


def test_a_row_of_the_uk_file_is_explained_by_what_the_file_counts(operator, tmp_path):
    """Nothing of what the file leaves out, and the classes apart."""
    ram, drinks = tmp_path / "ram.csv", tmp_path / "drinks.csv"
    ram.write_text("sku_code,component_type,rating\nJAR,body,G\n")
    drinks.write_text("sku_code,drinks_container\nCOLA,Y\n")
    for code in ("GL", "PC"):
        operator.declare(*UK, "--ram", ram, "--drinks", drinks, "--explain", code, tmp_path / f"{code}.csv")
    found = {}
    for code in ("GL", "PC"):
        with (tmp_path / f"{code}.explained.csv").open(newline="") as file:
            [found[code]] = csv.DictReader(file)
    row = found["GL"]
    assert list(row)[:6] == [
        "packaging_type",
        "packaging_class",
        "packaging_material",
        "packaging_material_subtype",
        "ram_rag_rating",
        "sku_code",
    ]
    assert list(row.values())[:7] == ["HH", "P1", "GL", "", "G", "JAR", "10001"]
    assert (row["tonnes"], row["version"], row["earlier_versions"]) == ("2.000200", "2", "1 single write")
    assert [*found["PC"].values()][:6] == ["NH", "P4", "PC", "", "", "'=BOX"]
    refused = operator.refused(1, *UK, "--ram", ram, "--drinks", drinks, "--explain", "ST", tmp_path / "uk.csv")
    assert "no figure for ST; name a packaging_material of it: GL, PC, PL." in refused


def test_the_uk_file_with_ratings_and_drinks_is_the_same_twice(operator, tmp_path):
    ram, drinks = tmp_path / "ram.csv", tmp_path / "drinks.csv"
    ram.write_text("sku_code,component_type,rating\nJAR,body,G\nJAR,closure,A\nElse,body,R\n")
    drinks.write_text("sku_code,drinks_container\nCOLA,Y\n")
    made = []
    for name in ("one.csv", "two.csv"):
        told = operator.declare(*UK, "--ram", ram, "--drinks", drinks, "--subsidiary-id", "A1", tmp_path / name)
        made.append((tmp_path / name).read_bytes())
    assert made[0] == made[1]
    assert made[0].decode().splitlines() == [
        ",".join(columns()),
        "123456,A1,L,2025-H2,SO,HDC,,PL,,,,2500,100000,,",
        "123456,A1,L,2025-H2,SO,HH,P1,GL,,,,2000,,,G",
        "123456,A1,L,2025-H2,SO,HH,P1,ST,,,,83,,,A",
        "123456,A1,L,2025-H2,SO,NH,P4,PC,,,,40,,,",
    ]
    assert (told["rows"], told["total_kg"], told["difference_kg"]) == (4, 4623, -0.29175)
    assert (tmp_path / "two.uncounted.csv").read_text().splitlines()[1:] == [
        "'=BOX,100,weight_missing,components[1].weight_g"
    ]


def test_what_the_regulator_would_refuse_is_refused_with_its_number_and_nothing_is_written(operator, tmp_path):
    out, rpd = tmp_path / "gb.csv", ("--market", "GB", "--format", "rpd")
    bad = tmp_path / "bad.csv"
    bad.write_text("sku_code,component_type,rating\nJAR,body,B\n")
    unsure = tmp_path / "unsure.csv"
    unsure.write_text("sku_code,drinks_container\nCOLA,maybe\n")
    assert " 01: " in operator.refused(1, *rpd, "--half", 2, "--organisation-id", "12345", out)
    assert " 46: " in operator.refused(1, *UK, "--subsidiary-id", "a-b", out)
    assert " 909: " in operator.refused(1, *rpd, "--organisation-id", "123456", out)
    assert " 910: " in operator.refused(1, *UK, "--organisation-size", "S", out)
    assert " 100: " in operator.refused(1, *UK, "--ram", bad, out)
    assert "unsure.csv, line 2: drinks_container is Y or N." in operator.refused(1, *UK, "--drinks", unsure, out)
    empty = operator.refused(1, *rpd, "--half", 1, "--organisation-id", "123456", out)
    assert " 82: " in empty
    assert {path.name for path in tmp_path.iterdir()} <= {"bad.csv", "unsure.csv", "gb.uncounted.csv"}


def test_a_refused_file_leaves_what_it_does_not_count_beside_where_it_would_have_been(tmp_path):
    out = tmp_path / "gb.csv"
    row = {"sku_code": "JAR", "units": 10, "reason": "rating_missing", "fields": ["ram:body"]}
    uncounted = pl.DataFrame(
        [row | {name: None for name in UNCOUNTED_COLUMNS if name not in row} | {"archived": False}]
    )
    asked = DeclarationRequest("GB", 2025, 2, "rpd", out)
    said = command._write_left_out(asked, FileRefused(["82"], uncounted=uncounted))
    assert str(tmp_path / "gb.uncounted.csv") in said
    header, line = (tmp_path / "gb.uncounted.csv").read_text(encoding="utf-8").splitlines()
    assert header == "sku_code,units,reason,fields"
    assert line == "JAR,10,rating_missing,ram:body"
    assert not out.exists()


def test_wrong_usage_and_what_cannot_be_declared(operator, tmp_path):
    out = tmp_path / "out.csv"
    assert "no jurisdiction XX" in operator.refused(1, "--market", "XX", out)
    assert "leave --half out" in operator.refused(1, "--market", "FR", "--half", 1, out)
    assert "declare FR as csv or json" in operator.refused(
        1, "--market", "FR", "--format", "rpd", "--organisation-id", "123456", out
    )
    assert "cannot be written" in operator.refused(1, "--market", "FR", tmp_path / "none" / "out.csv")
    assert "--format rpd" in operator.refused(2, "--market", "GB", "--ram", out, out)
    assert "--organisation-id" in operator.refused(2, "--market", "GB", "--format", "rpd", out)
    assert "not one of" in operator.refused(2, "--market", "GB", "--format", "xml", out)
    done = operator.run("declaration", "--company", NOBODY, "--market", "FR", "--year", 2025, out)
    assert (done.returncode, "There is no company" in done.stderr) == (1, True)
    assert not list(tmp_path.iterdir())


def test_the_yearly_report_has_its_lists_beside_it(operator, tmp_path):
    out = tmp_path / "report.csv"
    told = operator.declare("--market", "DE", "--format", "annex_ix", out)
    rows = {row["no"]: row["tonnes"] for row in csv.DictReader(out.read_text().splitlines()) if row["no"]}
    assert {no: tonnes for no, tonnes in rows.items() if float(tonnes)} == {
        "1": "208.250000",  # jars with their closures
        "2": "0.002800",
        "7": "12.500000",
    }
    assert (told["in_scope_tonnes"], told["total_tonnes"], told["uncounted"]) == (220.7528, 220.7528, 1)
    [uncounted] = csv.DictReader(out.with_suffix(".uncounted.csv").read_text().splitlines())
    assert (uncounted["sku_code"], uncounted["question"]) == ("'=BOX", "How heavy is this part?")
    source = json.loads(out.with_suffix(".source.json").read_text())
    assert (source["form"], source["sha256"]) == ("full", hashlib.sha256(out.read_bytes()).hexdigest())
    assert "Article 44" in operator.refused(1, "--market", "GB", "--format", "annex_ix", tmp_path / "gb.csv")
