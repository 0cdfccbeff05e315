"""What was placed on a market stays placed: archived SKUs in figures, declarations and lists, and their units."""

import pytest

from tests.api.portfolios import counted, run, sent, weighed
from tests.api.test_figures import BOX, JAR, placed, rows

YEAR = {"market": "DE", "year": 2025}


@pytest.fixture
def weighed_anew(caller):
    """Counts and weighs the company's portfolio as it is now."""

    def done() -> None:
        counted(caller)
        weighed(caller)

    return done


def id_of(caller, code: str) -> str:
    return caller.get("/skus", params={"sku_code": code}).json()["data"][0]["id"]


def archived(caller, code: str, **params):
    answer = caller.request("POST", f"/skus/{id_of(caller, code)}/archive", json={}, params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.promise("SKU-63")
def test_an_archived_sku_counts_in_every_figure_and_declaration_of_its_periods(caller, weighed_anew):
    placed(caller, "JAR", JAR, ("DE", 2025, 0, 1_000_000), ("GB", 2025, 2, 10_001), level="sales")
    placed(caller, "BOX", BOX, ("DE", 2025, 0, 7), level="transport")
    weighed_anew()
    lists = ("tonnes", "uncounted", "undecided", "obligations")
    before = {name: rows(caller, name) for name in lists}
    wanted = {**YEAR, "half": 0, "format": "json"}
    declared = caller.post("/declarations?dry_run=true", wanted).json()["data"]
    for code in ("JAR", "BOX"):
        archived(caller, code)
    weighed_anew()
    assert caller.get("/skus").json()["pagination"]["total"] == 0
    after = {name: rows(caller, name) for name in lists}
    assert (after["tonnes"], after["obligations"]) == (before["tonnes"], before["obligations"])
    for name in ("uncounted", "undecided"):
        assert before[name]
        assert after[name] == [{**row, "archived": True} for row in before[name]]
    kept = caller.post("/declarations", wanted).json()["data"]
    same = ("total_tonnes", "rows", "uncounted", "scope_missing")
    assert [kept[name] for name in same] == [declared[name] for name in same]
    content = caller.get(f"/declarations/{kept['id']}/content").json()
    assert [(row["sku_code"], row["archived"]) for row in content["uncounted"]] == [("BOX", True)]
    assert [(row["sku_code"], row["archived"]) for row in content["scope_missing"]] == [("JAR", True)]
    csv_id = caller.post("/declarations", {**wanted, "format": "csv"}).json()["data"]["id"]
    beside = caller.get(f"/declarations/{csv_id}/content", params={"part": "uncounted"}).text
    assert beside.splitlines() == [
        "sku_code,units,reason,fields,archived",
        "BOX,7,weight_missing,components[1].weight_g,true",
    ]


def test_archived_skus_are_in_no_list_gap_or_count(caller, weighed_anew):
    placed(caller, "GONE", BOX, ("DE", 2026, 0, 7), level="sales")
    placed(caller, "KEPT", BOX, ("DE", 2026, 0, 7), level="sales")
    archived(caller, "GONE")
    weighed_anew()
    for query in ({}, {"gap": "weight_missing"}, {"market": "DE"}):
        found = caller.get("/skus", params=query).json()
        assert [sku["sku_code"] for sku in found["data"]] == ["KEPT"], query
    assert {row["sku_code"]: row["archived"] for row in rows(caller, "uncounted", market="DE")} == {
        "GONE": True,
        "KEPT": False,
    }


@pytest.mark.promise("SKU-63")
def test_units_of_an_archived_sku_are_written_and_cleared_without_bringing_it_back(caller, weighed_anew):
    placed(caller, "REST", JAR, ("DE", 2025, 0, 1_000), level="sales")
    sku_id = id_of(caller, "REST")
    version = archived(caller, "REST")["version"]
    path = f"/skus/{sku_id}"
    sent_rows = [{**YEAR, "units_placed": 5_000}, {"market": "FR", "year": 2026, "units_placed": 1}]
    tried = caller.put(f"{path}/volumes?dry_run=true", sent_rows)
    assert (tried.status_code, tried.json()["version"]) == (200, version)
    written = caller.put(f"{path}/volumes", sent_rows)
    assert (written.json()["version"], written.headers["ETag"]) == (version + 1, f'"{version + 1}"')
    assert caller.put(f"{path}/volumes", sent_rows).json()["version"] == version + 1
    stale = caller.request("PUT", f"{path}/volumes", json=sent_rows, headers={"If-Match": f'"{version}"'})
    assert (stale.status_code, stale.json()["error"]) == (412, "version_conflict")
    shown = caller.get(path).json()["data"]
    assert "archived_at" in shown
    assert [(row["market"], row["units_placed"]) for row in shown["volumes"]] == [("DE", 5_000), ("FR", 1)]
    entry = caller.get("/audit-log").json()["data"][0]
    assert (entry["action"], entry["resource_id"]) == ("sku_volumes.updated", sku_id)
    weighed_anew()
    assert {row["units"] for row in rows(caller, "tonnes", **YEAR)} == {5_000}
    caller.put(f"{path}/volumes", [{**row, "units_placed": None} for row in sent_rows])
    weighed_anew()
    assert rows(caller, "tonnes") == []
    back = caller.request("POST", f"{path}/return", json={}).json()
    assert (back["outcome"], back["data"]["volumes"], back["warnings"]) == ("updated", [], [])


def test_archiving_warns_with_the_tonnes_by_market_and_year_and_says_how_units_are_cleared(caller):
    placed(
        caller, "WARN", JAR, ("DE", 2025, 0, 1_000_000), ("GB", 2024, 1, 1_000), ("GB", 2024, 2, 1_000), level="sales"
    )
    placed(caller, "BARE", [{**BOX[1]}], ("FR", 2026, 0, 3), level="sales")
    caller.made(sku_code="NONE")
    for dry_run in ("true", "false"):
        [warning] = archived(caller, "WARN", dry_run=dry_run)["warnings"]
        assert (warning["code"], warning["field"]) == ("placed_units_remain", "volumes")
        assert "DE 2025: 208.25 t; GB 2024: 0.4165 t" in warning["message"]
        assert "units_placed null" in warning["message"]
    [warning] = archived(caller, "BARE")["warnings"]
    assert "FR 2026: 3 units without weight" in warning["message"]
    placed(
        caller, "VAGUE", [{**JAR[0], "material_family": "plastic", "polymer_or_grade": None}], ("DE", 2026, 0, 1_000)
    )
    [warning] = archived(caller, "VAGUE")["warnings"]  # it weighs, and has no category
    assert f"DE 2026: {JAR[0]['weight_g'] / 1000:g} t." in warning["message"]
    assert archived(caller, "NONE")["warnings"] == []


def test_undoing_an_import_takes_its_units_back(caller, weighed_anew):
    placed(caller, "OLD", JAR, ("DE", 2025, 0, 1_000), level="sales")
    rested = caller.made(sku_code="RESTED", weight_grams=1)["id"]
    caller.put(f"/skus/{rested}/volumes", [{**YEAR, "units_placed": 30}])
    archived(caller, "RESTED")
    lines = ("OLD,Jar,9,5000", "NEW,Lid,5,70", "RESTED,Jar,2,80", "GONE,Lid,5,60")
    import_id = sent(caller, "\n".join(["sku_code,name,weight_grams,annual_volume_de_2025", *lines]))
    run(caller, import_id)
    archived(caller, "GONE")
    weighed_anew()
    assert {row["units"] for row in rows(caller, "uncounted")} | {row["units"] for row in rows(caller, "tonnes")} != {
        1_000
    }
    undone = caller.request("POST", f"/imports/{import_id}/undo", json={}).json()
    assert undone["counts"] == {"restored": 1, "archived": 3, "unchanged": 0, "kept": 0}
    assert [sku["sku_code"] for sku in caller.get("/skus").json()["data"]] == ["OLD"]
    units = {}
    for sku in caller.get("/skus/archived").json()["data"]:
        detail = caller.get(f"/skus/{sku['id']}").json()["data"]
        units[sku["sku_code"]] = [row["units_placed"] for row in detail["volumes"]]
    assert units == {"NEW": [], "GONE": [], "RESTED": [30]}
    assert caller.get(f"/skus/{rested}").json()["data"]["weight_grams"] == 1
    again = caller.request("POST", f"/imports/{import_id}/undo", json={}).json()
    assert again["counts"] == {"restored": 0, "archived": 0, "unchanged": 4, "kept": 0}


def test_what_brings_an_archived_sku_back_says_so(caller):
    for code in ("POST", "PUT", "BATCH"):
        caller.made(sku_code=code)
    ids = {code: id_of(caller, code) for code in ("POST", "PUT", "BATCH")}
    for code in ids:
        archived(caller, code)
    single = {"name": "Jar"}
    answers = {
        "POST": lambda **params: caller.request("POST", "/skus", json={"sku_code": "POST", **single}, params=params),
        "PUT": lambda **params: caller.request(
            "PUT", f"/skus/{ids['PUT']}", json={"sku_code": "PUT", **single}, params=params
        ),
        "BATCH": lambda **params: caller.request(
            "POST", "/skus/batch", json={"skus": [{"sku_code": "BATCH", **single}]}, params=params
        ),
    }
    for write in answers.values():
        for dry_run in ("true", "false"):
            answer = write(dry_run=dry_run).json()
            found = answer["results"][0] if "results" in answer else answer
            assert [warning["code"] for warning in found["warnings"]] == ["returned_from_archive"]
        answer = write().json()
        assert (answer["results"][0] if "results" in answer else answer)["warnings"] == []


def test_a_batch_that_keeps_archived_skus_rejects_their_rows_alone(caller):
    gone = caller.made(sku_code="GONE")["id"]
    archived(caller, "GONE")
    body = {"archived": "keep", "skus": [{"sku_code": "GONE", "name": "X"}, {"sku_code": "NEW", "name": "Y"}]}
    for dry_run in (True, False):
        answer = caller.post("/skus/batch", {**body, "dry_run": dry_run}).json()
        assert [row["outcome"] for row in answer["results"]] == ["rejected", "created"]
        [fault] = answer["results"][0]["errors"]
        assert (fault["code"], fault["field"]) == ("sku_archived", "sku_code")
    assert "archived_at" in caller.get(f"/skus/{gone}").json()["data"]
    refused = caller.post("/skus/batch", {**body, "archived": "no"})
    assert (refused.status_code, refused.json()["details"][0]["field"]) == (400, "archived")


@pytest.mark.parametrize("way", ["part", "parameter"])
def test_an_import_that_keeps_archived_skus_rejects_their_rows_alone(caller, way):
    gone = caller.made(sku_code="GONE")["id"]
    archived(caller, "GONE")
    text = b"sku_code,name\nGONE,Jar\nNEW,Lid\n"
    choice = {"data": {"archived": "keep"}} if way == "part" else {"params": {"archived": "keep"}}
    for dry_run in ("true", "false"):
        params = {"dry_run": dry_run, **choice.get("params", {})}
        files = {"file": ("f.csv", text)}
        accepted = caller.request("POST", "/imports", files=files, data=choice.get("data"), params=params)
        assert accepted.status_code == 202, accepted.text
        run(caller, accepted.json()["id"])
        report = caller.get(f"/imports/{accepted.json()['id']}").json()
        assert report["counts"] | {"total": 2} == {
            "total": 2,
            "created": 1,
            "updated": 0,
            "unchanged": 0,
            "rejected": 1,
        }
        [fault] = report["errors"]
        assert (fault["line"], fault["column"], fault["code"]) == (2, "A", "sku_archived")
    assert "archived_at" in caller.get(f"/skus/{gone}").json()["data"]
    again = caller.request("POST", f"/imports/{accepted.json()['id']}/repeat", json={})
    run(caller, again.json()["id"])
    assert caller.get(f"/imports/{again.json()['id']}").json()["counts"]["rejected"] == 1, "as the import before"
    other = caller.request("POST", f"/imports/{accepted.json()['id']}/repeat", json={}, params={"archived": "return"})
    run(caller, other.json()["id"])
    assert caller.get(f"/imports/{other.json()['id']}").json()["counts"]["updated"] == 1
    [warning] = caller.get(f"/imports/{other.json()['id']}").json()["warnings"]
    assert (warning["code"], warning["line"], warning["column"]) == ("returned_from_archive", 2, "A")
    assert "archived_at" not in caller.get(f"/skus/{gone}").json()["data"]


def test_large_imports_keep_archived_skus_too(caller):
    """More rows than one statement takes as a parameter: they are staged before it is known which are archived."""
    caller.made(sku_code="N-7")
    archived(caller, "N-7")
    text = "sku_code,name\n" + "".join(f"N-{number},Jar\n" for number in range(400))
    accepted = caller.request(
        "POST", "/imports", files={"file": ("f.csv", text.encode())}, params={"archived": "keep"}
    ).json()
    run(caller, accepted["id"])
    report = caller.get(f"/imports/{accepted['id']}").json()
    assert (report["counts"]["created"], report["counts"]["rejected"]) == (399, 1)
    assert caller.get("/skus").json()["pagination"]["total"] == 399
