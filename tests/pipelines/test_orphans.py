"""A killed worker's claim: given back by the next worker of the machine, never taken from one that lives."""

from pathlib import Path

import dagster as dg
import pytest

from pipelines import orphans
from pipelines.definitions import defs
from pipelines.jobs import run_config
from pipelines.steps.imports import claim as claims
from pipelines.steps.imports.claim import Claim
from tests.pipelines.conftest import Desk

FILE = "sku_code,name\nO1,Bottle"


def taken(desk: Desk) -> Claim:
    claim = claims.take(desk.workshop.pool, desk.workshop.clock, desk.send(FILE))
    assert claim is not None
    return claim


def free(desk: Desk, claim: Claim) -> bool:
    return claims.take(desk.workshop.pool, desk.workshop.clock, claim.import_id) is not None


def test_a_living_workers_claim_is_left_alone(desk: Desk, tmp_path: Path) -> None:
    claim = taken(desk)
    with orphans.marked(tmp_path, claim):
        orphans.settle(tmp_path, desk.workshop.pool, desk.instance)
        assert not free(desk, claim)
    assert list(tmp_path.glob("*.json")) == []


def test_what_an_ended_worker_held_is_given_back_once(desk: Desk, tmp_path: Path) -> None:
    claim = taken(desk)
    config = run_config("uploaded_file", {"import_id": str(claim.import_id)})
    desk.instance.create_run_for_job(
        defs.resolve_job_def("import_file"), run_id=str(claim.token), run_config=config,
        status=dg.DagsterRunStatus.STARTED,
    )  # fmt: skip
    with pytest.raises(RuntimeError), orphans.marked(tmp_path, claim):
        raise RuntimeError
    orphans.settle(tmp_path, desk.workshop.pool, desk.instance)
    assert free(desk, claim)
    run = desk.instance.get_run_by_id(str(claim.token))
    assert run is not None
    assert run.status == dg.DagsterRunStatus.FAILURE
    assert list(tmp_path.glob("*.json")) == []


def test_a_mark_cut_off_in_writing_is_removed(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "half.json").touch()
    orphans.settle(tmp_path, desk.workshop.pool, desk.instance)
    assert list(tmp_path.glob("*.json")) == []
