"""Archiving, coming back and undoing imports, against a plain model; what the audit chain and a snapshot see of it."""

import random
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from uuid import UUID, uuid4

import psycopg
import pytest

from pipelines.imports.undo import undo
from pipelines.writing.patch import from_records
from pipelines.writing.records import write_records
from pipelines.writing.write import write_patch
from schemas.models import parse_sku
from services.audit.verify import verify
from warehouse.audit.origin import Origin
from warehouse.companies import limits
from warehouse.imports import queries
from warehouse.rulesets.registry import Rulesets
from warehouse.skus import archive
from warehouse.snapshots.publish import publish

ORIGIN = Origin("api_key", "k", "tests", "c-1")
BODY = {"component_type": "body", "material_family": "plastic", "polymer_or_grade": "PET"}
State = tuple[float, float]
"""Weight of the SKU, and of its one component, whose id stays the same."""


@dataclass
class Model:
    """What each code was after each change, None while it is archived, and the import that made it so."""

    past: dict[str, list[tuple[State | None, UUID | None]]] = field(default_factory=dict)

    def now(self) -> dict[str, State]:
        return {code: past[-1][0] for code, past in self.past.items() if past[-1][0] is not None}

    def write(self, code: str, state: State, by: UUID | None) -> None:
        past = self.past.setdefault(code, [])
        if not past or past[-1][0] != state:
            past.append((state, by))

    def undo(self, by: UUID) -> dict[str, int]:
        counts = dict.fromkeys(("restored", "archived", "unchanged", "kept"), 0)
        for past in self.past.values():
            places = [place for place, (_, author) in enumerate(past) if author == by]
            if not places:
                continue
            before = past[places[0] - 1] if places[0] else (None, None)
            present, written = past[-1][0], past[places[-1]][0]
            if present == before[0]:
                counts["unchanged"] += 1
            elif present is None or present != written:
                counts["kept"] += 1
            else:
                counts["archived" if before[0] is None else "restored"] += 1
                past.append(before if before[0] is not None else (None, None))
        return counts


@pytest.fixture
def sku_of(pool, company):
    """The stored state of a code; None where it is not stored."""

    def stored() -> dict[str, State]:
        query = "SELECT sku_code, weight_grams, (components->0->>'weight_g')::float FROM skus"
        with pool.company(company) as conn:
            return {code: (weight, part) for code, weight, part in conn.execute(query)}

    return stored


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


def imported(pool, company, clock, rows: dict[str, State]) -> UUID:
    """The rows written as an import's chunk, with the row of an import that has ended."""
    import_id, now = uuid4(), clock.now()
    texts = dict.fromkeys(("sha256", "upload_key", "table_key", "key_name", "correlation_id"), "x")
    new = {"id": import_id, "company_id": company, "status": "completed", "dry_run": False, "filename": "f.csv"}
    rest = {"size_bytes": 1, "default_year": 2026, "source": "{}", "templates": None, "rows_total": 1}
    by = {"key_id": uuid4(), "ip": None, "user_agent": None, "created_at": now}

    def work(conn):
        queries.insert(conn, {**new, **texts, **rest, **by})
        rules = Rulesets().active(conn)
        patch, faults = from_records([(at, record(*each)) for at, each in enumerate(rows.items())], rules)
        assert not faults
        write_patch(conn, company, patch, origin=ORIGIN, now=now, rules=rules, import_id=import_id)

    pool.run(company, work)
    return import_id


@pytest.mark.parametrize("seed", range(20))
def test_any_order_of_writes_imports_and_undoing_is_as_the_model_says(pool, company, clock, sku_of, seed):
    random_ = random.Random(seed)
    model, imports, codes = Model(), list[UUID](), [f"S{number}" for number in range(5)]

    def state() -> State:
        return random_.choice([1.0, 2.0, 3.0]), random_.choice([1.0, 2.0])

    for _ in range(40):
        match random_.choice(["write", "archive", "import", "undo"]):
            case "write":
                code, new = random_.choice(codes), state()
                model.write(code, new, None)
                with pool.company(company) as conn:
                    write_records(
                        conn,
                        company,
                        {0: record(code, new)},
                        origin=ORIGIN,
                        now=clock.now(),
                        rulesets=Rulesets(),
                        dry_run=False,
                    )
            case "archive":
                if (code := random_.choice(codes)) in model.now():
                    model.past[code].append((None, None))
                    with pool.company(company) as conn:
                        row = conn.execute("SELECT id FROM skus WHERE sku_code = %s", [code]).fetchone()
                        assert archive.archive(conn, company, list(row), origin=ORIGIN, now=clock.now()) == 1
            case "import":
                rows = {code: state() for code in random_.sample(codes, 3)}
                imports.append(imported(pool, company, clock, rows))
                for code, new in rows.items():
                    model.write(code, new, imports[-1])
            case "undo" if imports:
                chosen = random_.choice(imports)
                counts = model.undo(chosen)
                with pool.company(company) as conn:
                    rules = Rulesets().active(conn)
                    undone = partial(undo, conn, company, chosen, origin=ORIGIN, now=clock.now(), rules=rules)
                    foreseen, done = undone(dry_run=True), undone(dry_run=False)
                assert foreseen == done
                found = {name: getattr(done, name) for name in ("restored", "archived", "unchanged")}
                assert found | {"kept": len(done.kept)} == counts
        assert sku_of() == model.now()
    with pool.company(company) as conn:
        assert limits.skus(conn, company).held == len(model.now())
        assert verify(conn).ok


def test_a_snapshot_leaves_archived_skus_out(pool, company, clock, tmp_path: Path):
    imported(pool, company, clock, {f"S{number}": (1.0, 1.0) for number in range(30)})
    whole = publish(pool, company, tmp_path, clock.now(), Rulesets())
    with pool.company(company) as conn:
        row = conn.execute("SELECT id FROM skus WHERE sku_code = 'S7'").fetchone()
        archive.archive(conn, company, list(row), origin=ORIGIN, now=clock.now())
    after = publish(pool, company, tmp_path, clock.now(), Rulesets())
    assert (whole.rows["skus"], after.rows["skus"]) == (30, 29)


def test_the_application_removes_no_sku_without_archiving_it(pool, company, clock):
    imported(pool, company, clock, {"A": (1.0, 1.0)})
    with pytest.raises(psycopg.errors.RaiseException), pool.company(company) as conn:
        conn.execute("DELETE FROM skus")
