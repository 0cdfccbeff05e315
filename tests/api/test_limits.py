"""Requests a minute: exact at the boundary, shared by a key and its tokens, raised by a window between two instants."""

from datetime import datetime, timedelta
from uuid import uuid4

import psycopg
import pytest

from api.operate import routes
from schemas.operate import State
from tests.api.test_tokens import asked, bearing, own, refused, token
from warehouse.accounts import keys
from warehouse.accounts.keys import Window, new_key

SECOND = timedelta(seconds=1)


def spent(caller, number: int) -> None:
    """Send so many requests; every one is let in."""
    assert {caller.get("/skus").status_code for _ in range(number)} <= {200}


def open_window(database, caller, *, per_minute: int, opens_at: datetime, closes_at: datetime | None) -> None:
    with psycopg.connect(database.owner_url) as owner:
        owner.execute("SELECT set_config('app.company_id', %s, true)", [str(caller.company)])
        keys.put(owner, caller.company, Window(caller.client_id, per_minute, opens_at, closes_at))


def test_120_requests_in_any_60_seconds(stopped, clock):
    spent(stopped, 60)
    clock.advance(30 * SECOND)
    spent(stopped, 60)
    for _ in range(3):
        late = stopped.get("/skus")
        assert (refused(late), late.headers["retry-after"]) == ((429, "rate_limited"), "30")
    clock.advance(30 * SECOND - timedelta(microseconds=1))
    late = stopped.get("/skus")
    assert (refused(late), late.headers["retry-after"]) == ((429, "rate_limited"), "1")
    clock.advance(timedelta(microseconds=1))
    spent(stopped, 60)
    late = stopped.get("/skus")
    assert (refused(late), late.headers["retry-after"]) == ((429, "rate_limited"), "30")


def test_every_kind_of_request_counts_and_a_refused_one_does_not(stopped, clock, join):
    """Reads, writes, what is not found, what is malformed and what the scope forbids; tokens and their key together."""
    held = token(stopped, scope="read")
    spent(stopped, 110)
    kinds = [
        stopped.post("/skus", {"sku_code": "L", "name": "Bottle"}),
        stopped.post("/skus", {"sku_code": "L"}),
        stopped.get(f"/skus/{uuid4()}"),
        stopped.get("/skus/no-uuid"),
        stopped.get("/skus?limit=many"),
        stopped.get("/jurisdictions"),
        stopped.get("/jurisdictions?limit=many"),
        bearing(stopped, held),
        bearing(stopped, held, "POST", json={}),
        bearing(stopped, held, path="/skus?limit=many"),
    ]
    assert [answer.status_code for answer in kinds] == [201, 400, 404, 404, 400, 200, 400, 200, 403, 400]
    for answer in (
        stopped.get("/skus"),
        bearing(stopped, held),
        stopped.post("/skus", {}),
        stopped.get("/skus/no-uuid"),
        stopped.get("/jurisdictions"),
        stopped.get("/skus?limit=many"),
    ):
        assert (refused(answer), answer.headers["retry-after"]) == ((429, "rate_limited"), "60")
    clock.advance(60 * SECOND)
    spent(stopped, 1)
    other = join()
    assert stopped.http.get("/api/v1/skus", headers={"X-API-Key": other.key}).status_code == 200


@pytest.mark.parametrize("path", ["/skus?limit=many", "/skus/no-uuid", "/jurisdictions?limit=many"])
def test_who_may_not_call_is_told_nothing_else(http, path):
    for headers, code in (
        ({"X-API-Key": new_key()}, "invalid_api_key"),
        ({"Authorization": "Bearer x"}, "invalid_token"),
    ):
        assert refused(http.get(f"/api/v1{path}", headers=headers)) == (401, code)


async def resting(_: object) -> frozenset[State]:
    """What the service looks at beside all requests is not looked at."""
    return frozenset(State)


@pytest.mark.parametrize("path", ["/skus", "/jurisdictions"])
def test_admission_adds_at_most_one_statement(caller, monkeypatch, path):
    sent = []

    async def counted(connection, query, *more, **options):
        sent.append(query)
        return await execute(connection, query, *more, **options)

    execute = psycopg.AsyncConnection.execute
    monkeypatch.setattr(routes, "_parts_away", resting)
    monkeypatch.setattr(psycopg.AsyncConnection, "execute", counted)
    assert caller.get(path).status_code == 200
    assert len(sent) == 1, "the caller and the page are one statement; a cursor's own is not counted here"


def test_a_refused_write_costs_no_reading_of_its_body(stopped):
    spent(stopped, 120)
    answer = stopped.request("POST", "/skus", content=b"{" * 3_000_000)
    assert refused(answer) == (429, "rate_limited")


def test_a_window_raises_the_ceiling_between_its_two_instants_and_not_outside(stopped, clock, database, join):
    now = clock.now()
    opens_at, closes_at = now + 10 * SECOND, now + 20 * SECOND
    open_window(database, stopped, per_minute=150, opens_at=opens_at, closes_at=closes_at)
    spent(stopped, 120)
    clock.advance(10 * SECOND - timedelta(microseconds=1))
    assert refused(stopped.get("/skus")) == (429, "rate_limited")
    clock.advance(timedelta(microseconds=1))
    spent(stopped, 30)
    assert refused(stopped.get("/skus")) == (429, "rate_limited")
    clock.advance(10 * SECOND)
    open_window(database, stopped, per_minute=1_000, opens_at=opens_at, closes_at=closes_at)
    assert refused(stopped.get("/skus")) == (429, "rate_limited"), "the instant at which a window ends is outside it"
    clock.advance(40 * SECOND)
    spent(stopped, 120)
    assert refused(stopped.get("/skus")) == (429, "rate_limited")
    open_window(database, stopped, per_minute=5_000, opens_at=opens_at, closes_at=None)
    spent(stopped, 300)
    assert stopped.http.get("/api/v1/skus", headers={"X-API-Key": join().key}).status_code == 200


def test_a_window_holds_for_the_keys_tokens_and_not_for_token_requests(stopped, clock, database):
    open_window(database, stopped, per_minute=200, opens_at=clock.now(), closes_at=None)
    values = [token(stopped) for _ in range(30)]
    assert refused(asked(stopped, {"grant_type": "client_credentials"} | own(stopped))) == (429, "rate_limited")
    assert {bearing(stopped, values[number % 30]).status_code for number in range(200)} == {200}
    assert refused(bearing(stopped, values[0])) == (429, "rate_limited")
