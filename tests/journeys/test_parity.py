"""One record by three roads (a JSON body, a CSV file, a workbook): stored identically, refused identically.

Each example is a portfolio that is written twice to the same codes: new SKUs first, then changes to them. What can be
said by all three is `saying.py`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from uuid import UUID, uuid4

import orjson
import pytest
from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis import strategies as st

from compliance.catalogue import served
from pipelines.catalogue import load, read
from pipelines.readers.pool import Readers
from schemas.actors import Actor
from schemas.refusals import Refused
from schemas.skus.inputs import parse_sku
from services.skus.write import write_records
from tests.journeys import saying
from tests.journeys.saying import Record
from tests.pipelines.conftest import ORIGIN, Desk
from tests.pipelines.instances import ephemeral
from tests.pipelines.reading.writing import delimited, workbook
from tests.pipelines.stocked import stock
from warehouse import library
from warehouse.operate.clock import StoppedClock
from warehouse.operate.database import Database
from warehouse.operate.sessions import Pool
from warehouse.skus.tables import DERIVED_COLUMNS, VALUE_COLUMNS

IDS = {
    "brands": ["019a0000-0000-7000-8000-0000000000b1"],
    "sites": ["019a0000-0000-7000-8000-0000000000c1", "019a0000-0000-7000-8000-0000000000c2"],
    "suppliers": ["019a0000-0000-7000-8000-0000000000d1"],
    "library_components": ["019a0000-0000-7000-8000-0000000000e1", "019a0000-0000-7000-8000-0000000000e2"],
}
"""The ids of the records below; each company has its own in their place."""

KEPT = [name for name in (*VALUE_COLUMNS, *DERIVED_COLUMNS) if name != "volumes"]
Refusals = set[tuple[str, str | None]]
Outcome = tuple[dict[str, Refusals], dict[str, Record]]
"""Codes and columns of the refusals by SKU, and the stored rows by SKU."""


class House:
    """A company with its library, and the three roads to it."""

    def __init__(self, desk: Desk) -> None:
        self.desk, self.own = desk, {}
        for resource, table, values in (
            ("brand", "brands", {"name": "Brand"}),
            ("site", "sites", {"name": "Site", "roles": ["packing"]}),
            ("supplier", "suppliers", {"name": "Supplier"}),
            (
                "library_component",
                "library_components",
                {"component_type": "cap", "name": "Cap", "material_family": "plastic", "weight_g": 2.5},
            ),
        ):
            for number, stand_in in enumerate(IDS[table]):
                named = {**values, "name": f"{values['name']} {number}"}
                if resource == "library_component":
                    named |= {"code": f"L{number}", "supplier_id": self.own[IDS["suppliers"][0]] if number else None}
                self.own[stand_in] = str(uuid4())
                with desk.pool.company(desk.company) as conn:
                    library.add(
                        conn, resource, desk.company, UUID(self.own[stand_in]), values=named, at=desk.clock.now()
                    )

    def json(self, records: Sequence[Record]) -> Outcome:
        """Each record as the body of a POST."""
        refused = {}
        for record in records:
            try:
                body = parse_sku(orjson.loads(orjson.dumps(saying.replaced(record, self.own))))
                with self.desk.pool.company(self.desk.company) as conn:
                    [row] = write_records(
                        conn,
                        Actor(self.desk.company, ORIGIN, self.desk.clock.now()),
                        {0: body},
                        rulesets=self.desk.rulesets,
                        dry_run=False,
                    ).values()
                issues = row.errors
            except Refused as invalid:
                issues = invalid.issues
            refused[record["sku_code"]] = {(issue.code, saying.column_of(issue.field)) for issue in issues}
        return refused, self.stored()

    def csv(self, records: Sequence[Record]) -> Outcome:
        """All records as the lines of one file."""
        rows = saying.table(saying.replaced(records, self.own), saying.SKU_COLUMNS, saying.text_cell)
        return self._imported(records, delimited(rows), "portfolio.csv")

    def xlsx(self, records: Sequence[Record]) -> Outcome:
        """All records as the rows of one sheet, their components as those of another."""
        mine = saying.replaced(records, self.own)
        parts = [{"sku_code": r["sku_code"], **line} for r in mine for line in r.get("components", ())]
        sheets = {"SKUs": saying.table(mine, saying.SKU_COLUMNS, saying.workbook_cell)}
        if parts:
            sheets["components"] = saying.table(parts, saying.COMPONENT_COLUMNS, saying.workbook_cell)
        return self._imported(records, workbook(sheets), "portfolio.xlsx")

    def _imported(self, records: Sequence[Record], data: bytes, filename: str) -> Outcome:
        # A column of shares that are all up to 1 is asked about, and this is the answer (decisions §13).
        percent = {"units": {"recycled_content_percent": "percent"}}
        of_parts = {"components": percent} if any(record.get("components") for record in records) else {}
        mapping = {**percent, **(of_parts if filename.endswith("xlsx") else {})}
        import_id = self.desk.send(data, filename=filename, mapping=mapping)
        assert self.desk.finish(import_id)
        refused: dict[str, Refusals] = {record["sku_code"]: set() for record in records}
        for code, field, issue in self.desk.rows(
            f"SELECT sku_code, field, code FROM import_errors WHERE company_id = %s AND import_id = '{import_id}'"
        ):
            refused[code].add((issue, field))
        return refused, self.stored()

    def stored(self) -> dict[str, Record]:
        """The SKUs as they are held: values and what follows from them, ids by their stand-ins."""
        theirs = {own: stand_in for stand_in, own in self.own.items()}
        rows = self.desk.rows(f"SELECT {', '.join(KEPT)} FROM skus WHERE company_id = %s")
        return {row[0]: saying.replaced(dict(zip(KEPT, row, strict=True)), theirs) for row in rows}


@pytest.fixture
def house(  # noqa: PLR0917  (fixtures are asked for by name)
    pool: Pool,
    database: Database,
    clock: StoppedClock,
    tmp_path: Path,
    new_company: Callable[[str], UUID],
    readers: Readers,
) -> Iterator[Callable[[], House]]:
    """Makes houses, each of a company of its own."""
    release = read(None)
    with pool.system() as connection:
        load(connection, release, ORIGIN, clock.now())
    assert any(entry.code == "US-CA" for entry in served(release.entries))
    with ephemeral() as instance:
        desk = Desk(stock(pool, clock, tmp_path, readers), database, instance, uuid4())
        yield lambda: House(replace(desk, company=new_company("enterprise")))


def portfolios(*, parts: bool) -> st.SearchStrategy[list[tuple[Record, Record]]]:
    """SKUs as they are first sent and as they are sent again."""
    return st.lists(st.tuples(*[saying.skus(IDS, parts=parts)] * 2), min_size=8, max_size=12)


def differences(one: Outcome, other: Outcome, sent: Sequence[Record]) -> list[object]:
    """The records that two roads took differently: what each refused, what each holds, what was sent."""
    found: list[object] = []
    for record in sent:
        code = record["sku_code"]
        if one[0][code] != other[0][code]:
            found.append((one[0][code], other[0][code], record))
        held, there = one[1].get(code), other[1].get(code)
        if held is None or there is None:
            found += [] if held == there else [(held, there, record)]
        else:
            found += [(name, held[name], there[name], record) for name in KEPT if held[name] != there[name]]
    return found


BOUNDED = settings(
    max_examples=6,
    phases=[Phase.explicit, Phase.generate],
    verbosity=Verbosity.quiet,  # a difference names its record; the whole portfolio would bury it
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
CODED = [" S-1 ", "00123", "3-4", "é 漢", "1E5", "-5", "TRUE", "S_8", "S-9", "S-10", "S-11", "S-12"]


@BOUNDED
@given(portfolio=portfolios(parts=False))
def test_a_record_is_the_same_by_json_csv_and_workbook(house, portfolio):
    roads = [(name, getattr(house(), name)) for name in ("json", "csv", "xlsx")]
    for turn in (0, 1):
        sent = [{"sku_code": code.strip(), **pair[turn]} for code, pair in zip(CODED, portfolio, strict=False)]
        by_json, *by_file = [road(sent) for _, road in roads]
        for outcome in by_file:
            assert not differences(by_json, outcome, sent)


@BOUNDED
@given(portfolio=portfolios(parts=True))
def test_a_graph_is_the_same_by_json_and_components_sheet(house, portfolio):
    roads = [house().json, house().xlsx]
    for turn in (0, 1):
        sent = [{"sku_code": code.strip(), **pair[turn]} for code, pair in zip(CODED, portfolio, strict=False)]
        by_json, by_sheet = [road(sent) for road in roads]
        assert not differences(by_json, by_sheet, sent)
