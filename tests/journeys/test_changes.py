"""Two pollers and a follower beside writers of every kind: what they are told, added up, is the list as it stands.

Most of what is written is new, so that what a poller missed is not told to it by a later write. One poller asks
`updated_since` with `as_of`, the other with the instants of its own runs; the follower reads the feed of changes.
`make soak` runs it for longer (`PCDS_CHANGES_SECONDS`).
"""

import os
import random
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any
from uuid import UUID, uuid4

from schemas.actors import Actor, Origin
from services.review import decide, entries
from tests.journeys.place import Place
from tests.waiting import PATIENCE_SECONDS, wait_until
from warehouse import conformity
from warehouse.audit import ledger
from warehouse.operate.clock import Clock
from warehouse.operate.database import Database
from warehouse.operate.sessions import Pool
from warehouse.rules import Rulesets

SECONDS = float(os.environ.get("PCDS_CHANGES_SECONDS", "4"))
CODES = [f"P-{number:04d}" for number in range(400)]
PERSON = Origin("user", str(uuid4()), "Ada Marsh", "correlation")
Listed = dict[str, dict[str, Any]]


@dataclass
class Poller:
    """Asks for what changed since its last run and keeps what it was told."""

    place: Place
    by_as_of: bool
    since: str | None = None
    known: Listed = field(default_factory=dict)
    runs: int = 0

    def run(self) -> None:
        began, as_of = datetime.now(UTC).isoformat(), None
        for page in pages(self.place, **({"updated_since": self.since} if self.since else {})):
            as_of = as_of or page["as_of"]
            self.known |= {item["sku_code"]: item for item in page["data"]}
        self.since = as_of if self.by_as_of else began
        self.runs += 1


@dataclass
class Follower:
    """Reads the feed of changes from a cursor on and keeps the records; versions of each SKU as they were told."""

    place: Place
    cursor: str
    known: Listed = field(default_factory=dict)
    versions: dict[str, list[int]] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)

    def run(self) -> None:
        more = True
        while more:
            asked = {"after": self.cursor, "include": "records", "limit": "200"}
            page = self.place.call("GET", "/api/v1/changes", params=asked)
            for change in page["data"]:
                assert change["id"] not in self.seen, "told twice"
                self.seen.add(change["id"])
                if change["sku_code"] is not None:
                    self.known[change["sku_code"]] = change["record"]
                if change["version"] is not None:
                    self.versions.setdefault(change["sku_code"], []).append(change["version"])
            self.cursor, more = page["next_cursor"], page["has_more"]


def pages(place: Place, **params: str) -> Iterator[dict[str, Any]]:
    """Every page of the list, the filter the same on each."""
    offset, rows = 0, 200
    while rows == 200:
        page = place.call("GET", "/api/v1/skus", params={**params, "limit": "200", "offset": str(offset)})
        rows = len(page["data"])
        offset += rows
        yield page


def test_a_poller_misses_nothing_beside_writers_of_every_kind(place: Place):
    place.start_and_wait("api", "other api")
    place.start("worker")
    follower = Follower(place, place.call("GET", "/api/v1/changes", params={"after": "now"})["next_cursor"])
    everything = [{"sku_code": code, "name": "Bottle"} for code in CODES]
    place.call("POST", "/api/v1/skus/batch", json={"skus": everything})
    ids = {item["sku_code"]: item["id"] for page in pages(place) for item in page["data"]}
    pollers, deadline = [Poller(place, by_as_of=by_as_of) for by_as_of in (True, False)], time.monotonic() + SECONDS

    def until_then(work: Callable[[], object]) -> None:
        while time.monotonic() < deadline:
            work()

    with Pool(Database.from_settings(place.settings).app_url, size=6) as pool:
        writers = [
            *[partial(post, place, random.Random(n), of) for n, of in enumerate(["api", "other api"] * 5)],
            *[partial(put, place, random.Random(n), ids) for n in range(4)],
            *[partial(batch, place, random.Random(n)) for n in range(3)],
            partial(send_file, place),
            partial(cover, place, pool, random.Random(1), ids),
            partial(accept, place, pool, random.Random(2), ids),
        ]
        with ThreadPoolExecutor(len(writers) + 3) as threads:
            works = [*writers, *(poller.run for poller in pollers), follower.run]
            for done in [threads.submit(until_then, work) for work in works]:
                done.result(PATIENCE_SECONDS + SECONDS)
    wait_until(lambda: all_are_stamped(place))
    held = {item["sku_code"]: item for page in pages(place) for item in page["data"]}
    for poller in pollers:
        poller.run()
        lost = [code for code, item in held.items() if poller.known.get(code) != item]
        assert not lost, f"{len(lost)} of {len(held)} after {poller.runs} runs, by as_of: {poller.by_as_of}"
        poller.run()
        before = poller.since
        poller.run()
        if poller.by_as_of:  # nothing was written since: nothing is told again
            [page] = pages(place, updated_since=str(before))
            assert page["data"] == []
    follower.run()
    told = {code: {name: follower.known[code][name] for name in item} for code, item in held.items()}
    assert told == held
    assert all(versions == [*range(1, len(versions) + 1)] for versions in follower.versions.values()), "in their order"


def all_are_stamped(place: Place) -> bool:
    """Whether every write is told: the worker stamps those of a writer that did not, a few seconds later."""
    with Pool(Database.from_settings(place.settings).app_url) as pool, pool.company(place.company) as conn:
        return conn.execute("SELECT FROM audit_transactions WHERE visible_at IS NULL").fetchone() is None


def post(place: Place, rng: random.Random, of: str) -> None:
    body = {"sku_code": rng.choice([*CODES, str(uuid4())]), "name": f"Name {rng.random()}"}
    answer = place.ask("POST", "/api/v1/skus", of=of, json=body)
    assert answer is not None
    assert answer.is_success, answer.text


def put(place: Place, rng: random.Random, ids: dict[str, str]) -> None:
    code = rng.choice(CODES)
    place.call(
        "PUT", f"/api/v1/skus/{ids[code]}", json={"sku_code": code, "name": "n", "description": f"{rng.random()}"}
    )


def batch(place: Place, rng: random.Random) -> None:
    codes = [*rng.sample(CODES, 50), *(str(uuid4()) for _ in range(100))]
    rows = [{"sku_code": code, "name": "n", "weight_grams": rng.randrange(900)} for code in codes]
    place.call("POST", "/api/v1/skus/batch", json={"skus": rows})


def send_file(place: Place) -> None:
    """The worker writes it in chunks of a hundred rows."""
    token = str(uuid4())
    codes = [*CODES[:100], *(f"{token}-{number}" for number in range(200))]
    lines = "\n".join(f"{code};n;{token}" for code in codes)
    file = {"file": ("changes.csv", f"sku_code;name;product_category\n{lines}\n".encode(), "text/csv")}
    url = place.call("POST", "/api/v1/imports", files=file)["poll_url"]
    deadline = time.monotonic() + PATIENCE_SECONDS
    while place.call("GET", str(url))["status"] not in {"completed", "failed"}:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def cover(place: Place, pool: Pool, rng: random.Random, ids: dict[str, str]) -> None:
    """One more declaration, by a writer that is not there to say when it was done."""
    doc_id, sku_id, now = uuid4(), UUID(ids[rng.choice(CODES)]), Clock().now()
    values = {
        "sku_id": sku_id,
        "reference": "R",
        "supplier_name": None,
        "status": rng.choice(["draft", "valid"]),
        "issued_on": None,
        "expires_on": None,
    }
    with pool.company(place.company) as conn:
        conformity.add(conn, place.company, doc_id, values=values, at=now)
        time.sleep(0.05)
        ledger.enter(conn, Actor(place.company, PERSON, now), "doc.created", doc_id, before=None, after={})


def accept(place: Place, pool: Pool, rng: random.Random, ids: dict[str, str]) -> None:
    """A proposal of the assistant, accepted by a person."""
    payload, sku_id = {"changes": {"material_subtype": str(rng.random())}}, UUID(ids[rng.choice(CODES)])
    with pool.company(place.company) as conn:
        entry = entries.file(
            conn,
            Actor(place.company, PERSON, Clock().now()),
            "sku_update",
            payload,
            sku_id=sku_id,
        )
    pool.run(
        place.company,
        lambda conn: decide.accept(conn, Actor(place.company, PERSON, Clock().now()), entry.id, rulesets=Rulesets()),
    )
