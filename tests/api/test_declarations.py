"""POST and GET /declarations: made of the snapshot, kept as filed, downloaded to the byte, corrected by a new one."""

import base64
import csv
import hashlib
import io
import json
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import psycopg
import pytest

from tests.api.portfolios import counted, placed

JAR = [
    {"component_type": "body", "material_family": "glass", "polymer_or_grade": "glass", "weight_g": 200},
    {"component_type": "closure", "material_family": "metal", "polymer_or_grade": "steel", "weight_g": 8.25},
]
BOX = [{"component_type": "body", "material_family": "paper", "polymer_or_grade": "PAP20", "weight_g": None}]
GERMANY = {"market": "DE", "year": 2025, "format": "csv"}
UK = {"market": "GB", "year": 2025, "half": 1, "format": "rpd", "uk": {"organisation_id": "123456"}}


@pytest.fixture
def declared(caller):
    """A caller with jars in Germany and Great Britain, and boxes without a weight."""
    placed(caller, "JAR", JAR, ("DE", 2025, 0, 1_000_000), ("GB", 2025, 1, 10_001))
    placed(caller, "BOX", BOX, ("DE", 2025, 0, 7))
    counted(caller)
    return caller


def kept(caller, **body):
    answer = caller.post("/declarations", GERMANY | body)
    assert answer.status_code == 201, answer.text
    return answer.json()["data"]


def refused(caller, body):
    answer = caller.post("/declarations", body)
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_body"), answer.text
    return [(issue["field"], issue["code"]) for issue in answer.json()["details"]]


def total(caller):
    return caller.get("/declarations").json()["pagination"]["total"]


def test_a_dry_run_shows_what_would_be_kept_and_keeps_nothing(declared):
    answer = declared.post("/declarations?dry_run=1", GERMANY)
    shown = answer.json()
    assert (answer.status_code, shown["dry_run"], shown["data"]["id"], total(declared)) == (200, True, None, 0)
    assert (shown["data"]["total_tonnes"], shown["data"]["rows"], shown["data"]["uncounted"]) == (208.25, 2, 1)
    assert shown["left_out"] == [
        {"sku_code": "BOX", "units": 7, "reason": "weight_missing", "fields": ["components[0].weight_g"]}
    ]
    made = kept(declared, sha256=shown["data"]["sha256"])
    assert made["sha256"] == shown["data"]["sha256"]
    assert total(declared) == 1


@pytest.mark.parametrize("form", ["csv", "json"])
def test_the_bytes_come_back_as_they_were_kept(declared, form):
    made = kept(declared, format=form)
    answer = declared.get(f"/declarations/{made['id']}/content")
    digest = hashlib.sha256(answer.content)
    assert (digest.hexdigest(), len(answer.content)) == (made["sha256"], made["size_bytes"])
    assert answer.headers["Repr-Digest"] == f"sha-256=:{base64.b64encode(digest.digest()).decode()}:"
    assert answer.headers["Content-Disposition"] == f'attachment; filename="{made["filename"]}"'
    declared.made(sku_code="LATER")
    counted(declared)
    assert declared.get(f"/declarations/{made['id']}/content").content == answer.content


def test_the_lists_beside_a_csv_are_kept_with_it(declared):
    csv_id, json_id = kept(declared)["id"], kept(declared, format="json")["id"]
    beside = declared.get(f"/declarations/{csv_id}/content", params={"part": "uncounted"})
    assert [row["sku_code"] for row in csv.DictReader(io.StringIO(beside.text))] == ["BOX"]
    assert 'filename="DE-2025.uncounted.csv"' in beside.headers["Content-Disposition"]
    missing = declared.get(f"/declarations/{csv_id}/content", params={"part": "scope_missing"})
    assert [row["sku_code"] for row in csv.DictReader(io.StringIO(missing.text))] == []
    for part in ("uncounted", "scope_missing"):  # the JSON has both inside
        assert declared.get(f"/declarations/{json_id}/content", params={"part": part}).status_code == 404
    assert declared.get(f"/declarations/{csv_id}/content", params={"part": "all"}).status_code == 400
    inside = json.loads(declared.get(f"/declarations/{json_id}/content").text)
    assert [row["sku_code"] for row in inside["uncounted"]] == ["BOX"]


def test_read_list_and_write_show_the_same(declared):
    answer = declared.post("/declarations", GERMANY)
    made = answer.json()["data"]
    assert declared.get("/declarations").json()["data"] == [made]
    found = declared.get(f"/declarations/{made['id']}").json()["data"]
    assert found == {**made, "ratings": [], "drinks": []}
    assert made["kept_by"]["type"] == "api_key"
    assert declared.get("/declarations", params={"market": "FR"}).json()["data"] == []
    assert declared.get("/declarations", params={"market": "de", "year": 2025, "half": 0}).json()["data"] == [made]


def test_what_changed_since_the_preview_is_not_kept_by_its_hash(declared):
    sha256 = declared.post("/declarations?dry_run=1", GERMANY).json()["data"]["sha256"]
    placed(declared, "CUP", JAR, ("DE", 2025, 0, 3))
    assert declared.post("/declarations?dry_run=1", GERMANY).json()["newer_writes"] > 0
    counted(declared)
    assert refused(declared, GERMANY | {"sha256": sha256}) == [("sha256", "not_declarable")]
    assert total(declared) == 0


def test_a_correction_names_the_first(declared):
    first = kept(declared)
    second = kept(declared, corrects=first["id"])
    third = kept(declared, corrects=first["id"], format="json")
    assert second["corrects"] == first["id"]
    found = declared.get(f"/declarations/{first['id']}").json()["data"]
    assert found["corrected_by"] == [second["id"], third["id"]]
    assert {name: found[name] for name in ("sha256", "created_at", "kept_by")} == {
        name: first[name] for name in ("sha256", "created_at", "kept_by")
    }
    assert refused(declared, GERMANY | {"corrects": second["id"]}) == [("corrects", "not_declarable")]
    assert refused(declared, GERMANY | {"corrects": first["id"], "year": 2024}) == [("corrects", "not_declarable")]
    assert refused(declared, GERMANY | {"corrects": str(uuid4())}) == [("corrects", "unknown_reference")]


def test_a_repeat_with_its_key_keeps_one(declared):
    headers = {"Idempotency-Key": str(uuid4())}
    first = declared.post("/declarations", GERMANY, headers=headers)
    again = declared.post("/declarations", GERMANY, headers=headers)
    assert (again.status_code, again.json()) == (201, first.json())
    assert again.headers["Idempotent-Replayed"] == "true"
    assert declared.post("/declarations", GERMANY | {"format": "json"}, headers=headers).status_code == 409
    assert total(declared) == 1


def test_the_uk_file_is_made_checked_and_kept_with_its_statements(declared):
    refused_file = declared.post("/declarations", UK | {"uk": {"organisation_id": "12345"}}).json()
    assert [(issue["field"], issue["code"]) for issue in refused_file["details"]][:1] == [
        ("uk.organisation_id", "regulator_rule")
    ]
    rated = [{"sku_code": "JAR", "component_type": "body", "rating": "G"}]
    made = declared.post("/declarations", UK | {"uk": {"organisation_id": "123456", "ratings": rated}})
    assert made.status_code == 201, made.text
    found = declared.get(f"/declarations/{made.json()['data']['id']}").json()["data"]
    assert (found["producer"]["organisation_id"], found["ratings"]) == ("123456", rated)
    assert found["filename"] == "GB-2025-H1.rpd.csv"
    assert found["total_kg"] == 2083
    assert declared.get(f"/declarations/{found['id']}/content").text.startswith("organisation_id,")


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"market": "XX"}, ("market", "unknown_market")),
        ({"half": 1}, ("half", "not_declarable")),
        ({"format": "rpd", "uk": {"organisation_id": "123456"}}, ("format", "not_declarable")),
        ({"format": "rpd"}, ("uk", "required")),
        ({"uk": {"organisation_id": "123456"}}, ("uk", "unknown_field")),
        ({"format": "pdf"}, ("format", "not_in_vocabulary")),
        ({"year": 1999}, ("year", "out_of_range")),
        ({"year": 2020}, ("market", "not_declarable")),
        ({"sha256": "abc"}, ("sha256", "invalid_format")),
        ({"corrects": "first"}, ("corrects", "invalid_format")),
        ({"note": "x"}, ("note", "unknown_field")),
    ],
)
def test_what_cannot_be_declared_is_refused_at_its_field(declared, change, fault):
    assert refused(declared, GERMANY | change) == [fault]
    assert total(declared) == 0


def test_without_a_snapshot_there_is_nothing_to_declare(caller):
    assert refused(caller, GERMANY) == [(None, "not_declarable")]


def test_nothing_is_another_companys(declared, join):
    made, other = kept(declared), join()
    assert other.get("/declarations").json()["data"] == []
    for path in (f"/declarations/{made['id']}", f"/declarations/{made['id']}/content"):
        assert other.get(path).json() | {"correlationId": ""} == other.get(
            path.replace(made["id"], str(uuid4()))
        ).json() | {"correlationId": ""}
        assert other.get(path).status_code == 404
    assert refused(other, GERMANY | {"corrects": made["id"]}) == [("corrects", "unknown_reference")]


def test_keeping_needs_the_scope_write_and_reading_the_scope_read(declared, join):
    reader, writer = join(scopes=("read",)), join(scopes=("write",))
    assert reader.post("/declarations", GERMANY).status_code == 403
    assert reader.post("/declarations?dry_run=1", GERMANY).status_code == 403
    assert writer.get("/declarations").status_code == 403


def test_no_one_changes_or_removes_a_kept_declaration(declared, database):
    made = kept(declared)
    with psycopg.connect(database.app_url, autocommit=True) as connection:
        for statement in ("UPDATE kept_declarations SET sha256 = ''", "DELETE FROM kept_declarations"):
            with connection.transaction(force_rollback=True):
                connection.execute("SELECT set_config('app.company_id', %s, true)", [str(declared.company)])
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    connection.execute(statement)
    assert declared.get("/declarations").json()["data"] == [made]


def test_keeping_is_in_the_audit_log(declared):
    made = kept(declared)
    [entry] = declared.get("/audit-log", params={"action": "declaration.kept"}).json()["data"]
    assert (entry["resource_type"], entry["resource_id"]) == ("declaration", made["id"])
    assert entry["before"] is None
    assert {name: entry["after"][name] for name in ("market", "sha256")} == {"market": "DE", "sha256": made["sha256"]}


def scoped(caller):
    """Germany: jars of food in scope, jars without a use undecided, transport packaging out of scope."""
    for code, level, more in (
        ("FOOD", "sales", {"use_contexts": ["food"]}),
        ("MUTE", "sales", {}),
        ("PALE", None, {"use_contexts": ["food"]}),
        ("CASE", "transport", {}),
    ):
        made = caller.made(sku_code=code, packaging_level=level, components=JAR[:1], **more)
        units = {"FOOD": 1_000_000, "MUTE": 300_000, "PALE": 100_000, "CASE": 500_000}[code]
        rows = [{"market": "DE", "year": 2024, "units_placed": units}]
        assert caller.put(f"/skus/{made['id']}/volumes", rows).status_code == 200
    counted(caller)


SCOPED = {
    "in_scope_tonnes": 200,
    "undecided_tonnes": 80,
    "out_of_scope_tonnes": 100,
    "question": {"field": "use_contexts", "tonnes": 60, "skus": 1},
    "total_tonnes": 380,
}


@pytest.mark.parametrize("form", ["csv", "json"])
def test_what_is_filed_is_told_from_what_is_undecided_and_out_of_scope(caller, form):
    """decisions §13: the total that is shown first is what is filed, before keeping and wherever it is kept."""
    scoped(caller)
    body = {"market": "DE", "year": 2024, "format": form}
    shown = caller.post("/declarations?dry_run=1", body).json()["data"]
    assert {name: shown[name] for name in SCOPED} == SCOPED
    assert list(shown).index("in_scope_tonnes") < list(shown).index("total_tonnes")
    made = kept(caller, **body)
    for found in (
        made,
        caller.get(f"/declarations/{made['id']}").json()["data"],
        caller.get("/declarations").json()["data"][0],
    ):
        assert {name: found[name] for name in SCOPED} == SCOPED
    [entry] = caller.get("/audit-log", params={"action": "declaration.kept"}).json()["data"]
    assert entry["after"]["in_scope_tonnes"] == "200.000000"
    if form == "json":
        inside = caller.get(f"/declarations/{made['id']}/content").json()
        assert {name: inside[name] for name in SCOPED} == SCOPED


@pytest.mark.parametrize("form", ["csv", "json"])
def test_a_declaration_from_before_has_its_tonnes_by_scope_from_its_own_bytes(caller, database, form):
    scoped(caller)
    made = kept(caller, market="DE", year=2024, format=form)
    with psycopg.connect(database.owner_url, autocommit=True) as connection:
        connection.execute(
            "UPDATE kept_declarations SET in_scope_tonnes = NULL, undecided_tonnes = NULL, out_of_scope_tonnes = NULL,"
            " question = NULL, halves = NULL WHERE id = %s",
            [made["id"]],
        )
    expected = SCOPED | {"question": None}
    for found in (
        caller.get(f"/declarations/{made['id']}").json()["data"],
        caller.get("/declarations").json()["data"][0],
    ):
        assert {name: found[name] for name in SCOPED} == expected


def test_a_year_of_one_half_is_kept_with_the_half_that_is_there(declared):
    by_year = kept(declared, market="GB", format="json")
    assert by_year["halves"] == [1]
    inside = declared.get(f"/declarations/{by_year['id']}/content").json()
    assert (inside["halves"], inside["total_tonnes"]) == ([1], 2.082708)
    small = UK | {"half": 0, "uk": {"organisation_id": "123456", "organisation_size": "S"}}
    assert kept(declared, **small)["halves"] == [1]
    assert kept(declared, market="GB", half=1)["halves"] is None
    assert kept(declared)["halves"] is None


def declared_before(caller, first, **body):
    answer = caller.post("/declarations", GERMANY | body)
    assert (answer.status_code, answer.json()["error"]) == (409, "already_declared"), answer.text
    [named] = answer.json()["details"]
    assert {name: named[name] for name in ("id", "created_at")} == {name: first[name] for name in ("id", "created_at")}
    assert first["id"] in answer.json()["message"]


def test_an_equal_first_declaration_is_refused_and_the_first_named(declared):
    """decisions §13: whatever the bytes, dry runs too, unless `corrects` names it."""
    first = kept(declared)
    declared_before(declared, first)
    answer = declared.post("/declarations?dry_run=1", GERMANY)
    assert (answer.status_code, answer.json()["error"]) == (409, "already_declared")
    placed(declared, "CUP", JAR, ("DE", 2025, 0, 3))
    counted(declared)
    declared_before(declared, first, market="de")
    kept(declared, corrects=first["id"])
    declared_before(declared, first)
    kept(declared, format="json")
    kept(declared, market="GB", half=1)
    assert total(declared) == 4


def test_the_uk_file_of_another_organisation_is_no_equal_one(declared):
    rated = [{"sku_code": "JAR", "component_type": kind, "rating": "G"} for kind in ("body", "closure")]
    first = kept(declared, **UK | {"uk": {"organisation_id": "123456", "ratings": rated}})
    declared_before(declared, first, **UK | {"uk": {"organisation_id": "123456"}})
    kept(declared, **UK | {"uk": {"organisation_id": "654321", "ratings": rated}})
    kept(declared, **UK | {"uk": {"organisation_id": "123456", "subsidiary_id": "A1", "ratings": rated}})


def test_of_two_equal_ones_at_once_one_is_kept(declared):
    with ThreadPoolExecutor(4) as senders:
        answers = list(senders.map(lambda _: declared.post("/declarations", GERMANY), range(4)))
    assert sorted(answer.status_code for answer in answers) == [201, 409, 409, 409]
    assert total(declared) == 1
