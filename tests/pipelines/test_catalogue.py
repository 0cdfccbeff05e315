"""The catalogue refresh: what is served becomes the file, an operator's file stands, a bad file changes nothing."""

from pathlib import Path

import dagster as dg
import pytest

from compliance.catalogue import PINNED
from pipelines.runs.catalogue import refresh_catalogue
from pipelines.steps import catalogue
from tests.pipelines.conftest import Desk


def written(path: Path, *, drop: str = "", replace: tuple[str, str] = ("", "")) -> Path:
    """The release's file less the rows of a code, or with another text."""
    lines = PINNED.read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if not (drop and line.startswith(f"{drop},"))]
    kept = [line.replace(*replace) if replace[0] else line for line in kept]
    path.write_text("\n".join(kept), encoding="utf-8")
    return path


def needed(desk: Desk) -> bool:
    with desk.workshop.pool.system() as conn:
        return catalogue.is_needed(conn, catalogue.read(None))


def test_a_refresh_says_what_changed_and_a_second_one_changes_nothing(desk: Desk, tmp_path: Path) -> None:
    refresh_catalogue(desk.workshop, desk.instance, None)
    assert not needed(desk)
    less = written(tmp_path / "less.csv", drop="US-OR", replace=("Co-regulatory: Australian", "Australian"))
    changes = refresh_catalogue(desk.workshop, desk.instance, less)
    assert (changes.added, changes.changed, changes.removed) == ([], ["AU"], ["US-OR"])
    assert not needed(desk), "an operator's file stands over a restart"
    back = refresh_catalogue(desk.workshop, desk.instance, None)
    assert (back.added, back.changed, back.removed) == (["US-OR"], ["AU"], [])
    again = refresh_catalogue(desk.workshop, desk.instance, None)
    assert (again.added, again.changed, again.removed) == ([], [], [])
    assert again.unchanged == len(catalogue.read(None).rows)


def test_a_review_older_than_18_months_demotes(desk: Desk, tmp_path: Path) -> None:
    rows = PINNED.read_text(encoding="utf-8").splitlines()
    header, austria = rows[0], next(row for row in rows if row.startswith("AT,"))
    old = austria.replace(",yes,,2,,", ",yes,,3,,").replace(",Y,,own", ",Y,2024-01-31,own")
    file = tmp_path / "old.csv"
    file.write_text("\n".join([header, old, *(row for row in rows[1:] if row != austria)]), encoding="utf-8")
    assert refresh_catalogue(desk.workshop, desk.instance, file).demoted == ["AT"]
    refresh_catalogue(desk.workshop, desk.instance, None)


@pytest.mark.parametrize(
    ("drop", "replace", "word"),
    [("GB", ("", ""), "GB"), ("FR", ("", ""), "Member States"), ("", ("AU,Australia", "QQ,Australia"), "ISO 3166"),
     ("", ("Australian Packaging Covenant", "from 120 EUR a year"), "money")],
)  # fmt: skip
def test_a_file_that_may_not_be_served_is_refused_whole(
    desk: Desk, tmp_path: Path, drop: str, replace: tuple[str, str], word: str
) -> None:
    refresh_catalogue(desk.workshop, desk.instance, None)
    with pytest.raises(dg.Failure, match=word):
        refresh_catalogue(desk.workshop, desk.instance, written(tmp_path / "bad.csv", drop=drop, replace=replace))
    assert not needed(desk)
    with desk.workshop.pool.system() as conn:
        assert catalogue.held(conn) == catalogue.read(None).rows


def test_the_checks_hold_for_what_is_served(desk: Desk) -> None:
    refresh_catalogue(desk.workshop, desk.instance, None)
    (run,) = desk.instance.get_runs(limit=1)
    events = desk.instance.all_logs(run.run_id, of_type=dg.DagsterEventType.ASSET_CHECK_EVALUATION)
    verdicts = [event.dagster_event.asset_check_evaluation_data for event in events if event.dagster_event]
    assert sorted((verdict.check_name, verdict.passed) for verdict in verdicts) == [
        ("codes_valid", True), ("eu_and_gb_present", True), ("no_amount_of_money", True), ("sources_present", True),
    ]  # fmt: skip
