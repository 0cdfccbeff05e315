"""The catalogue for anyone: shape, order, paging, coverage, and the depth on the day of reading."""

from datetime import date, timedelta

import psycopg

from compliance.representatives import published_entry
from schemas.rules import JurisdictionListResponse
from tests.waiting import wait_until, within_a_minute
from warehouse.imports.claims import LISTENER


def _all(http, **params):
    answer = http.get("/api/v1/jurisdictions", params={"limit": 200, **params})
    assert answer.status_code == 200
    JurisdictionListResponse.model_validate(answer.json(), extra="forbid")
    return answer.json()


def test_it_needs_no_credential_and_shows_the_served_entries_by_code(http, catalogue):
    answer = _all(http)
    codes = [entry["code"] for entry in answer["data"]]
    assert codes == sorted(entry.code for entry in catalogue)
    assert {"FR", "DE", "GB"} <= set(codes)
    assert answer["pagination"]["total"] == len(catalogue)


def test_coverage_counts_the_whole_catalogue_on_every_page(http):
    whole, page = _all(http), _all(http, limit=2, offset=3)
    assert page["coverage"] == whole["coverage"]
    assert page["data"] == whole["data"][3:5]
    coverage, total = whole["coverage"], whole["pagination"]["total"]
    assert coverage["guided"] + coverage["sourced"] + coverage["signalled"] == total
    for breakdown in coverage["breakdown"].values():
        assert sum(breakdown.values()) == total


def test_an_entry_shows_what_the_file_says(http, catalogue):
    today = date.today()  # noqa: DTZ011  (no entry's review ends on these days)
    shown = {entry["code"]: entry for entry in _all(http)["data"]}
    assert shown == {entry.code: published_entry(entry, today) for entry in catalogue}


def is_counted(caller):
    assert {caller.get("/jurisdictions").status_code for _ in range(120)} == {200}
    refused = caller.get("/skus")
    assert (refused.status_code, refused.json().get("error")) == (429, "rate_limited")


def test_a_credential_that_is_sent_is_checked_and_counted_as_everywhere(http, join):
    for headers, code in (
        ({"X-API-Key": "svc_unknown"}, "invalid_api_key"),
        ({"Authorization": "Bearer unknown"}, "invalid_token"),
    ):
        refused = http.get("/api/v1/jurisdictions", headers=headers)
        assert (refused.status_code, refused.json()["error"]) == (401, code)
    within_a_minute(lambda: is_counted(join()))
    assert http.get("/api/v1/jurisdictions", headers={"Authorization": "Basic eDp5"}).status_code == 200


def test_the_service_is_ready_when_the_catalogue_is_there_and_a_worker_listens(http, database):
    assert http.get("/healthz").json() == {"status": "ok"}
    starting = http.get("/readyz")
    assert (starting.status_code, starting.json()) == (503, {"status": "starting", "failing": ["worker"]})
    with psycopg.connect(database.app_url, application_name=LISTENER):
        wait_until(lambda: http.get("/readyz").status_code == 200)  # it looks once a second
        assert http.get("/readyz").json() == {"status": "ok"}


def test_a_review_makes_depth_3_to_its_last_day_and_2_from_the_next(stopped, clock, database):
    """The clock stands on 2026-11-21, 18 months after the review."""

    def depths():
        answer = stopped.http.get("/api/v1/jurisdictions", params={"limit": 200}).json()
        [austria] = [entry["depth"] for entry in answer["data"] if entry["code"] == "AT"]
        return austria, answer["coverage"]["guided"], answer["coverage"]["sourced"]

    with psycopg.connect(database.owner_url, autocommit=True) as owner:
        _, guided, sourced = depths()
        owner.execute("UPDATE jurisdictions SET reviewed_on = '2025-05-21', depth = 3 WHERE code = 'AT'")
        try:
            assert depths() == (3, guided + 1, sourced - 1)
            clock.advance(timedelta(days=1))
            assert depths() == (2, guided, sourced)
        finally:
            owner.execute("UPDATE jurisdictions SET reviewed_on = NULL, depth = 2 WHERE code = 'AT'")
