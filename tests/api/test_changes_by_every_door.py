"""A portfolio that every writing door changed in a drawn order is the same portfolio behind every reading door.

The doors that read are compared by the checks of `test_every_door`, here against what `GET /skus/{id}` says of each SKU
after the changes; and each item as it is shown by lists, files, pages, tools and snapshots.
"""

import csv
import io
import re
import zipfile
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any
from uuid import UUID, uuid4

import fastexcel
import pytest

from schemas.actors import Actor, Origin
from schemas.messages import number as number_in_words
from services import suppliers
from services.review import decide
from tests.api.asking import OPERATOR
from tests.api.people import signed_in
from tests.api.portfolios import counted, exported, run, service_behind, weighed
from tests.api.test_every_door import (
    CUP,
    MARKETS,
    PERIODS,
    POLYMERS,
    Company,
    Doors,
    check_counts,
    check_tonnes,
    check_units,
    check_verdicts,
)
from tests.pipelines.reading.writing import delimited, workbook
from warehouse import review

CODES = [f"S-{number}" for number in range(12)]
UNITS = (0, 1, 7, 333_333, 4_000_000)
PLACED_BY_FILE = [(market, year) for market in ("DE", "FR") for year in (2025, 2026)]
SHOWN = ("recyclability_grade", "recyclability_score", "doc_status", "markets", "weight_grams", "packaging_format")
PERSON = Origin("user", str(uuid4()), "Ada Marsh", "c-2")


class Writers:
    """The doors by which a company's SKUs are changed, each with facts of its own drawing."""

    def __init__(self, caller: Any, pool: Any, drawn: Random) -> None:
        self.caller, self.pool, self.drawn = caller, pool, drawn
        self.imports: list[str] = []

    def code(self) -> str:
        return self.drawn.choice(CODES)

    def held(self) -> list[dict[str, Any]]:
        return self.caller.get("/skus", params={"limit": 200, "include": "components"}).json()["data"]

    def parts(self) -> list[dict[str, Any]]:
        kinds = ("body", "closure")[: self.drawn.randint(1, 2)]
        weights = (None, 0, 9, 12.3456789)
        return [
            {"component_type": kind, "material_family": "plastic", "polymer_or_grade": self.drawn.choice(POLYMERS),
             "weight_g": self.drawn.choice(weights)}
            for kind in kinds
        ]  # fmt: skip

    def markets(self) -> list[str] | None:
        return self.drawn.choice((None, self.drawn.sample(MARKETS, self.drawn.randint(0, 2))))

    def placed(self) -> list[dict[str, Any]]:
        return [
            {"market": market, "year": year, "half": half, "units_placed": self.drawn.choice(UNITS)}
            for market, year, half in self.drawn.sample(PERIODS, self.drawn.randint(1, 4))
        ]

    def fields(self) -> dict[str, Any]:
        """Some fields of a SKU, so that a change leaves others as they are."""
        drawn = {
            "markets": self.markets(),
            "components": self.parts(),
            "food_contact": self.drawn.random() < 0.5,
            **CUP,
        }
        return {name: value for name, value in drawn.items() if self.drawn.random() < 0.6}

    def row(self) -> dict[str, Any]:
        return {"sku_code": self.code(), "name": "Cup", **self.fields()}

    def done(self, answer: Any) -> None:
        assert answer.status_code < 300, answer.text

    def post(self) -> None:
        self.done(self.caller.post("/skus", self.row()))

    def put(self) -> None:
        for sku in self.held()[:1]:
            self.done(
                self.caller.put(f"/skus/{sku['id']}", {"sku_code": sku["sku_code"], "name": "P", **self.fields()})
            )

    def patch(self) -> None:
        for sku in self.held()[-1:]:
            self.done(self.caller.request("PATCH", f"/skus/{sku['id']}", json=self.fields() or {"name": "Q"}))

    def batch(self) -> None:
        rows = {row["sku_code"]: {**row, "volumes": self.placed()} for row in (self.row() for _ in range(4))}
        answer = self.caller.post("/skus/batch", {"skus": [*rows.values()]})
        assert not answer.json()["summary"]["rejected"], answer.text

    def volumes(self) -> None:
        for sku in self.held()[1:2]:
            rows = self.placed()
            rows[0]["units_placed"] = None
            self.done(self.caller.put(f"/skus/{sku['id']}/volumes", rows))

    def csv(self) -> None:
        """Names, markets and units of a few codes."""
        columns = [f"annual_volume_{market}_{year}" for market, year in PLACED_BY_FILE]
        table = [["sku_code", "name", "markets", "packaging_format", *columns]]
        for code in self.drawn.sample(CODES, 4):
            units = [str(self.drawn.choice(("", *UNITS))) for _ in columns]
            table.append([code, "By CSV", ";".join(self.markets() or ()), self.drawn.choice(("cup", "")), *units])
        self._imported(delimited(table), "portfolio.csv")

    def xlsx(self) -> None:
        """Names and whole graphs of a few codes."""
        items = [["sku_code", "name"]]
        parts: list[list[Any]] = [["sku_code", "component_type", "material_family", "polymer_or_grade", "weight_g"]]
        for code in self.drawn.sample(CODES, 3):
            items.append([code, "By workbook"])
            parts += [[code, *part.values()] for part in self.parts()]
        self._imported(workbook({"SKUs": items, "components": parts}), "portfolio.xlsx")

    def _imported(self, data: bytes, filename: str) -> None:
        answer = self.caller.post("/imports", content=data, params={"filename": filename})
        assert answer.status_code == 202, answer.text
        self.imports.append(answer.json()["id"])
        run(self.caller, self.imports[-1])
        report = self.caller.get(f"/imports/{self.imports[-1]}").json()
        assert (report["status"], report["counts"]["rejected"]) == ("completed", 0), report["errors"]

    def undo(self) -> None:
        if self.imports:
            self.done(self.caller.post(f"/imports/{self.imports.pop()}/undo", {}))

    def archive(self) -> None:
        for sku in self.held()[2:3]:
            self.done(self.caller.post(f"/skus/{sku['id']}/archive", {}))

    def bring_back(self) -> None:
        for sku in self.caller.get("/skus/archived").json()["data"][:1]:
            self.done(self.caller.post(f"/skus/{sku['id']}/return", {}))

    def supplier(self) -> None:
        """A supplier weighs the parts of one SKU, and its answer is accepted."""
        for sku in [sku for sku in self.held() if sku["components"]][:1]:
            actor = Actor(self.caller.company, OPERATOR, datetime.now(UTC))
            ids = [UUID(part["id"]) for part in sku["components"]]
            with self.pool.company(self.caller.company) as conn:
                _, token = suppliers.create_request(
                    conn, actor, sku_code=sku["sku_code"], component_ids=ids, supplier_name="Préformes du Rhône"
                )
            said = [{"component_id": str(part), "weight_g": self.drawn.choice((9, 12.5))} for part in ids]
            answer = self.caller.http.post(
                f"/api/supplier-data/{token}",
                json={"consent": True, "response": {"components": said}},
                headers={"X-Forwarded-For": self.caller.address},
            )
            assert answer.status_code == 202, answer.text
            service = service_behind(self.caller)
            with self.pool.company(self.caller.company) as conn:
                [entry] = review.page(conn)[0]
                accepting = Actor(self.caller.company, PERSON, service.clock.now())
                decide.accept(conn, accepting, entry.id, rulesets=service.rulesets, reason="Confirmed")


DOORS: tuple[Callable[[Writers], None], ...] = (
    Writers.post, Writers.put, Writers.patch, Writers.batch, Writers.volumes, Writers.csv, Writers.xlsx, Writers.undo,
    Writers.archive, Writers.bring_back, Writers.supplier,
)  # fmt: skip


@pytest.mark.processes
@pytest.mark.parametrize("seed", [1, 2])
def test_what_every_door_wrote_every_door_reads(stopped, clock, pool, seed):
    drawn, caller = Random(seed), stopped
    writers = Writers(caller, pool, drawn)
    writers.batch()
    for _ in range(2):
        for write in drawn.sample(DOORS, len(DOORS)):
            write(writers)
        counted(caller)  # the second time only what has changed since
        weighed(caller)
    browser = signed_in(caller, pool)
    doors, records = Doors(caller, browser), {}
    for archived in (False, True):
        for sku in doors.rows("/skus/archived" if archived else "/skus"):
            records[sku["sku_code"]] = {**caller.get(f"/skus/{sku['id']}").json()["data"], "archived": archived}
    company = Company(records)
    for check in (check_items, check_counts, check_units, check_tonnes):
        check(company, doors)
        clock.advance(timedelta(minutes=2))  # requests of a minute are limited
    check_verdicts(doors)


def check_items(company: Company, doors: Doors) -> None:
    """Each item as lists, files, pages, tools and the snapshot show it."""
    expected = {code: {name: sku[name] for name in SHOWN} for code, sku in company.listed.items()}
    listed = doors.rows("/skus", include="compliance,components,volumes")
    assert {sku["sku_code"]: {name: sku[name] for name in SHOWN} for sku in listed} == expected
    for sku in listed:
        record = company.listed[sku["sku_code"]]
        assert all(sku[name] == record[name] for name in ("compliance", "components", "volumes")), sku["sku_code"]
    [items] = doors.ask(("list_packaging_items", {"limit": 200}))
    assert {sku["sku_code"]: {name: sku.get(name) for name in SHOWN} for sku in items["items"]} == expected
    single = doors.ask(*(("get_packaging_item", {"sku_code": code, "limit": 50}) for code in expected))
    assert {each["item"]["sku_code"]: {name: each["item"].get(name) for name in SHOWN} for each in single} == expected
    cells = {code: {name: cell(value) for name, value in sku.items()} for code, sku in expected.items()}
    assert by_code(csv_rows(doors.caller.get("/skus/export").content)) == cells
    assert by_code(sheet_rows(doors.caller.get("/skus/export", params={"format": "xlsx"}).content)) == cells
    check_exports(company, doors, cells)
    check_pages(company, doors)


def check_exports(company: Company, doors: Doors, cells: dict[str, dict[str, str]]) -> None:
    """The files of the whole portfolio, from the store and from the snapshot."""
    asked = {
        (form, source): doors.caller.post("/exports", {"format": form, "source": source}).json()["data"]["id"]
        for form in ("csv", "xlsx")
        for source in ("records", "snapshot")
    }
    exported(doors.caller)
    for (form, source), export in asked.items():
        file = doors.caller.get(f"/exports/{export}/file").content
        if form == "csv":
            with zipfile.ZipFile(io.BytesIO(file)) as archive:
                tables = {name: csv_rows(archive.read(f"{name}.csv")) for name in ("skus", "components", "volumes")}
        else:
            tables = {name: sheet_rows(file, name) for name in ("skus", "components", "volumes")}
        for row in tables["skus"]:
            row["weight_grams"] = row["weight_grams"] or row["components_weight_g"]  # apart, as they are stored
            in_effect = row.get("markets_in_effect")
            markets = company.markets(company.listed[row["sku_code"]])
            assert in_effect is None or {*in_effect.split(";")} - {""} == markets, row["sku_code"]
        assert by_code(tables["skus"]) == cells, (form, source)
        of_volumes = sorted(
            (row["sku_code"], row["market"], int(float(row["units_placed"]))) for row in tables["volumes"]
        )
        assert of_volumes == sorted(
            (code, row["market"], row["units_placed"]) for code, sku in company.listed.items() for row in sku["volumes"]
        ), (form, source)
        weights = Counter((row["sku_code"], row["weight_g"]) for row in tables["components"])
        assert weights == Counter(
            (code, cell(part["weight_g"])) for code, sku in company.listed.items() for part in sku["components"]
        ), (form, source)


def check_pages(company: Company, doors: Doors) -> None:
    """The list and the item's own page, each with the grade; the list with weight and markets."""
    table = doors.page("/items?columns=recyclability_grade&columns=weight_grams&columns=markets")
    rows = {
        re.search("<code>(.+?)</code>", row)[1]: re.findall("<td>(.*?)</td>", row, re.DOTALL)[-3:]
        for row in re.findall('<tr>(.*?scope="row".*?)</tr>', table, re.DOTALL)
    }
    assert rows.keys() == company.listed.keys()
    for code, sku in company.listed.items():
        grade, markets, weight = rows[code]
        assert f"grade-{sku['recyclability_grade']}" in grade, code
        score = sku["recyclability_score"]
        assert score is None or number_in_words(score, "en", 2) in grade, code
        assert (weight.split(" ")[0] == "–") is (sku["weight_grams"] is None), code
        if sku["weight_grams"] is not None:
            assert float(weight.split(" ")[0].replace(",", "")) == pytest.approx(sku["weight_grams"], abs=5e-4), code
        assert (markets == "–") is (not sku["markets"]), code
        own = doors.page(f"/items/{sku['id']}").partition('id="grade"')[2].partition("</p>")[0]
        assert f"grade-{sku['recyclability_grade']}" in own, code


def by_code(rows: list[dict[str, str]]) -> dict[str, dict[str, str]]:
    return {row["sku_code"]: {name: row[name] for name in SHOWN} for row in rows}


def cell(value: object) -> str:
    """A value as files have it."""
    if isinstance(value, list):
        return ";".join(value)
    return "" if value is None else str(float(value)) if isinstance(value, int | float) else str(value)


def csv_rows(data: bytes) -> list[dict[str, str]]:
    return [{k: number(v) for k, v in row.items()} for row in csv.DictReader(io.StringIO(data.decode("utf-8-sig")))]


def sheet_rows(data: bytes, sheet: str | int = 0) -> list[dict[str, str]]:
    frame = fastexcel.read_excel(data).load_sheet(sheet).to_polars()
    return [{name: number(cell(value)) for name, value in row.items()} for row in frame.to_dicts()]


def number(text: str) -> str:
    """A number of a file as one writes it; other texts as they are."""
    return str(float(text)) if re.fullmatch(r"-?\d+(\.\d+)?", text) else text
