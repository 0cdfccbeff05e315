"""ETag and If-Match: a write that was made for an older version is refused."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.contract.outside import good, refused

FIELDS = {"sku_code": "V-1", "name": "Jar"}


def changed(caller, weight, **headers):
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return caller.post("/skus", FIELDS | {"weight_grams": weight}, headers=sent)


@pytest.mark.promise("SKU-62")
def test_a_write_for_an_older_version_is_refused(caller):
    made = changed(caller, 1)
    assert made.headers["ETag"] == '"1"'
    path = f"/skus/{good(made)['data']['id']}"
    assert caller.get(path).headers["ETag"] == '"1"'
    assert changed(caller, 2, If_Match='"1"').headers["ETag"] == '"2"'
    answer = changed(caller, 3, If_Match='"1"')
    refused(answer, 412, "version_conflict")
    assert answer.headers["ETag"] == '"2"'
    assert good(caller.get(path))["data"]["weight_grams"] == 2
    refused(caller.put(path, FIELDS, headers={"If-Match": '"1"'}), 412, "version_conflict")
    volumes = [{"market": "FR", "year": 2026, "units_placed": 1}]
    refused(caller.put(f"{path}/volumes", volumes, headers={"If-Match": '"1"'}), 412, "version_conflict")
    assert caller.put(f"{path}/volumes", volumes, headers={"If-Match": '"2"'}).headers["ETag"] == '"3"'
    assert good(caller.put(path, FIELDS, headers={"If-Match": '"7", "3"'}))["outcome"] == "unchanged"
    assert good(caller.put(path, FIELDS))["outcome"] == "unchanged", "without the header nothing changes"


@pytest.mark.promise("SKU-62")
def test_what_if_match_may_be(caller):
    refused(changed(caller, 1, If_Match="*"), 412, "version_conflict")
    refused(changed(caller, 1, If_Match='"1"'), 412, "version_conflict")
    path = f"/skus/{good(changed(caller, 1))['data']['id']}"
    for malformed in ("1", '"1', '"1" "2"', "", '*, "1"'):
        refused(changed(caller, 2, If_Match=malformed), 400, "invalid_body")
    refused(changed(caller, 2, If_Match='W/"1"'), 412, "version_conflict")
    dry = caller.post("/skus", FIELDS | {"weight_grams": 2}, headers={"If-Match": '"9"'}, params={"dry_run": "true"})
    refused(dry, 412, "version_conflict")
    assert "ETag" not in caller.post("/skus", FIELDS, params={"dry_run": "true"}).headers
    assert changed(caller, 2, If_Match="*").headers["ETag"] == '"2"'
    good(caller.post(f"{path}/archive", {}))
    assert caller.get(path).headers["ETag"] == '"3"'
    refused(changed(caller, 2, If_Match='"2"'), 412, "version_conflict")
    assert good(caller.get(path))["data"]["archived_at"], "a refused write brings nothing back"
    assert good(changed(caller, 2, If_Match='"3"'))["outcome"] == "updated"


@pytest.mark.promise("SKU-62")
def test_of_writers_with_one_version_at_once_one_succeeds(caller):
    version = good(changed(caller, 1)) and '"1"'
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda weight: changed(caller, weight, If_Match=version), range(2, 10)))
    assert sorted(answer.status_code for answer in answers) == [200] + [412] * 7


@pytest.mark.promise("SKU-62")
def test_a_key_is_for_one_version(caller):
    key = {"Idempotency_Key": "k-1"}
    good(changed(caller, 1))
    first = changed(caller, 2, If_Match='"1"', **key)
    assert good(changed(caller, 2, If_Match='"1"', **key)) == good(first), "a repeat gets the first answer"
    refused(changed(caller, 2, If_Match='"2"', **key), 409, "idempotency_key_reuse")


@pytest.mark.promise("SKU-62")
def test_archiving_and_returning_are_for_a_version_too(caller):
    path = f"/skus/{good(changed(caller, 1))['data']['id']}"
    good(changed(caller, 2))
    for dry_run in ("true", "false"):
        refused(
            caller.post(f"{path}/archive", {}, headers={"If-Match": '"1"'}, params={"dry_run": dry_run}),
            412,
            "version_conflict",
        )
    assert "archived_at" not in good(caller.get(path))["data"]
    archived = caller.post(f"{path}/archive", {}, headers={"If-Match": '"2"'})
    assert (good(archived)["outcome"], archived.headers["ETag"]) == ("updated", '"3"')
    refused(caller.post(f"{path}/archive", {}, headers={"If-Match": '"2"'}), 412, "version_conflict")
    assert good(caller.post(f"{path}/archive", {}, headers={"If-Match": '"3"'}))["outcome"] == "unchanged"
    refused(caller.post(f"{path}/return", {}, headers={"If-Match": '"2"'}), 412, "version_conflict")
    assert good(caller.get(path))["data"]["archived_at"]
    returned = caller.post(f"{path}/return", {}, headers={"If-Match": '"3"'})
    assert (good(returned)["outcome"], returned.headers["ETag"]) == ("updated", '"4"')


@pytest.mark.promise("SKU-62")
def test_each_row_of_a_batch_is_for_a_version_of_its_own(caller):
    good(changed(caller, 1))
    good(changed(caller, 2))
    good(caller.post("/skus", {"sku_code": "V-2", "name": "Lid"}))
    gone = caller.made(sku_code="V-3", name="Old")["id"]
    good(caller.post(f"/skus/{gone}/archive", {}))
    rows = [
        {"sku_code": "V-1", "name": "Stale", "if_version": 1},
        {"sku_code": "V-2", "name": "Changed", "if_version": 1},
        {"sku_code": "V-3", "name": "Archived", "if_version": 0},
        {"sku_code": "V-4", "name": "New", "if_version": 0},
        {"sku_code": "V-5", "name": "Absent", "if_version": 3},
        {"sku_code": "V-6", "name": "Any", "if_version": "x"},
    ]
    for dry_run in ("true", "false"):
        results = good(caller.post("/skus/batch", {"skus": rows}, params={"dry_run": dry_run}))["results"]
        assert [row["outcome"] for row in results] == [
            "rejected",
            "updated",
            "rejected",
            "created",
            "rejected",
            "rejected",
        ]
        faults = [[(fault["field"], fault["code"]) for fault in row["errors"]] for row in results]
        conflict = [("if_version", "version_conflict")]
        assert faults == [conflict, [], conflict, [], conflict, [("if_version", "invalid_type")]]
        after = [1, None] if dry_run == "true" else [2, 1]
        assert [row["version"] for row in results] == [2, after[0], 2, after[1], None, None]
    assert {row["name"] for row in good(caller.get("/skus"))["data"]} == {"Jar", "Changed", "New"}
    back = good(caller.post("/skus/batch", {"skus": [{"sku_code": "V-3", "name": "Back", "if_version": 2}]}))[
        "results"
    ][0]
    assert (back["outcome"], [each["code"] for each in back["warnings"]]) == ("updated", ["returned_from_archive"])


@pytest.mark.promise("SKU-62")
def test_if_match_of_a_batch_is_refused_because_each_row_has_its_own(caller):
    good(changed(caller, 1))
    rows = [{"sku_code": "V-1", "name": "Changed"}]
    [fault] = refused(caller.post("/skus/batch", {"skus": rows}, headers={"If-Match": '"1"'}), 400, "invalid_body")
    assert (fault["field"], "if_version" in fault["message"]) == ("If-Match", True)
    assert good(caller.get("/skus"))["data"][0]["name"] == "Jar"


@pytest.mark.promise("SKU-62")
def test_if_none_match_creates_or_writes_nothing(caller):
    create_only = {"If-None-Match": "*"}
    body = {"sku_code": "C-1", "name": "Jar"}
    assert good(caller.post("/skus", body, headers=create_only, params={"dry_run": "true"}))["version"] is None
    key = {"Idempotency-Key": "create-1"}
    made = caller.post("/skus", body, headers={**create_only, **key})
    assert (made.status_code, good(made)["version"]) == (201, 1)
    assert good(caller.post("/skus", body, headers={**create_only, **key})) == good(made), "replays are answered first"
    path = f"/skus/{good(made)['data']['id']}"
    other = body | {"name": "Overwritten"}
    for archived in (False, True):
        for answer in (
            caller.post("/skus", other, headers=create_only),
            caller.post("/skus", other, headers=create_only, params={"dry_run": "true"}),
            caller.put(path, other, headers=create_only),
        ):
            refused(answer, 412, "version_conflict")
            assert answer.headers["ETag"] == ('"2"' if archived else '"1"')
        shown = good(caller.get(path))["data"]
        assert (shown["name"], "archived_at" in shown) == ("Jar", archived)
        if not archived:
            good(caller.post(f"{path}/archive", {}))
    [fault] = refused(caller.post("/skus", other, headers={"If-None-Match": '"1"'}), 400, "invalid_body")
    assert fault["code"] == "invalid_format"


@pytest.mark.promise("SKU-62")
def test_every_write_and_every_list_says_the_version(caller):
    made = good(caller.post("/skus", {"sku_code": "V-9", "name": "Jar"}))
    path = f"/skus/{made['data']['id']}"
    versions = [made["version"], good(caller.put(path, {"sku_code": "V-9", "name": "Lid"}))["version"]]
    rows = [{"market": "FR", "year": 2026, "units_placed": 1}]
    versions.append(good(caller.put(f"{path}/volumes", rows))["version"])
    versions += [good(caller.post(f"{path}/{action}", {}))["version"] for action in ("archive", "return")]
    versions.append(
        good(caller.post("/skus/batch", {"skus": [{"sku_code": "V-9", "name": "Cap"}]}))["results"][0]["version"]
    )
    assert versions == [1, 2, 3, 4, 5, 6]
    for query in ({}, {"include": "volumes"}, {"q": "V-9"}, {"market": "FR"}, {"cursor": "start"}):
        assert [sku["version"] for sku in good(caller.get("/skus", params=query))["data"]] == [6], query
