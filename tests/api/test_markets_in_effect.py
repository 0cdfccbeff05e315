"""Markets in effect (decisions §13): units make a market as `markets` does, by every door that writes, dry runs too.

The verdict of the PFAS refusal and the flags of a record may not depend on the door, nor on how its markets are told.
"""

from collections.abc import Callable
from uuid import uuid4

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compliance.scopes import PlacedUnits, is_in_union, markets_in_effect

ABOVE = {"status": "above_limit"}
PFAS = {"food_contact": True, "substances": {"pfas": ABOVE}}
PLATE = {"packaging_format": "plate", "material": "plastic", "use_contexts": ["takeaway"], "packaging_level": "sales"}
DE = {"market": "DE", "year": 2026, "units_placed": 50_000}
TERRITORIES = {"GP": "FR", "MQ": "FR", "GF": "FR", "RE": "FR", "YT": "FR", "MF": "FR", "AX": "FI"}


def refusals(answer) -> list[str]:
    return [issue["code"] for issue in answer.json().get("details", [])]


def flags(data) -> list[str]:
    return sorted(flag["code"] for flag in data["compliance"]["annex_v_flags"])


def by_batch(caller, code, record, markets, volumes, *, dry_run=False):
    row = {"sku_code": code, "name": "P", **record, "markets": markets, "volumes": volumes}
    body = {"skus": [row], "dry_run": dry_run}
    [result] = caller.post("/skus/batch", body).json()["results"]
    found = [] if dry_run or result["outcome"] == "rejected" else flags(held(caller, result["id"]))
    return [issue["code"] for issue in result["errors"]], found


def by_volumes(caller, code, record, markets, volumes, *, dry_run=False):
    made = caller.post("/skus", {"sku_code": code, "name": "P", **record, "markets": markets})
    if made.status_code != 201:
        return refusals(made), []
    path = f"/skus/{made.json()['data']['id']}"
    written = caller.put(f"{path}/volumes", volumes, params={"dry_run": dry_run})
    return refusals(written), flags(held(caller, path.rpartition("/")[2]))


def last_the_record(caller, code, record, markets, volumes, *, how="post", dry_run=False):
    """Units first, of a record without the facts that refuse; then the rest, by POST or PUT."""
    made = caller.post("/skus/batch", {"skus": [{"sku_code": code, "name": "P", "volumes": volumes}]})
    [result] = made.json()["results"]
    body = {"sku_code": code, "name": "P", **record, "markets": markets}
    params = {"dry_run": dry_run}
    if how == "post":
        answer = caller.post("/skus", body, params=params)
    else:
        answer = caller.put(f"/skus/{result['id']}", body, params=params)
    return refusals(answer), flags(answer.json()["data"]) if answer.status_code == 200 else []


# A way to write a record with its markets and units returns the codes that refuse it, and its flags.
DOORS: dict[str, tuple[Callable[..., tuple[list[str], list[str]]], dict[str, object]]] = {
    "batch": (by_batch, {}),
    "batch, dry": (by_batch, {"dry_run": True}),
    "volumes": (by_volumes, {}),
    "volumes, dry": (by_volumes, {"dry_run": True}),
    "post": (last_the_record, {}),
    "post, dry": (last_the_record, {"dry_run": True}),
    "put": (last_the_record, {"how": "put"}),
    "put, dry": (last_the_record, {"how": "put", "dry_run": True}),
}
SHOWS_FLAGS = ("batch", "volumes", "post", "post, dry", "put", "put, dry")


def held(caller, sku_id):
    return caller.get(f"/skus/{sku_id}").json()["data"]


MARKETS = st.sampled_from(["DE", "FR", "BE-VLG", "RE", "AX", "GB", "US-CA", "CH"])
ROWS = st.builds(
    lambda market, year, units: {"market": market, "year": year, "units_placed": units},
    st.sampled_from(["DE", "BE-VLG", "RE", "GB", "US-CA"]),
    st.sampled_from([2024, 2025, 2026, 2027]),
    st.sampled_from([0, 1, 50_000]),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=25)
@given(
    markets=st.none() | st.lists(MARKETS, max_size=2),
    volumes=st.lists(ROWS, max_size=3, unique_by=lambda row: (row["market"], row["year"])),
)
def test_every_door_gives_one_verdict_however_the_markets_are_told(join, markets, volumes):
    caller = join()  # each example has its own, since requests are limited
    placed = [PlacedUnits(row["market"], row["year"], row["units_placed"]) for row in volumes]
    in_effect = markets_in_effect(markets, placed)
    refused = any(is_in_union(code) for code in in_effect)
    named = caller.made(**PLATE, markets=in_effect)
    for door, (write, how) in DOORS.items():
        codes, _ = write(caller, f"D-{uuid4()}", PFAS, markets, volumes, **how)
        assert codes == (["pfas_food_contact_prohibited"] if refused else []), door
        codes, found = write(caller, f"F-{uuid4()}", PLATE, markets, volumes, **how)
        assert codes == [], door
        if door in SHOWS_FLAGS:
            assert found == flags(named), door


@pytest.mark.parametrize("year", [2025, 2026])
def test_units_from_2026_on_make_a_market_and_earlier_ones_do_not(caller, year):
    codes, _ = by_batch(caller, "U-1", PFAS, None, [{**DE, "year": year}])
    assert codes == (["pfas_food_contact_prohibited"] if year == 2026 else [])


def test_the_refusal_names_part_and_market_what_made_it_one_and_what_to_do(caller):
    coating = {"component_type": "coating", "material_family": "plastic", "substances": {"pfas": ABOVE}}
    sku = caller.made(food_contact=True, components=[{"component_type": "body", "material_family": "paper"}, coating])
    [issue] = caller.put(f"/skus/{sku['id']}/volumes", [DE]).json()["details"]
    assert (issue["field"], issue["code"]) == ("substances.pfas", "pfas_food_contact_prohibited")
    for part in ("the component coating (plastic)", "units of 2026 (50000) make DE a market", "archive it"):
        assert part in issue["message"]
    named = caller.post("/skus", {"sku_code": sku["sku_code"], "name": "P", "markets": ["DE"]}).json()["details"]
    assert "markets names DE" in named[0]["message"]
    assert held(caller, sku["id"])["volumes"] == []


@pytest.fixture
def early(caller, database) -> dict:
    """A record from before units made a market: PFAS in food contact, 100 units in DE in 2026."""
    sku = caller.made(markets=["GB"])
    path = f"/skus/{sku['id']}/volumes"
    assert caller.put(path, [{**DE, "units_placed": 100}, {**DE, "market": "FR"}]).status_code == 200
    with psycopg.connect(database.owner_url) as owner:
        owner.execute(
            """UPDATE skus SET food_contact = true, pfas = '{"status":"above_limit"}' WHERE id = %s""", [sku["id"]]
        )
    return sku


@pytest.mark.parametrize(
    ("rows", "allowed"),
    [
        ([{**DE, "units_placed": 99}], True),
        ([{**DE, "units_placed": None}], True),
        ([{**DE, "units_placed": 0}, {**DE, "market": "FR", "units_placed": 1}], True),
        ([{**DE, "units_placed": 99}, {**DE, "market": "FR"}], True),
        ([{**DE, "units_placed": 101}], False),
        ([{**DE, "units_placed": 100}], False),
        ([{**DE, "units_placed": 99}, {**DE, "market": "GB", "units_placed": 1}], False),
        ([{**DE, "year": 2025, "units_placed": 1}], False),
        ([{**DE, "units_placed": None}, {**DE, "market": "FR", "units_placed": None}, {**DE, "market": "GB"}], True),
    ],
)
def test_units_that_are_lowered_or_cleared_are_never_refused_by_law(caller, early, rows, allowed):
    """The last case leaves no market of the Union, so that the record is no longer forbidden."""
    path, before = f"/skus/{early['id']}/volumes", held(caller, early["id"])["volumes"]
    for dry_run in ("true", "false"):
        answer = caller.put(path, rows, params={"dry_run": dry_run})
        assert answer.status_code == (200 if allowed else 400), answer.text
        assert refusals(answer) == ([] if allowed else ["pfas_food_contact_prohibited"])
    assert (held(caller, early["id"])["volumes"] == before) is not allowed


def test_a_batch_row_that_only_lowers_units_is_written_and_one_that_changes_more_is_not(caller, early):
    row = {"sku_code": early["sku_code"], "name": early["name"], "volumes": [{**DE, "units_placed": 5}]}
    bodies = [row, {**row, "name": "Another", "volumes": [{**DE, "units_placed": 4}]}, {**row, "volumes": []}]
    outcomes = [caller.post("/skus/batch", {"skus": [body]}).json()["results"][0]["outcome"] for body in bodies]
    assert outcomes == ["updated", "rejected", "rejected"]


def test_what_comes_back_from_the_archive_is_judged_whole(caller, early):
    """Neither bringing it back, nor a write of lower units that would bring it back, is lawful."""
    assert caller.post(f"/skus/{early['id']}/archive", {}).status_code == 200
    for dry_run in ("true", "false"):
        answer = caller.post(f"/skus/{early['id']}/return", {}, params={"dry_run": dry_run})
        assert refusals(answer) == ["pfas_food_contact_prohibited"], answer.text
    row = {"sku_code": early["sku_code"], "name": early["name"], "volumes": [{**DE, "units_placed": 5}]}
    [result] = caller.post("/skus/batch", {"skus": [row]}).json()["results"]
    assert (result["outcome"], [issue["code"] for issue in result["errors"]]) == (
        "rejected",
        ["pfas_food_contact_prohibited"],
    )


def test_territories_of_the_union_are_read_as_their_member_state(caller):
    """decisions §13: in `markets` and in units, as a subdivision that the catalogue does not serve."""
    for code, state in TERRITORIES.items():
        sku = caller.made(markets=[code.lower(), "GB", state])
        assert sku["markets"] == [state, "GB"]
        rows = [{"market": code, "year": 2026, "units_placed": 3}]
        assert caller.put(f"/skus/{sku['id']}/volumes", rows).json()["data"][0]["market"] == state
        body = {"sku_code": f"T-{code}", "name": "P", **PFAS, "markets": [code]}
        assert refusals(caller.post("/skus", body)) == ["pfas_food_contact_prohibited"]
        listed = caller.get("/skus", params={"market": code, "sku_code": sku["sku_code"]}).json()["data"]
        assert [each["id"] for each in listed] == [sku["id"]]
    both = caller.made(markets=["GB"])
    rows = [{"market": code, "year": 2026, "units_placed": 3} for code in ("FR", "RE")]
    [first, _] = caller.put(f"/skus/{both['id']}/volumes", rows).json()["details"]
    assert first["code"] == "duplicate_row"
    assert "Row 0 (FR) and row 1 (RE)" in first["message"]


def test_a_territory_that_an_earlier_release_stored_is_in_the_union(caller, database):
    sku = caller.made(markets=["GB"], food_contact=True, packaging_format="plate", material="plastic")
    with psycopg.connect(database.owner_url) as owner:
        owner.execute("UPDATE skus SET markets = '{RE}' WHERE id = %s", [sku["id"]])
    shown = held(caller, sku["id"])
    assert (shown["markets"], bool(flags(shown))) == (["RE"], True)
    body = {"sku_code": sku["sku_code"], "name": "P", "substances": {"pfas": ABOVE}}
    assert refusals(caller.post("/skus", body)) == ["pfas_food_contact_prohibited"]


def test_a_site_keeps_the_code_of_its_territory(caller):
    """A country of a site is an address, no market."""
    made = caller.post("/sites", {"name": "Saint-Denis", "roles": ["manufacturing"], "country": "re"})
    assert made.json()["data"]["country"] == "RE", made.text
