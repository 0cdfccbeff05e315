"""The catalogue refresh: what is served becomes the file, an operator's file stands, a bad file changes nothing."""

from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import dagster as dg
import orjson
import psycopg
import pytest

from compliance.catalogue import PINNED
from pipelines import catalogue
from pipelines.catalogue import Changes
from pipelines.checks import factory as checks
from pipelines.commands import refresh_catalogue
from pipelines.definitions import defs
from pipelines.defs.catalogue import BY_SCHEDULE, CHANGES
from pipelines.engine.jobs import run_config
from pipelines.metadata.columns import CATALOGUE
from services import audit as audit_services
from tests.pipelines.conftest import Desk
from warehouse import catalogue as catalogue_warehouse


def written(path: Path, *, drop: str = "", replace: tuple[str, str] = ("", "")) -> Path:
    """The release's file less the rows of a code, or with another text."""
    lines = PINNED.read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if not (drop and line.startswith(f"{drop},"))]
    kept = [line.replace(*replace) if replace[0] else line for line in kept]
    path.write_text("\n".join(kept), encoding="utf-8")
    return path


def needed(desk: Desk) -> bool:
    with desk.pool.system() as conn:
        return catalogue.is_needed(conn, catalogue.read(None))


def test_a_refresh_says_what_changed_and_a_second_one_changes_nothing(desk: Desk, tmp_path: Path) -> None:
    refresh_catalogue(desk.resources, desk.instance, None)
    assert not needed(desk)
    less = written(tmp_path / "less.csv", drop="US-OR", replace=("Co-regulatory: Australian", "Australian"))
    changes = refresh_catalogue(desk.resources, desk.instance, less)
    assert (changes.added, changes.changed, changes.removed) == ([], ["AU"], ["US-OR"])
    assert not needed(desk), "an operator's file stands over a restart"
    back = refresh_catalogue(desk.resources, desk.instance, None)
    assert (back.added, back.changed, back.removed) == (["US-OR"], ["AU"], [])
    again = refresh_catalogue(desk.resources, desk.instance, None)
    assert (again.added, again.changed, again.removed) == ([], [], [])
    assert again.unchanged == len(catalogue.read(None).rows)


def test_a_review_older_than_18_months_demotes(desk: Desk, tmp_path: Path) -> None:
    rows = PINNED.read_text(encoding="utf-8").splitlines()
    header, austria = rows[0], next(row for row in rows if row.startswith("AT,"))
    old = austria.replace("|monthly,,2,,", "|monthly,,3,,").replace(",Y,,own", ",Y,2024-01-31,own")
    file = tmp_path / "old.csv"
    file.write_text("\n".join([header, old, *(row for row in rows[1:] if row != austria)]), encoding="utf-8")
    assert refresh_catalogue(desk.resources, desk.instance, file).demoted == ["AT"]
    refresh_catalogue(desk.resources, desk.instance, None)


@pytest.mark.parametrize(
    ("drop", "replace", "word"),
    [
        ("GB", ("", ""), "GB"),
        ("FR", ("", ""), "Member States"),
        ("", ("AU,Australia", "QQ,Australia"), "ISO 3166"),
        ("", ("Australian Packaging Covenant", "from 120 EUR a year"), "money"),
    ],
)
def test_a_file_that_may_not_be_served_is_refused_whole(
    desk: Desk, tmp_path: Path, drop: str, replace: tuple[str, str], word: str
) -> None:
    refresh_catalogue(desk.resources, desk.instance, None)
    with pytest.raises(dg.Failure, match=word):
        refresh_catalogue(desk.resources, desk.instance, written(tmp_path / "bad.csv", drop=drop, replace=replace))
    assert not needed(desk)
    with desk.pool.system() as conn:
        assert catalogue_warehouse.stored(conn) == catalogue.read(None).rows


def test_the_checks_hold_for_what_is_served(desk: Desk) -> None:
    refresh_catalogue(desk.resources, desk.instance, None)
    (run,) = desk.instance.get_runs(limit=1)
    events = desk.instance.all_logs(run.run_id, of_type=dg.DagsterEventType.ASSET_CHECK_EVALUATION)
    verdicts = [event.dagster_event.asset_check_evaluation_data for event in events if event.dagster_event]
    assert sorted((verdict.check_name, verdict.passed) for verdict in verdicts) == [
        ("codes_valid", True),
        ("contract", True),
        ("eu_and_gb_present", True),
        ("no_amount_of_money", True),
        ("sources_present", True),
    ]


@pytest.mark.parametrize(
    "name",
    [
        "{outside}",
        "../outside.csv",
        "link.csv",
        "linked/outside.csv",
        "none.csv",
        ".",
        "a\x00b",
        "loop.csv",
        "/proc/self/environ",
        "~/outside.csv",
    ],
)
def test_a_run_reads_no_file_outside_its_folder(desk: Desk, name: str) -> None:
    """A run that anybody launches with a configuration of their own."""
    folder = desk.data_dir / catalogue.FOLDER
    folder.mkdir()
    outside = written(folder.parent / "outside.csv", drop="US-OR")
    (folder / "link.csv").symlink_to(outside)
    (folder / "linked").symlink_to(folder.parent)
    (folder / "loop.csv").symlink_to(folder / "loop.csv")
    config = run_config(jurisdiction_catalogue={"file": name.format(outside=outside)})
    with pytest.raises(dg.Failure, match="of the folder catalogue of the data directory alone"):
        defs.resolve_job_def("refresh_catalogue").execute_in_process(
            run_config=config, instance=desk.instance, resources=desk.resources.as_definitions()
        )


def by_schedule(desk: Desk) -> Changes:
    """A run as the daily schedule asks for it."""
    result = defs.resolve_job_def("refresh_catalogue").execute_in_process(
        run_config=BY_SCHEDULE, instance=desk.instance, resources=desk.resources.as_definitions()
    )
    [made] = result.asset_materializations_for_node("jurisdiction_catalogue")
    return Changes(**made.metadata[CHANGES].value)


def loads(desk: Desk) -> int:
    with desk.pool.system() as conn:
        return int(conn.execute("SELECT count(*) FROM catalogue_loads").fetchone()[0])


def test_the_schedule_leaves_an_operators_file_and_loads_what_a_release_changed(desk: Desk, tmp_path: Path) -> None:
    with psycopg.connect(desk.database.owner_url) as owner:  # another test's clock may have been ahead of this one's
        owner.execute("UPDATE catalogue_loads SET loaded_at = loaded_at - interval '10 years'")
    refresh_catalogue(desk.resources, desk.instance, None)
    before, whole = loads(desk), len(catalogue.read(None).rows)
    assert (by_schedule(desk).unchanged, loads(desk)) == (whole, before)
    refresh_catalogue(desk.resources, desk.instance, written(tmp_path / "less.csv", drop="US-OR"))
    assert (by_schedule(desk).unchanged, loads(desk)) == (whole - 1, before + 1), "until an operator's next refresh"
    refresh_catalogue(desk.resources, desk.instance, None)
    with psycopg.connect(desk.database.owner_url) as owner:  # as an older release had left it
        owner.execute(
            "UPDATE catalogue_loads SET source_hash = 'older' WHERE id = (SELECT id FROM catalogue_loads "
            "ORDER BY loaded_at DESC, id DESC LIMIT 1)"
        )
        owner.execute("DELETE FROM jurisdictions WHERE code = 'US-OR'")
    assert by_schedule(desk).added == ["US-OR"]


def test_what_changed_is_in_every_companys_ledger_and_nothing_is_where_nothing_did(
    desk: Desk, new_company: Callable[[str], UUID], tmp_path: Path
) -> None:
    other = new_company("starter")
    refresh_catalogue(desk.resources, desk.instance, None)
    entries = (
        "SELECT e.after::text, t.actor_type, t.actor_id FROM audit_entries e JOIN audit_transactions t "
        "ON t.id = e.transaction_id WHERE e.company_id = %s AND action = 'catalogue.refreshed' ORDER BY e.id"
    )
    before = len(desk.rows(entries))
    refresh_catalogue(desk.resources, desk.instance, None, operator="me")
    assert len(desk.rows(entries)) == before, "nothing changed"
    refresh_catalogue(desk.resources, desk.instance, written(tmp_path / "less.csv", drop="US-OR"), operator="me")
    [entry] = desk.rows(entries)[before:]
    assert entry[1:] == ("operator", "me")
    assert orjson.loads(entry[0]) == {"pinned": False, "added": [], "changed": [], "removed": ["US-OR"]}
    for company in (desk.company, other):
        with desk.pool.company(company) as conn:
            assert audit_services.verify(conn).ok
            assert conn.execute("SELECT count(*) FROM audit_entries WHERE action = 'catalogue.refreshed'").fetchone()
    refresh_catalogue(desk.resources, desk.instance, None)


def test_the_contract_finds_what_the_sentences_do_not(desk: Desk) -> None:
    release = catalogue.read(None)
    release.rows["FR"]["composite_threshold_percent"] = 101
    verdict = checks.judge({"jurisdictions": (CATALOGUE, release.frame())})
    assert not verdict.passed
    assert "in_range(0, 100)" in str(verdict.metadata)
