"""From the rules of 2026-11-22 to those of 2026-11-26, with seeded kills: at no instant is anything between the two.

The run is broken off between blocks and its database session is killed inside of them, by the server, as it is when a
worker dies. An observer looks all the while: the statement that it asks sees one instant.
"""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from random import Random
from typing import Any

import psycopg
import pytest

from compliance import grading
from compliance.ruleset import load
from pipelines import rules as pipeline
from services import rules
from tests.compliance.worked import EXAMPLES, record_of
from tests.conftest import migrated
from tests.pipelines.regrading.office import OPERATOR, Office, opened
from warehouse import rules as rules_warehouse
from warehouse.operate.clock import StoppedClock
from warehouse.operate.database import Database

OLD, NEW = "2026-11-22", "2026-11-26"
BLOCK = 25
SEEDS = (1, 20261126)


def pack(form: str, body: Mapping[str, Any], *parts: Mapping[str, Any]) -> dict[str, Any]:
    components = [{"component_type": "body", **body}, *parts]
    return {"packaging_format": form, "packaging_level": "sales", "components": components}


def plastic(polymer: str, weight_g: float = 20.0) -> dict[str, Any]:
    return {"material_family": "plastic", "polymer_or_grade": polymer, "weight_g": weight_g}


GLASS = {"material_family": "glass", "polymer_or_grade": "GL70", "weight_g": 300.0, "colour": "transparent"}
ZAMAK = {"component_type": "cap", "material_family": "metal", "polymer_or_grade": "zamak", "weight_g": 20.0}
CHANGED = {
    "PET tray with a lid of PET/PE": (
        pack("tray", plastic("PET") | {"colour": "transparent"}, plastic("PET/PE", 2.0) | {"component_type": "seal"}),
        ("not_assessed", "B"),
    ),
    "PP tray with a lid of PA/PE": (
        pack("tray", plastic("PP") | {"colour": "natural"}, plastic("PA/PE", 2.0) | {"component_type": "seal"}),
        ("not_assessed", "B"),
    ),
    "PP tray with a lid of PET, whose rule has another number": (
        pack("tray", plastic("PP") | {"colour": "natural"}, plastic("PET", 2.0) | {"component_type": "seal"}),
        ("B", "B"),
    ),
    "glass bottle with a zamak cap": (pack("bottle", GLASS, ZAMAK | {"attachment": "firmly_attached"}), None),
}
"""What the new rules see otherwise, with the grades by both where they were worked out by hand."""
KEPT = {example["name"]: record_of(example) for of, example in (p.values for p in EXAMPLES) if of == NEW}
RECORDS = {
    f"S-{number:03}": record
    for number, record in enumerate([*KEPT.values()] * 4 + [record for record, _ in CHANGED.values()] * 15)
}

_INSTANT = """
SELECT s.sku_code, s.recyclability_grade, s.recyclability_score::float8, s.grade_provisional, s.ruleset_version,
       s.version, coalesce(s.sku_code <= r.position, r.finished_at IS NOT NULL), r.skus, r.changed,
       e.entries
FROM regrades r CROSS JOIN skus s
JOIN (SELECT resource_id, count(*) AS entries FROM audit_entries GROUP BY 1) e ON e.resource_id = s.id::text
ORDER BY 1
"""


class Observer:
    """Looks at all SKUs of one instant, as a session of its own."""

    def __init__(self, office: Office) -> None:
        self.office = office
        self.held = {of: {code: self._graded(code, of) for code in RECORDS} for of in (OLD, NEW)}
        self.moved = {code for code in RECORDS if self._explained(code, OLD) != self._explained(code, NEW)}
        self.instants = 0

    @staticmethod
    def _graded(code: str, version: str) -> tuple[object, ...]:
        given = grading.grade(RECORDS[code], load(version))
        return given.grade, given.score, given.provisional

    @staticmethod
    def _explained(code: str, version: str) -> dict[str, Any]:
        return {**grading.explain(RECORDS[code], load(version)), "ruleset_version": None}

    def look(self) -> int:
        """Return how many SKUs the new rules have graded; each is wholly by one rule-set, and the ledger agrees."""
        with self.office.pool.company(self.office.company) as conn:
            rows = conn.execute(_INSTANT).fetchall()
        by_new = 0
        for code, grade, score, provisional, by, version, is_done, *_, entries in rows:
            assert (grade, score, provisional) == self.held[by][code], (code, by)
            assert by == (NEW if is_done and code in self.moved else OLD), code
            assert version == entries == (2 if by == NEW else 1), code
            by_new += by == NEW
        assert {(row[7], row[8]) for row in rows} == {(sum(row[6] for row in rows), by_new)}
        self.instants += 1
        return by_new

    @contextmanager
    def looking(self) -> Iterator[None]:
        """Look all the while; raise what was between."""
        stop, faults = threading.Event(), list[BaseException]()

        def watch() -> None:
            while not stop.is_set() and not faults:
                try:
                    self.look()
                except (AssertionError, psycopg.Error) as fault:
                    faults.append(fault)

        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            yield
        finally:
            stop.set()
            watcher.join()
        assert faults == []


@pytest.mark.parametrize("seed", SEEDS)
def test_at_no_instant_is_a_sku_between_two_rule_sets(
    server: Database, clock: StoppedClock, tmp_path: Any, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr("warehouse.rules.FRESH_SECONDS", 0.0)
    monkeypatch.setattr(pipeline, "FRESH_SECONDS", 0.0)
    chance, killed = Random(seed), list[str]()
    with migrated(server) as database, opened(database, clock, tmp_path) as office:
        activate(office, OLD)
        for start in range(0, len(RECORDS), 100):
            office.write(**dict([*RECORDS.items()][start : start + 100]))
        activate(office, NEW)
        observer = Observer(office)
        assert observer.look() == 0
        assert 50 < len(observer.moved) < len(RECORDS) - 200

        def killing(name: str, work: Any) -> Any:
            """The same step of a block, whose session the server ends now and then before it."""

            def step(conn: Any, *given: Any, **more: Any) -> Any:
                if chance.random() < 0.25:
                    killed.append(name)
                    with psycopg.connect(database.owner_url, autocommit=True) as owner:
                        owner.execute("SELECT pg_terminate_backend(%s)", [conn.info.backend_pid])
                return work(conn, *given, **more)

            return step

        monkeypatch.setattr(pipeline, "store", killing("store", pipeline.store))
        monkeypatch.setattr(rules_warehouse, "advance", killing("advance", rules_warehouse.advance))
        with observer.looking():
            while rules_warehouse.open_regrades(office.pool):
                left = iter([None] * chance.randrange(1, 3))
                with suppress(StopIteration, psycopg.OperationalError):
                    pipeline.regrade_company(office.services(BLOCK), office.company, lambda left=left: next(left))
                observer.look()
        assert {*killed} == {"store", "advance"}
        assert observer.look() == len(observer.moved)
        assert observer.instants > 20
        for (record, grades), code in zip(CHANGED.values(), list(RECORDS)[-4:], strict=True):
            assert RECORDS[code] == record
            assert grades in (None, (observer.held[OLD][code][0], observer.held[NEW][code][0]))
        assert office.chain_holds()


def activate(office: Office, version: str) -> None:
    with psycopg.connect(office.database.owner_url) as owner:
        rules.activate(owner, version, OPERATOR, office.clock.now())
