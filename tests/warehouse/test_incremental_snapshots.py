"""A snapshot takes over what no write touched, and holds the same rows as one that is read anew."""

import random
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import orjson
import polars as pl
import psycopg
import pytest
from polars.testing import assert_frame_equal

from schemas.actors import Actor, Origin
from schemas.skus.inputs import parse_volumes
from services.skus.write import write_volumes
from tests.dying import killed_before
from warehouse import conformity
from warehouse.audit import ledger
from warehouse.figures import snapshots, source
from warehouse.figures.snapshots import MANIFEST, TABLES, Snapshot, current, publish
from warehouse.operate.clock import StoppedClock
from warehouse.operate.database import Database
from warehouse.operate.sessions import Pool
from warehouse.rules import Rulesets

PART = 7
ORIGIN = Origin("system", None, "tests", "c-1")
Write = Callable[..., None]
Do = Callable[[], None]


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (source, snapshots, snapshots):
        monkeypatch.setattr(module, "PART_SKUS", PART)


@pytest.fixture
def place_units(pool: Pool, company: UUID, clock: StoppedClock) -> Callable[[str, int | None], None]:
    """Reports units of a SKU, or clears them."""

    def placed(sku_code: str, units: int | None) -> None:
        rows = parse_volumes([{"market": "FR", "year": 2026, "units_placed": units}])
        now = clock.now()
        pool.run(
            company,
            lambda conn: write_volumes(
                conn, Actor(company, ORIGIN, now), sku_code, rows, rulesets=Rulesets(), dry_run=False
            ),
        )

    return placed


@pytest.fixture
def declare(pool: Pool, company: UUID, clock: StoppedClock) -> Callable[[str, int, int], None]:
    """Adds a DoC that begins and ends so many days from now."""

    def declared(sku_code: str, begins: int, ends: int) -> None:
        today, doc_id = clock.today(), uuid4()
        with pool.company(company) as conn:
            sku_id = conn.execute("SELECT id FROM skus WHERE sku_code = %s", (sku_code,)).fetchone()[0]
            conformity.add(
                conn,
                company,
                doc_id,
                at=clock.now(),
                values={
                    "sku_id": sku_id,
                    "reference": "R",
                    "supplier_name": None,
                    "status": "valid",
                    "issued_on": today + timedelta(days=begins),
                    "expires_on": today + timedelta(days=ends),
                },
            )
            ledger.enter(conn, Actor(company, ORIGIN, clock.now()), "doc.created", doc_id, before=None, after={})

    return declared


def inodes(snapshot: Snapshot) -> set[int]:
    return {file.stat().st_ino for table in TABLES for file in snapshot.files(table)}


def assert_same_rows(snapshot: Snapshot, anew: Snapshot) -> None:
    assert snapshot.rows == anew.rows
    for table, keys in zip(TABLES, (["sku_code"], ["sku_code", "position"], ["sku_code", "market"]), strict=True):
        one, other = (pl.read_parquet(found.files(table)).sort(keys) for found in (snapshot, anew))
        assert_frame_equal(one, other)
    for part, rows in enumerate(snapshot.parts):
        codes = [set(pl.read_parquet(snapshot.files(table)[part])["sku_code"]) for table in TABLES]
        assert codes[0] >= codes[1] | codes[2], "a SKU lies in one part with all that belongs to it"
        assert len(codes[0]) == rows["skus"] <= PART


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2])
def test_whatever_is_written_the_rows_are_those_of_a_snapshot_made_anew(
    seed: int,
    *,
    write: Write,
    published: Callable[[], Snapshot],
    place_units: Callable[[str, int | None], None],
    declare: Callable[[str, int, int], None],
    pool: Pool,
    company: UUID,
    tmp_path: Path,
    clock: StoppedClock,
) -> None:
    chance, codes = random.Random(seed), [f"S{number}" for number in range(40)]
    bodies: list[dict[str, Any]] = [
        {"material": "plastic", "packaging_format": "cup"},
        {"name": "other"},
        {"components": []},
        {"components": [{"component_type": "body", "material_family": "plastic", "weight_g": 4.5}] * 2},
        {"markets": ["FR", "GB"], "use_contexts": ["beverage"]},
        {"weight_grams": 3.25},
    ]
    write(*({"sku_code": code, **chance.choice(bodies)} for code in codes))
    before, shared = published(), 0
    for turn in range(9):
        for _ in range(chance.randint(1, 3)):
            known = chance.choice(codes)
            new = f"N{len(codes)}"
            acts: list[Do] = [
                lambda code=known: write({"sku_code": code, **chance.choice(bodies)}),
                lambda code=known: place_units(code, chance.choice([None, 7, 8])),
                lambda code=known: declare(code, chance.randint(-3, 2), chance.randint(2, 4)),
                lambda code=new: write({"sku_code": code, **chance.choice(bodies)}),
                lambda: clock.advance(timedelta(days=1)),
            ]
            act = chance.choice(acts)
            act()
            codes += [new] if act is acts[3] else []
        snapshot = published()
        shared += len(inodes(snapshot) & inodes(before))
        anew = publish(pool, company, tmp_path / f"anew-{turn}", clock.now(), Rulesets())
        assert_same_rows(snapshot, anew)
        before = snapshot
    assert shared > 9 * len(TABLES), "most files are those of the snapshot before"


def test_one_write_rewrites_one_part_and_new_skus_fill_the_last(
    write: Write, published: Callable[[], Snapshot]
) -> None:
    write(*({"sku_code": f"S{number:02}"} for number in range(3 * PART - 1)))
    first = published()
    assert [part["skus"] for part in first.parts] == [PART, PART, PART - 1]
    write({"sku_code": "S00", "name": "changed"})
    second = published()
    assert len(inodes(first) & inodes(second)) == 2 * len(TABLES)
    write({"sku_code": "X"}, {"sku_code": "Y"})
    third = published()
    assert [part["skus"] for part in third.parts] == [PART, PART, PART, 1]
    assert len(inodes(second) & inodes(third)) == 2 * len(TABLES)
    write(*({"sku_code": f"S{number:02}", "name": "all"} for number in range(3 * PART)))
    assert not inodes(third) & inodes(published()), "so many are read anew"


def test_files_of_another_ledger_release_or_rule_set_are_not_taken_over(
    write: Write, published: Callable[[], Snapshot], company: UUID, tmp_path: Path, clock: StoppedClock
) -> None:
    """A backup that was put back, an upgrade, and a clock that was set back."""
    write(*({"sku_code": f"S{number}"} for number in range(2 * PART)))
    for name, other in (("link_hash", "00"), ("made_by", "0/2000-01-01"), ("as_of", "2027-01-01T00:00:00Z")):
        before = published()
        manifest = before.folder / MANIFEST
        manifest.write_bytes(orjson.dumps({**orjson.loads(manifest.read_bytes()), name: other}))
        clock.advance(timedelta(seconds=1))
        assert not inodes(before) & inodes(published()), name
    manifest = current(tmp_path, company).folder / MANIFEST
    manifest.write_bytes(orjson.dumps({"company_id": str(company), "rows": {}}))
    assert current(tmp_path, company) is None, "a release before had another form"
    assert published().rows["skus"] == 2 * PART


def test_what_was_written_past_the_ledger_is_found_by_the_counter(
    write: Write, published: Callable[[], Snapshot], company: UUID, database: Database
) -> None:
    write(*({"sku_code": f"S{number}"} for number in range(2 * PART)))
    before = published()
    with psycopg.connect(database.owner_url) as owner:
        owner.execute("SELECT set_config('app.company_id', %s, true)", [str(company)])
        owner.execute("DELETE FROM skus WHERE sku_code = 'S3'")
        owner.execute("UPDATE company_counters SET skus = skus - 1")
    assert published().rows["skus"] == before.rows["skus"] - 1
    assert pl.read_parquet(before.skus).height == 2 * PART, "the one before keeps its rows"


@pytest.mark.parametrize("step", range(0, 28, 3))
def test_killed_before_any_change_of_the_files_a_whole_snapshot_stays(
    step: int,
    *,
    write: Write,
    published: Callable[[], Snapshot],
    company: UUID,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write(*({"sku_code": f"S{number}"} for number in range(3 * PART)))
    before = published()
    held = {file: file.read_bytes() for file in before.folder.iterdir()}
    write({"sku_code": "S0", "name": "changed"})
    with killed_before(step, monkeypatch):
        published()
    stays = current(tmp_path, company)
    assert stays is not None
    assert stays.number in (before.number, before.number + 1)
    assert pl.read_parquet(stays.skus).height == 3 * PART
    assert {file: file.read_bytes() for file in before.folder.iterdir()} == held, "files of two names never change"
    last = published()
    assert pl.read_parquet(last.skus).filter(sku_code="S0")["name"].to_list() == ["changed"]
    assert all((path / MANIFEST).exists() for path in last.folder.parent.iterdir() if path.is_dir())
