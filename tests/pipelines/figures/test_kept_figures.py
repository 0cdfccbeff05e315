"""Figures as files: whole or not there, the later data stands, each company under its own name."""

from datetime import UTC, datetime
from types import SimpleNamespace
from uuid import uuid4

import polars as pl
import pytest

from compliance.rollup.tonnes import TONNES_SCHEMA
from pipelines.figures import count_changed_rows, with_tonnes
from tests.dying import killed_before
from warehouse.figures import stored
from warehouse.figures.stored import TABLES, Basis


def origin(number):
    return Basis(f"snapshots/x/{number}", datetime(2026, 11, 21, 9, number, tzinfo=UTC), number, "2026-11-21", "hash")


def publish(data_dir, company, number):
    frame = pl.DataFrame({"number": [number]})
    return stored.publish(data_dir, company, origin(number), dict.fromkeys(TABLES, frame), 1)


def held(data_dir, company):
    found = stored.current(data_dir, company)
    return found and pl.read_parquet(found.tonnes).item()


def test_none_before_the_first_and_the_same_when_read_again(tmp_path):
    company = uuid4()
    assert stored.current(tmp_path, company) is None
    made = publish(tmp_path, company, 1)
    assert stored.current(tmp_path, company) == made


def test_figures_of_another_release_are_none_and_are_computed_anew(tmp_path):
    company = uuid4()
    made = publish(tmp_path, company, 1)
    manifest = made.folder / "manifest.json"
    manifest.write_text(manifest.read_text(encoding="utf-8").replace(f'"form":{stored.FORM},', ""), encoding="utf-8")
    assert stored.current(tmp_path, company) is None
    publish(tmp_path, company, 2)
    assert held(tmp_path, company) == 2


def test_of_two_rollups_the_later_data_stands(tmp_path):
    company = uuid4()
    newer = publish(tmp_path, company, 7)
    assert publish(tmp_path, company, 6) == newer
    assert held(tmp_path, company) == 7
    publish(tmp_path, company, 7)
    publish(tmp_path, company, 8)
    assert held(tmp_path, company) == 8


def test_figures_of_the_current_snapshot_are_the_latest_whatever_its_number(tmp_path, monkeypatch):
    """Numbers are counted anew where a backup was put back; of one number the older file is not the later one."""
    company = uuid4()
    publish(tmp_path, company, 7)
    monkeypatch.setattr(stored.snapshots, "current", lambda *_: SimpleNamespace(path=origin(5).snapshot))
    publish(tmp_path, company, 6)
    assert held(tmp_path, company) == 7
    newest = publish(tmp_path, company, 5)
    assert held(tmp_path, company) == 5
    assert publish(tmp_path, company, 6) == newest


def test_another_companys_figures_are_not_touched(tmp_path):
    mine, theirs = uuid4(), uuid4()
    publish(tmp_path, mine, 1)
    publish(tmp_path, theirs, 2)
    assert (held(tmp_path, mine), held(tmp_path, theirs)) == (1, 2)
    assert str(mine) in str(stored.current(tmp_path, mine).tonnes)


@pytest.mark.parametrize("steps", range(14))
def test_killed_at_any_step_the_last_complete_ones_stay(tmp_path, monkeypatch, steps):
    company = uuid4()
    publish(tmp_path, company, 1)
    with killed_before(steps, monkeypatch):
        publish(tmp_path, company, 2)
    assert held(tmp_path, company) in {1, 2}
    stays = stored.current(tmp_path, company)
    assert len({pl.read_parquet(getattr(stays, table)).item() for table in TABLES}) == 1
    publish(tmp_path, company, 3)
    assert held(tmp_path, company) == 3
    folders = [path for path in (tmp_path / "figures" / str(company)).iterdir() if path.is_dir()]
    assert len(folders) <= stored.KEPT
    assert all((folder / "manifest.json").exists() for folder in folders)


def test_rows_changed_are_those_that_are_new_differ_or_are_gone():
    def frame(*rows):
        return with_tonnes(
            pl.DataFrame(
                [
                    ("DE", 2026, 0, code, code, "own", grams, grams, units, 1, grams, 0, "all", "primary")
                    for code, grams, units in rows
                ],
                schema=TONNES_SCHEMA,
                orient="row",
            )
        )

    before = frame(("glass", 5, 1), ("paper", 7, 1))
    assert count_changed_rows(frame(), before) == 2
    assert count_changed_rows(before, before) == 0
    assert count_changed_rows(before, frame(("glass", 6, 1), ("paper", 7, 1))) == 1
    assert count_changed_rows(before, frame(("paper", 7, 2), ("wood", 1, 1))) == 3
