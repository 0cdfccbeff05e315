"""Declarations over REST: looked at, kept, downloaded, corrected."""

import base64
import hashlib

import pytest

from tests.contract.outside import codes, good, refused
from tests.contract.test_figures import CUP, placed

GERMANY = {"market": "DE", "year": 2025, "format": "csv"}


@pytest.fixture
def declared(caller):
    """A caller with a figure in Germany."""
    placed(caller, CUP, 1_000)
    caller.server.place.pcds("rollup", "--company", caller.company)
    return caller


@pytest.mark.long  # the command that computes figures starts Dagster
@pytest.mark.promise("DEC-01")
def test_a_declaration_is_looked_at_kept_and_downloaded(declared):
    shown = good(declared.post("/declarations?dry_run=1", GERMANY))["data"]
    assert (shown["id"], declared.data("/declarations")) == (None, [])
    made = good(declared.post("/declarations", {**GERMANY, "sha256": shown["sha256"]}))["data"]
    answer = declared.get(f"/declarations/{made['id']}/content")
    digest = hashlib.sha256(answer.content)
    assert made["sha256"] == shown["sha256"] == digest.hexdigest()
    assert answer.headers["Repr-Digest"] == f"sha-256=:{base64.b64encode(digest.digest()).decode()}:"
    assert declared.data("/declarations") == [made]


@pytest.mark.long
@pytest.mark.promise("DEC-02", "DEC-03")
def test_a_correction_leaves_the_first_as_it_was(declared):
    first = good(declared.post("/declarations", GERMANY))["data"]
    before = declared.get(f"/declarations/{first['id']}/content").content
    placed(declared, CUP, 3_000)
    declared.server.place.pcds("rollup", "--company", declared.company)
    for query in ("", "?dry_run=1"):
        [named] = refused(declared.post(f"/declarations{query}", GERMANY), 409, "already_declared")
        assert (named["id"], named["created_at"]) == (first["id"], first["created_at"])
    stale = {**GERMANY, "corrects": first["id"], "sha256": first["sha256"]}
    assert codes(declared.post("/declarations", stale)) == ["not_declarable"]
    second = good(declared.post("/declarations", {**GERMANY, "corrects": first["id"]}))["data"]
    assert second["sha256"] != first["sha256"]
    after = good(declared.get(f"/declarations/{first['id']}"))["data"]
    assert (after["corrected_by"], after["sha256"]) == ([second["id"]], first["sha256"])
    assert declared.get(f"/declarations/{first['id']}/content").content == before
    for method in ("PUT", "PATCH", "DELETE"):
        assert declared.request(method, f"/declarations/{first['id']}").status_code == 405
