"""PUT /skus/{id}/volumes: rows are upserted whole or not at all, by the one road that files take too."""

from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import psycopg
import pytest

from schemas.skus.answers import VolumesWriteResult
from schemas.skus.inputs import MAX_VOLUME_ROWS

FR = {"market": "FR", "year": 2026, "units_placed": 1000}


@pytest.fixture
def sku(caller):
    return caller.made(markets=["FR", "GB"])


@pytest.fixture
def put(caller, sku):
    def sent(body, **params):
        return caller.put(f"/skus/{sku['id']}/volumes", body, params=params)

    return sent


@pytest.fixture
def held(caller, sku):
    def shown():
        detail = caller.get(f"/skus/{sku['id']}").json()["data"]
        return {(row["market"], row["year"], row["half"]): row["units_placed"] for row in detail["volumes"]}

    return shown


@pytest.fixture
def entries(caller, database):
    """The caller's audit entries about volumes."""

    def found():
        with psycopg.connect(database.owner_url) as owner:
            query = "SELECT resource_id, version FROM audit_entries WHERE company_id = %s AND action = %s ORDER BY id"
            return owner.execute(query, [caller.company, "sku_volumes.updated"]).fetchall()

    return found


def _result(answer):
    assert answer.status_code == 200, answer.text
    VolumesWriteResult.model_validate(answer.json(), extra="forbid")
    return answer.json()


def _refused(answer):
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_body")
    return {(issue.get("row"), issue["field"], issue["code"]) for issue in answer.json()["details"]}


def test_rows_are_written_normalised_in_the_order_of_the_request(put, held):
    second_half = {"market": "uk", "year": 2026, "half": 2, "units_placed": 7}
    assert _result(put([second_half, {**FR, "market": " fr "}, {**FR, "year": 2025}])) == {
        "dry_run": False,
        "version": 2,
        "data": [
            {"market": "GB", "year": 2026, "half": 2, "units_placed": 7},
            {"market": "FR", "year": 2026, "half": 0, "units_placed": 1000},
            {"market": "FR", "year": 2025, "half": 0, "units_placed": 1000},
        ],
        "warnings": [],
    }
    assert held() == {("FR", 2025, 0): 1000, ("FR", 2026, 0): 1000, ("GB", 2026, 2): 7}


def test_rows_that_are_not_sent_stay_and_null_clears(put, held):
    _result(put([FR, {**FR, "year": 2025}]))
    cleared = _result(put([{**FR, "units_placed": None}, {**FR, "year": 2024, "units_placed": 0}]))
    assert [row["units_placed"] for row in cleared["data"]] == [None, 0]
    assert held() == {("FR", 2024, 0): 0, ("FR", 2025, 0): 1000}
    _result(put([{**FR, "year": year, "units_placed": None} for year in (2024, 2025)]))
    assert held() == {}


def test_what_changes_nothing_is_not_written(caller, sku, put, entries):
    _result(put([FR]))
    before = caller.get(f"/skus/{sku['id']}").json()
    for body in ([FR], [], [{**FR, "year": 2001, "units_placed": None}], [{**FR, "year": 2026.0, "half": 0}]):
        _result(put(body))
    assert caller.get(f"/skus/{sku['id']}").json() == before
    assert before["data"]["updated_at"] > sku["updated_at"]
    assert entries() == [(sku["id"], 2)]


def test_only_the_volumes_are_touched(caller, put):
    full = {
        "markets": ["FR"],
        "description": "D",
        "weight_grams": 12.5,
        "material": "plastic",
        "components": [{"component_type": "body", "material_family": "plastic", "weight_g": 12}],
    }
    made = caller.made(**full)
    _result(caller.put(f"/skus/{made['id']}/volumes", [FR]))
    after = caller.get(f"/skus/{made['id']}").json()["data"]
    changed = {name for name in made if made[name] != after[name]}
    assert changed == {"volumes", "updated_at", "version"}


def test_a_dry_run_answers_as_the_write_would_and_writes_nothing(put, held, entries):
    dry = _result(put([FR], dry_run="true"))
    assert (dry["dry_run"], dry["data"]) == (True, [{**FR, "half": 0}])
    assert (held(), entries()) == ({}, [])
    assert _result(put([FR]))["data"] == dry["data"]


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ({**FR, "market": "Atlantis"}, ("market", "unknown_market")),
        ({**FR, "market": "BR"}, ("market", "unknown_market")),
        ({**FR, "market": 33}, ("market", "invalid_type")),
        ({**FR, "year": 1999}, ("year", "out_of_range")),
        ({**FR, "year": 2101}, ("year", "out_of_range")),
        ({**FR, "year": "2026"}, ("year", "invalid_type")),
        ({**FR, "year": 2026.5}, ("year", "invalid_type")),
        ({**FR, "half": 3}, ("half", "out_of_range")),
        ({**FR, "half": 1}, ("half", "out_of_range")),
        ({**FR, "half": None}, ("half", "not_null")),
        ({**FR, "half": True}, ("half", "invalid_type")),
        ({**FR, "units_placed": -1}, ("units_placed", "out_of_range")),
        ({**FR, "units_placed": 10**12 + 1}, ("units_placed", "out_of_range")),
        ({**FR, "units_placed": 1e300}, ("units_placed", "out_of_range")),
        ({**FR, "units_placed": 0.5}, ("units_placed", "invalid_type")),
        ({**FR, "units_placed": "1000"}, ("units_placed", "invalid_type")),
        ({**FR, "units": 1}, ("units", "unknown_field")),
        ({"market": "FR", "year": 2026}, ("units_placed", "required")),
        ({"year": 2026, "units_placed": 1}, ("market", "required")),
        ("FR", (None, "invalid_type")),
        ([], (None, "invalid_type")),
    ],
)
def test_a_bad_row_is_named_and_nothing_is_written(put, held, row, fault):
    assert _refused(put([{**FR, "year": 2020}, row])) == {(1, *fault)}
    assert held() == {}


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ({"rows": []}, (None, None, "invalid_type")),
        (FR, (None, None, "invalid_type")),
        ("FR", (None, None, "invalid_type")),
        ([FR] * (MAX_VOLUME_ROWS + 1), (None, None, "too_long")),
    ],
)
def test_a_body_that_is_no_array_of_rows_is_refused(put, body, fault):
    assert _refused(put(body)) == {fault}


def test_null_is_no_array_and_no_row(caller, sku):
    for content, row in ((b"null", None), (b"[null]", 0)):
        answer = caller.request("PUT", f"/skus/{sku['id']}/volumes", content=content)
        assert _refused(answer) == {(row, None, "invalid_type")}


def test_every_fault_of_every_row_is_named_at_once(put):
    body = [{**FR, "year": 1, "units_placed": -1}, FR, {"market": "FR"}]
    assert _refused(put(body)) == {
        (0, "year", "out_of_range"),
        (0, "units_placed", "out_of_range"),
        (2, "year", "required"),
        (2, "units_placed", "required"),
    }


def test_the_same_market_year_and_half_twice_names_both_rows(put, held):
    assert _refused(put([FR, {**FR, "half": 0, "market": "fr"}])) == {(at, None, "duplicate_row") for at in (0, 1)}
    texas = {"market": "US-TX", "year": 2026, "units_placed": 1}  # not in the catalogue: its country
    assert _refused(put([FR, texas, {**texas, "market": "us"}])) == {(at, None, "duplicate_row") for at in (1, 2)}
    assert held() == {}


@pytest.mark.parametrize(
    ("lang", "beginning", "end"),
    [
        ("en", "Row 0 (ES) and row 2 (ES-CT) are of the same market, year and half:", "Send one row for ES."),
        ("de", "Zeile 0 (ES) und Zeile 2 (ES-CT) haben denselben Markt,", "Senden Sie eine Zeile für ES."),
        ("fr", "La ligne 0 (ES) et la ligne 2 (ES-CT) sont du même marché,", "Envoyez une seule ligne pour ES."),
    ],
)
def test_rows_that_meet_in_their_country_say_which_codes_count_for_it(caller, sku, lang, beginning, end):
    rows = [{"market": code, "year": 2026, "units_placed": 1} for code in ("ES", "US-CA", "es_ct")]
    spoken = {"Accept-Language": lang}
    alone = caller.request("PUT", f"/skus/{sku['id']}/volumes", json=rows, headers=spoken).json()["details"]
    batch = {"skus": [{"sku_code": "ES", "name": "Jar", "volumes": rows}]}
    [row] = caller.request("POST", "/skus/batch", json=batch, headers=spoken).json()["results"]
    told = [fault["message"] for fault in (*alone, *row["errors"])]
    assert len(told) == 4
    assert all(message.startswith(beginning) and message.endswith(end) for message in told)


def test_two_rows_that_name_the_market_itself_are_told_so_without_other_codes(put):
    faults = put([FR, {**FR, "market": "fr"}]).json()["details"]
    same = "Row 0 is of the same market, year and half as row 1; send one of them."
    assert {fault["message"] for fault in faults} == {same}


def test_markets_are_the_catalogues(put, held, catalogue):
    served = [entry.code for entry in catalogue]
    _result(put([{**FR, "market": code} for code in served]))
    assert {market for market, _, _ in held()} == set(served)
    for sent, counted in (("be_vlg", "BE"), ("US TX", "US"), ("us-ca", "US-CA"), ("UK-SCT", "GB")):
        [row] = _result(put([{**FR, "market": sent, "half": 0}]))["data"]
        assert row["market"] == counted
    assert _result(put([{"market": "gb-sct", "year": 2026, "half": 1, "units_placed": 1}]))["data"][0]["half"] == 1


def test_a_market_that_the_sku_does_not_name_is_a_warning(caller, put):
    warnings = _result(put([FR, {**FR, "market": "DE"}, {**FR, "market": "IT", "units_placed": None}]))["warnings"]
    assert [(w["row"], w["field"], w["code"]) for w in warnings] == [(1, "market", "market_not_named")]
    for markets in (None, []):
        silent = caller.made(markets=markets)
        assert _result(caller.put(f"/skus/{silent['id']}/volumes", [FR]))["warnings"] == []


def test_units_up_to_the_bound_of_decisions_13_come_back_as_they_are(put, held):
    _result(put([{**FR, "units_placed": 10**12}]))
    assert held() == {("FR", 2026, 0): 10**12}


def test_a_sku_that_the_law_forbids_takes_no_volumes(caller, database, sku, put, held):
    """Held from before the day that the prohibition began; the write leaves the three facts as they are."""
    with psycopg.connect(database.owner_url) as owner:
        owner.execute(
            """UPDATE skus SET food_contact = true, pfas = '{"status":"above_limit"}' WHERE id = %s""", [sku["id"]]
        )
    assert _refused(put([FR])) == {(None, "substances.pfas", "pfas_food_contact_prohibited")}
    assert _refused(put([])) == {(None, "substances.pfas", "pfas_food_contact_prohibited")}
    assert held() == {}


def test_only_the_companys_own_sku_is_found(caller, join, sku):
    for other, identity in ((join(), sku["id"]), (caller, str(uuid4())), (caller, "no-uuid")):
        for body in ([FR], "anything"):
            answer = other.put(f"/skus/{identity}/volumes", body)
            assert (answer.status_code, answer.json()["error"]) == (404, "not_found")
    reader = join(scopes=("read",))
    assert reader.put(f"/skus/{sku['id']}/volumes", [FR]).json()["error"] == "insufficient_scope"


def test_writers_of_one_sku_lose_none_of_each_others_rows(put, held, entries):
    years = range(2000, 2016)
    with ThreadPoolExecutor(4) as threads:
        for answer in threads.map(lambda year: put([{**FR, "year": year}]), years):
            _result(answer)
    assert held() == {("FR", year, 0): 1000 for year in years}
    assert [version for _, version in entries()] == list(range(2, 18))
