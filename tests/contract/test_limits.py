"""Requests a minute per key, over all processes, and windows that raise them."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from tests.contract.outside import good, refused
from tests.waiting import within_a_minute


def fire(callers, number: int) -> list[int]:
    """The statuses of requests sent eight at a time, each on a connection of its own."""
    with ThreadPoolExecutor(8) as threads:
        return list(threads.map(lambda n: callers[n % len(callers)].get("/skus").status_code, range(number)))


@pytest.mark.promise("LIM-01", "CNV-10")
def test_a_key_has_exactly_120_requests_a_minute_over_all_processes(caller):
    within_a_minute(lambda: has_120(caller.server.keyed(caller.company)))


def has_120(caller):
    statuses = fire([caller], 140)
    assert (statuses.count(200), statuses.count(429)) == (120, 20)
    answer = caller.get("/skus")
    refused(answer, 429, "rate_limited")
    wait = answer.headers["Retry-After"]
    assert wait.isdecimal()
    assert 1 <= int(wait) <= 60
    for method, path in (("POST", "/skus"), ("GET", "/audit-log"), ("POST", "/imports?filename=a.csv")):
        refused(caller.request(method, path), 429, "rate_limited")


@pytest.mark.promise("LIM-02")
def test_tokens_spend_the_allowance_of_their_key_and_another_key_has_its_own(caller):
    within_a_minute(lambda: shares_120_with_its_tokens(caller.server.keyed(caller.company)))
    assert caller.server.keyed(caller.company).get("/skus").status_code == 200


def shares_120_with_its_tokens(caller):
    statuses = fire([caller, caller.bearing(), caller.bearing(scope="read")], 126)
    assert (statuses.count(200), statuses.count(429)) == (120, 6)


@pytest.mark.processes
@pytest.mark.promise("LIM-01")
def test_refused_requests_do_not_prolong_the_wait(caller, place):
    with place.shifted(PCDS_TEST_CLOCK_OFFSET=61).serving() as later:
        within_a_minute(lambda: may_ask_again(caller.server.keyed(caller.company), later))


def may_ask_again(caller, later):
    assert fire([caller], 125).count(200) == 120
    assert fire([caller.at(later)], 121).count(200) == 120


@pytest.mark.processes
@pytest.mark.promise("LIM-05")
def test_a_window_raises_one_key_between_two_instants(caller, place):
    with place.shifted(PCDS_TEST_CLOCK_OFFSET=600).serving() as later:
        within_a_minute(lambda: has_a_window(caller.server.keyed(caller.company), place, later))
    within_a_minute(lambda: has_a_window_to_come(caller.server.keyed(caller.company), place))


def instant(minutes):
    return (datetime.now(UTC) + timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")


def has_a_window(caller, place, later):
    opened = place.pcds(
        "window", "open", "--key", caller.client_id, "--per-minute", 200, "--from", instant(-1), "--until", instant(5)
    )
    assert (opened["client_id"], opened["per_minute"]) == (caller.client_id, 200)
    assert fire([caller], 205).count(200) == 200
    assert fire([caller.at(later)], 125).count(200) == 120


def has_a_window_to_come(caller, place):
    place.pcds("window", "open", "--key", caller.client_id, "--per-minute", 1000, "--from", instant(3))
    assert fire([caller], 122).count(200) == 120, "a window that has not begun raises nothing"


@pytest.mark.promise("LIM-05")
def test_a_window_that_was_closed_raises_nothing(caller, place):
    within_a_minute(lambda: had_a_window(caller.server.keyed(caller.company), place))


def had_a_window(caller, place):
    place.pcds("window", "open", "--key", caller.client_id, "--per-minute", 500)
    place.pcds("window", "close", caller.client_id)
    assert fire([caller], 122).count(200) == 120


@pytest.mark.processes
@pytest.mark.promise("LIM-06")
def test_a_forwarded_address_counts_only_behind_a_trusted_proxy(caller, place):
    with place.shifted(PCDS_TRUSTED_PROXIES="192.0.2.0/24").serving() as server:
        near = caller.at(server)
        sku = near.made()
        [entry] = [entry for entry in near.data("/audit-log") if entry["resource_id"] == sku["id"]]
        assert entry["ip"] == "127.0.0.1"
    sku = caller.made()
    [entry] = [entry for entry in caller.data("/audit-log") if entry["resource_id"] == sku["id"]]
    assert entry["ip"] == caller.address
    lying = replace(caller, address=f"198.51.100.7, {caller.address}")
    assert good(lying.get("/skus"))
    sku = lying.made()
    [entry] = [entry for entry in caller.data("/audit-log") if entry["resource_id"] == sku["id"]]
    assert entry["ip"] == caller.address


@pytest.mark.promise("SVC-07", "JUR-06")
def test_the_jurisdiction_list_without_a_credential_spends_nobodys_allowance(caller):
    anonymous = caller.with_headers()
    assert set(fire([anonymous], 3)) == {401}
    assert {anonymous.get("/jurisdictions").status_code for _ in range(125)} == {200}
    within_a_minute(lambda: has_120_left(caller.server.keyed(caller.company)))


def has_120_left(caller):
    assert {caller.with_headers().get("/jurisdictions").status_code for _ in range(5)} == {200}
    assert fire([caller], 121).count(200) == 120
