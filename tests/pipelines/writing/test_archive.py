"""Archiving, coming back and undoing imports, against a plain model; what the audit chain and a snapshot see of it."""

import random
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple
from uuid import UUID, uuid4

import polars as pl
import psycopg
import pytest

from pipelines.figures import blocks, compute_figures, loaded_catalogue
from pipelines.writing.patch import from_records
from pipelines.writing.write import write_patch
from schemas.actors import Actor, Origin
from schemas.skus.inputs import parse_sku, parse_volumes
from services.audit import verify
from services.imports.undo import undo
from services.skus.write import write_records, write_resting_volumes, write_volumes
from warehouse.companies import queries as queries_companies
from warehouse.figures.snapshots import publish
from warehouse.imports import queries
from warehouse.rules import Rulesets
from warehouse.skus import archive

ORIGIN = Origin("api_key", "k", "tests", "c-1")
BODY = {"component_type": "body", "material_family": "plastic", "polymer_or_grade": "PET"}
State = tuple[float, float]
"""Weight of the SKU, and of its one component, whose id stays the same."""
Units = int | None
"""Units placed in Germany in 2025, the past year of the model; None where there are none."""


class Entry(NamedTuple):
    """What a code was after a change: whether archived, its values and units, and the import that made it so."""

    archived: bool
    state: State
    units: Units
    by: UUID | None

    @property
    def written(self) -> tuple[State, Units]:
        return self.state, self.units


@dataclass
class Model:
    """What each code was after each change."""

    past: dict[str, list[Entry]] = field(default_factory=dict)

    def now(self) -> dict[str, tuple[State, Units]]:
        return {code: past[-1].written for code, past in self.past.items() if not past[-1].archived}

    def grams_placed(self) -> float:
        return sum(past[-1].state[1] * (past[-1].units or 0) for past in self.past.values())

    def write(self, code: str, state: State, by: UUID | None, units: Units = None) -> None:
        past = self.past.setdefault(code, [])
        entry = Entry(False, state, units or (past[-1].units if past else None), by)
        if not past or past[-1][:3] != entry[:3]:
            past.append(entry)

    def archive(self, code: str) -> None:
        self.past[code].append(self.past[code][-1]._replace(archived=True, by=None))

    def place(self, code: str, units: Units) -> None:
        if self.past[code][-1].units != units:
            self.past[code].append(self.past[code][-1]._replace(units=units, by=None))

    def undo(self, by: UUID) -> dict[str, int]:
        counts = dict.fromkeys(("restored", "archived", "unchanged", "kept"), 0)
        for past in self.past.values():
            places = [place for place, entry in enumerate(past) if entry.by == by]
            if places:
                before = past[places[0] - 1] if places[0] else None
                outcome, after = undone(before, past[-1], past[places[-1]])
                counts[outcome] += 1
                past.extend([] if after is None else [after])
        return counts


def undone(before: Entry | None, present: Entry, written: Entry) -> tuple[str, Entry | None]:
    """What undoing does to a code, and what it is then where it changes: as before, or archived without its units."""
    was_gone = before is None or before.archived
    units = None if before is None else before.units
    if present.archived:
        if not was_gone:
            return "kept", None
        if present.units == units:
            return "unchanged", None
        return (
            ("archived", present._replace(units=units, by=None)) if present.units == written.units else ("kept", None)
        )
    if not was_gone and present.written == before.written:
        return "unchanged", None
    if present.written != written.written:
        return "kept", None
    state = present.state if before is None else before.state
    return "archived" if was_gone else "restored", Entry(was_gone, state, units, None)


@pytest.fixture
def sku_of(pool, company):
    """The stored state and units of each code that is not archived."""

    def stored() -> dict[str, tuple[State, Units]]:
        query = """SELECT sku_code, weight_grams, (components->0->>'weight_g')::float, (volumes->>'DE/2025/0')::int
            FROM skus"""
        with pool.company(company) as conn:
            return {code: ((weight, part), units) for code, weight, part, units in conn.execute(query)}

    return stored


def placed_grams(pool, company, clock, folder: Path) -> float:
    """Grams of Germany in 2025, as the figures of a snapshot of now have them."""
    snapshot = publish(pool, company, folder, clock.now(), Rulesets())
    with pool.company(company) as conn:
        entries, rules = loaded_catalogue(conn).entries, Rulesets().active(conn)
    tonnes = compute_figures(blocks(snapshot), entries, rules, lambda: None).tonnes
    return float(tonnes.filter(pl.col("year") == 2025)["grams"].sum())


def place(pool, company, clock, code: str, units: Units) -> None:
    """Units of a stored or archived SKU, by the road of `PUT /skus/{id}/volumes`."""
    rows = parse_volumes([{"market": "DE", "year": 2025, "units_placed": units}])
    actor = Actor(company, ORIGIN, clock.now())
    find = "SELECT sku_id FROM archived_skus WHERE returned_at IS NULL AND sku_code = %s"
    with pool.company(company) as conn:
        resting = conn.execute(find, [code]).fetchone()
        if resting:
            assert write_resting_volumes(conn, actor, resting[0], rows, dry_run=False) is not None
        else:
            write_volumes(conn, actor, code, rows, rulesets=Rulesets(), dry_run=False)


def record(code: str, state: State):
    weight, part = state
    return parse_sku(
        {
            "sku_code": code,
            "name": "Jar",
            "weight_grams": weight,
            "components": [{**BODY, "weight_g": part}],
        }
    )


def imported(pool, company, clock, rows: dict[str, State], units: dict[str, int] | None = None) -> UUID:
    """The rows written as an import's chunk, some with units, with the row of an import that has ended."""
    import_id, now = uuid4(), clock.now()
    texts = dict.fromkeys(("sha256", "upload_key", "table_key", "key_name", "correlation_id"), "x")
    new = {"id": import_id, "company_id": company, "status": "completed", "dry_run": False, "filename": "f.csv"}
    new |= {"keep_archived": False, "taken_codes": None}
    rest = {"size_bytes": 1, "default_year": 2026, "source": "{}", "templates": None, "rows_total": 1}
    rest |= {"mapping": None, "answers": None}
    by = {"key_id": uuid4(), "ip": None, "user_agent": None, "created_at": now}

    def work(conn):
        queries.insert(conn, {**new, **texts, **rest, **by})
        rules = Rulesets().active(conn)
        patch, faults = from_records([(at, record(*each)) for at, each in enumerate(rows.items())], rules)
        assert not faults
        sent = {at: f'{{"DE/2025/0":{units[code]}}}' for at, code in enumerate(rows) if code in (units or {})}
        patch = patch.with_volumes(sent)
        write_patch(conn, Actor(company, ORIGIN, now), patch, rules=rules, import_id=import_id)

    pool.run(company, work)
    return import_id


@pytest.mark.parametrize("seed", range(20))
def test_any_order_of_writes_imports_and_undoing_is_as_the_model_says(pool, company, clock, sku_of, *, tmp_path, seed):
    random_ = random.Random(seed)
    model, imports, codes = Model(), list[UUID](), [f"S{number}" for number in range(5)]

    def state() -> State:
        return random_.choice([4.0, 5.0, 6.0]), random_.choice([1.0, 2.0])  # equal ones state no weight

    for step in range(40):
        match random_.choice(["write", "archive", "place", "import", "undo"]):
            case "write":
                code, new = random_.choice(codes), state()
                model.write(code, new, None)
                with pool.company(company) as conn:
                    write_records(
                        conn,
                        Actor(company, ORIGIN, clock.now()),
                        {0: record(code, new)},
                        rulesets=Rulesets(),
                        dry_run=False,
                    )
            case "archive":
                if (code := random_.choice(codes)) in model.now():
                    model.archive(code)
                    with pool.company(company) as conn:
                        row = conn.execute("SELECT id FROM skus WHERE sku_code = %s", [code]).fetchone()
                        assert (
                            archive.archive(
                                conn,
                                Actor(company, ORIGIN, clock.now()),
                                list(row),
                            )
                            == 1
                        )
            case "place" if model.past:
                code, new = random_.choice([*model.past]), random_.choice([None, 100, 2_000])
                model.place(code, new)
                place(pool, company, clock, code, new)
            case "import":
                rows = {code: state() for code in random_.sample(codes, 3)}
                units = {code: random_.choice([30_000, 400_000]) for code in random_.sample([*rows], 2)}
                imports.append(imported(pool, company, clock, rows, units))
                for code, new in rows.items():
                    model.write(code, new, imports[-1], units.get(code))
            case "undo" if imports:
                chosen = random_.choice(imports)
                counts = model.undo(chosen)
                with pool.company(company) as conn:
                    actor = Actor(company, ORIGIN, clock.now())
                    undone = partial(undo, conn, actor, chosen, rulesets=Rulesets())
                    foreseen, done = undone(dry_run=True), undone(dry_run=False)
                assert foreseen == {**done, "dry_run": True}
                assert done["counts"] == counts
        assert sku_of() == model.now()
        if step % 20 == 19:
            assert placed_grams(pool, company, clock, tmp_path) == model.grams_placed()
    with pool.company(company) as conn:
        assert queries_companies.skus(conn, company).held == len(model.now())
        assert verify(conn).ok


@pytest.mark.parametrize("seed", range(4))
def test_no_write_but_of_units_changes_the_tonnes_of_a_past_year(pool, company, clock, tmp_path, seed):
    random_ = random.Random(seed)
    codes, name = [f"S{number}" for number in range(6)], iter(range(1_000))
    imported(pool, company, clock, dict.fromkeys(codes, (1.0, 1.0)), dict.fromkeys(codes, 1000))
    assert placed_grams(pool, company, clock, tmp_path) == 6_000
    later = list[UUID]()

    def renamed(code: str) -> dict[int, object]:
        return {0: parse_sku({"sku_code": code, "name": f"Jar {next(name)}"})}

    for _ in range(12):
        code = random_.choice(codes)
        with pool.company(company) as conn:
            actor = Actor(company, ORIGIN, clock.now())
            match random_.choice(["write", "archive", "return", "undo"]):
                case "write":
                    write_records(conn, actor, renamed(code), rulesets=Rulesets(), dry_run=False)
                case "archive":
                    held = conn.execute("SELECT id FROM skus WHERE sku_code = %s", [code]).fetchone()
                    archive.archive(conn, actor, list(held or ()))
                case "return":
                    later.append(imported(pool, company, clock, {code: (1.0, 1.0)}))
                case "undo" if later:
                    undo(conn, actor, random_.choice(later), rulesets=Rulesets(), dry_run=False)
        assert placed_grams(pool, company, clock, tmp_path) == 6_000


def test_a_snapshot_leaves_archived_skus_without_units_out(pool, company, clock, tmp_path: Path):
    imported(pool, company, clock, {f"S{number}": (1.0, 1.0) for number in range(30)})
    whole = publish(pool, company, tmp_path, clock.now(), Rulesets())
    with pool.company(company) as conn:
        row = conn.execute("SELECT id FROM skus WHERE sku_code = 'S7'").fetchone()
        archive.archive(
            conn,
            Actor(company, ORIGIN, clock.now()),
            list(row),
        )
    after = publish(pool, company, tmp_path, clock.now(), Rulesets())
    assert (whole.rows["skus"], after.rows["skus"]) == (30, 29)


def test_the_application_removes_no_sku_without_archiving_it(pool, company, clock):
    imported(pool, company, clock, {"A": (1.0, 1.0)})
    with pytest.raises(psycopg.errors.RaiseException), pool.company(company) as conn:
        conn.execute("DELETE FROM skus")
