"""What housekeeping removes, and above all what it leaves alone."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from datetime import datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

import dagster as dg
import psycopg
import pytest

from pipelines import commands, due, operate
from pipelines.definitions import defs
from pipelines.defs.sensors import overdue_work
from pipelines.engine.steps import Stopping
from pipelines.engine.tags import FOLLOWED
from schemas.actors import Actor
from tests.pipelines.conftest import ORIGIN, Desk
from tests.pipelines.sensing import follow, of_job
from warehouse.audit import chain
from warehouse.audit.chain import still_stands
from warehouse.files import File, record
from warehouse.operate.settings import Settings

OLD = (operate.GRACE + timedelta(minutes=1)).total_seconds()


def go_on() -> None:
    """Nothing stops."""


def aged(desk: Desk, *keys: str) -> None:
    """Make objects, or what stands beside them, as old as an orphan is."""
    folder = desk.objects.folder
    assert folder is not None
    for key in keys:
        then = (folder / key).stat().st_mtime - OLD
        os.utime(folder / key, (then, then))


def kept(desk: Desk, company: UUID) -> set[str]:
    return {key for key, _ in desk.objects.stored(company)}


def kept_house(desk: Desk) -> dg.ExecuteInProcessResult:
    """The whole job, as a run of the desk's instance."""
    return defs.resolve_job_def("keep_house").execute_in_process(
        instance=desk.instance,
        resources=desk.resources.as_definitions(),
        raise_on_error=False,
    )


def a_file(desk: Desk, company: UUID) -> str:
    """A technical file with its record; the key of its bytes."""
    now, sku, file_id = desk.clock.now(), uuid4(), uuid4()
    with psycopg.connect(desk.database.owner_url) as owner:
        owner.execute(
            "INSERT INTO skus (id, company_id, sku_code, name, recyclability_grade, grade_provisional, ruleset_version,"
            " version, transaction_id, created_at, updated_at)"
            " VALUES (%(id)s, %(company)s, %(id)s, 'x', 'not_assessed', true, '1', 1, %(id)s, %(at)s, %(at)s)",
            {"id": sku, "company": company, "at": now},
        )
    key = f"{company}/files/{file_id}"
    desk.objects.put(key, b"%PDF")
    file = File(file_id, "a.pdf", "application/pdf", 4, "0" * 64, "test_report", None, None, None, None)
    with desk.pool.company(company) as conn:
        record(
            conn,
            Actor(company, ORIGIN, now),
            sku,
            file,
        )
    return key


def test_only_what_is_old_and_no_row_of_its_company_names_goes(desk: Desk, new_company: Callable[[str], UUID]) -> None:
    other, objects = new_company("starter"), desk.objects
    import_id = desk.send("sku_code,name\nH-1,Bottle\n")
    live = {a_file(desk, desk.company), *(f"{desk.company}/imports/{import_id}/{part}" for part in ("upload", "table"))}
    theirs = a_file(desk, other)
    gone = [f"{desk.company}/{name}" for name in (f"files/{uuid4()}", f"imports/{uuid4()}/upload", "files/no-id")]
    # The id of a live file of another company names nothing here.
    gone.append(f"{desk.company}/files/{theirs.rpartition('/')[2]}")
    young = f"{desk.company}/files/{uuid4()}"
    for key in (*gone, young):
        objects.put(key, b"x")
    aged(desk, *gone, *live, theirs)
    swept = operate.remove_orphans(desk.pool, objects, go_on)
    assert kept(desk, desk.company) == live | {young}
    assert kept(desk, other) == {theirs}
    assert swept.removed == {"files": 3, "imports": 1, "exports": 0}


def test_an_upload_under_way_is_not_swept_whatever_our_clock_says(desk: Desk) -> None:
    desk.clock.advance(timedelta(days=400))
    objects, folder, key = desk.objects, desk.objects.folder, f"{desk.company}/files/{uuid4()}"
    assert folder is not None
    staged: list[str] = []

    async def bytes_of_file() -> AsyncIterator[bytes]:
        for _ in range(3):
            yield bytes(6 * 2**20)
            await asyncio.to_thread(operate.remove_orphans, desk.pool, objects, go_on)
            staged.extend(path.name for path in folder.glob("*/files/*#*"))

    asyncio.run(objects.put_stream(key, bytes_of_file()))
    assert len(objects.get(key)) == 18 * 2**20
    assert staged, "the upload was seen under way"
    operate.remove_orphans(desk.pool, objects, go_on)
    assert kept(desk, desk.company) == {key}


def test_what_a_kill_left_of_an_upload_goes(desk: Desk) -> None:
    objects, cut_off = desk.objects, f"{desk.company}/files/{uuid4()}#1"
    assert objects.folder is not None
    (objects.folder / cut_off).parent.mkdir(parents=True)
    (objects.folder / cut_off).write_bytes(b"half")
    assert operate.remove_orphans(desk.pool, objects, go_on).unfinished == 0
    aged(desk, cut_off)
    assert operate.remove_orphans(desk.pool, objects, go_on).unfinished == 1
    assert not (objects.folder / cut_off).exists()


def test_a_sweep_that_is_stopped_half_way_goes_on_where_it_was(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operate, "BATCH_OBJECTS", 2)
    keys = [f"{desk.company}/files/{uuid4()}" for _ in range(5)]
    for key in keys:
        desk.objects.put(key, b"x")
    aged(desk, *keys)
    calls = iter([None, Stopping()])

    def proceed() -> None:
        if (stop := next(calls)) is not None:
            raise stop

    with pytest.raises(Stopping):
        operate.remove_orphans(desk.pool, desk.objects, proceed)
    assert len(kept(desk, desk.company)) == 3
    operate.remove_orphans(desk.pool, desk.objects, go_on)
    assert not kept(desk, desk.company)


def test_answers_are_kept_for_a_day(desk: Desk, new_company: Callable[[str], UUID]) -> None:
    now, companies = desk.clock.now(), (desk.company, new_company("starter"))
    ages = (timedelta(hours=23, minutes=59), timedelta(hours=24, seconds=1))
    with psycopg.connect(desk.database.owner_url) as owner:
        for company in companies:
            for age in ages:
                owner.execute(
                    "INSERT INTO kept_answers (company_id, request, fingerprint, status, media_type, body, answered_at)"
                    " VALUES (%s, %s, '', 200, 'application/json', '', %s)",
                    (company, uuid4().bytes, now - age),
                )
    assert operate.remove_old_answers(desk.pool, desk.clock, go_on) >= 2
    with psycopg.connect(desk.database.owner_url) as owner:
        left = owner.execute("SELECT answered_at FROM kept_answers WHERE company_id = ANY(%s)", (list(companies),))
        assert {at for (at,) in left} == {now - ages[0]}


def test_old_runs_go_and_young_ones_stay(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    assert desk.run(desk.send("sku_code,name\nH-1,Bottle\n"))
    [imported] = desk.instance.get_runs()

    def keep_house() -> list[str]:
        assert kept_house(desk).success
        return [run.run_id for run in desk.instance.get_runs()]

    assert imported.run_id in keep_house()
    later = datetime.now().astimezone() + timedelta(days=31)
    monkeypatch.setattr("pipelines.defs.operate.dagster_now", lambda: later)
    assert len(keep_house()) == 1, "the run itself is left"


def test_runs_that_followed_a_write_go_after_two_days(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    for run_tags in (FOLLOWED, {}):
        commands.run("publish_portfolio", desk.resources, desk.instance, desk.company, run_tags=run_tags)
    for days, kept in ((1, 2), (3, 1)):
        later = datetime.now().astimezone() + timedelta(days=days)
        monkeypatch.setattr("pipelines.defs.operate.dagster_now", lambda later=later: later)
        assert kept_house(desk).success
        assert len(desk.instance.get_runs(dg.RunsFilter(job_name="publish_portfolio"))) == kept


def test_a_run_whose_process_stops_ends_as_canceled(desk: Desk) -> None:
    desk.stopping.set()
    assert not kept_house(desk).success
    [run] = desk.instance.get_runs()
    assert run.status == dg.DagsterRunStatus.CANCELED


def begun(desk: Desk) -> list[str]:
    """The days' work that the sensor starts."""
    daily = of_job("keep_house", "refresh_catalogue")
    return sorted(run.dagster_run.job_name for run in follow(overdue_work, desk.instance, desk.resources, only=daily))


def test_the_first_day_has_its_work_and_what_failed_is_tried_again(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The scheduler does neither by itself; days that it missed it makes up for (journeys/test_housekeeping.py)."""
    monkeypatch.setattr(due, "RETRY_SECONDS", 0.0)
    assert begun(desk) == ["keep_house", "refresh_catalogue"], "they never ran"
    assert begun(desk) == []
    desk.stopping.set()
    assert not kept_house(desk).success
    desk.stopping.clear()
    with monkeypatch.context() as busy:
        busy.setattr(due, "RETRY_SECONDS", 3_600.0)
        assert begun(desk) == [], "not at once"
    assert begun(desk) == ["keep_house"]
    assert begun(desk) == []


def test_the_heads_of_all_chains_are_shipped_signed_where_a_folder_is_set(
    desk: Desk, new_company: Callable[[str], UUID], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new_company("starter")
    desk.send("sku_code,name\nH-9,Bottle\n")
    assert kept_house(desk).success
    shipped = tmp_path / "shipped"
    shipped.mkdir()
    monkeypatch.setenv("PCDS_AUDIT_HEADS", str(shipped))
    assert kept_house(desk).success
    [file] = shipped.iterdir()
    _, head = operate.read(file, desk.company, chain.public_key(Settings.load(data_dir=desk.data_dir)))
    with desk.pool.company(desk.company) as connection:
        assert head.links > 0
        assert still_stands(connection, head)
        assert not still_stands(connection, head._replace(hash="00"))
        assert not still_stands(connection, head._replace(links=head.links + 1))


def test_an_upload_that_made_room_is_swept_where_its_removal_was_cut_off(desk: Desk) -> None:
    import_id = desk.send("sku_code,name\nH-9,Bottle\n", dry_run=True)
    key = f"{desk.company}/imports/{import_id}/upload"
    aged(desk, key)
    operate.remove_orphans(desk.pool, desk.objects, go_on)
    assert key in kept(desk, desk.company)
    with desk.pool.company(desk.company) as conn:
        conn.execute("UPDATE imports SET upload_removed_at = now() WHERE id = %s", [import_id])
    operate.remove_orphans(desk.pool, desk.objects, go_on)
    assert key not in kept(desk, desk.company)
