"""Webhooks, by the sensor and its runs, to a real receiver: what is sent when, in which order, how often."""

import os
import random
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import dagster as dg
import orjson
import pytest

from api.http.answers import as_json
from pipelines import changes as changes_pipelines
from pipelines.changes import GIVE_UP_AFTER, TRIES_AFTER, TurnTaken
from pipelines.defs.sensors import due_companies
from schemas.actors import Actor
from schemas.changes import WebhookInput, WebhookPatch, WebhookSecretInput
from schemas.refusals import Refused
from services import changes as changes_services
from services.changes import Written
from services.skus.write import write_records
from tests import receiver as receivers
from tests.connector.oauth.test_documents import _certify as certify
from tests.keys import with_keys
from tests.pipelines.conftest import ORIGIN, Desk
from tests.pipelines.sensing import follow, requested_by
from tests.receiver import Receiver
from tests.waiting import PATIENCE_SECONDS
from warehouse.changes import feed
from warehouse.changes import webhooks as webhooks_changes
from warehouse.changes.feed import BEGINNING
from warehouse.operate import keys
from warehouse.operate.settings import Settings
from warehouse.rules import Rulesets

MESSAGES = int(os.environ.get("PCDS_WEBHOOK_MESSAGES", "60"))


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    """A receiver whose answers are waited for as long as a busy machine takes: what comes late is sent again."""
    monkeypatch.setattr("pipelines.changes.ANSWER_SECONDS", PATIENCE_SECONDS)
    with receivers.opened() as opened:
        yield opened


class Office:
    """A company with a webhook, and the daemon that sends."""

    def __init__(self, desk: Desk, folder: Path, url: str) -> None:
        self.desk = desk
        self.settings = with_keys(Settings.load(data_dir=folder, webhooks_to_loopback=True))
        self.sender = changes_pipelines.Sender.from_settings(self.settings)
        self.resources = desk.resources._replace(settings=self.settings)
        written = self.act(changes_services.add, self.sender, WebhookInput(url=url))
        self.hook, self.secret = written.webhook["id"], written.secret

    def act(self, operation: Callable[..., Written], *values: Any) -> Written:
        """What an operation on webhooks wrote, by this company's person, now."""
        actor = Actor(self.desk.company, ORIGIN, self.desk.clock.now())
        return self.desk.pool.run(self.desk.company, lambda conn: operation(conn, actor, *values))

    def change(self, **fields: Any) -> None:
        self.act(changes_services.change, self.sender, self.hook, WebhookPatch(**fields))

    def write(self, *codes: str, name: str = "Bottle") -> None:
        records = {at: {"sku_code": code, "name": name} for at, code in enumerate(codes)}
        work = partial(
            write_records,
            actor=Actor(self.desk.company, ORIGIN, self.desk.clock.now()),
            records=records,
            rulesets=Rulesets(),
            dry_run=False,
        )
        self.desk.pool.run(self.desk.company, work)

    def send(self, later: timedelta = timedelta(0)) -> int:
        """Let the time pass and the daemon look; how many runs it had."""
        self.desk.clock.advance(later)
        runs = self.runs()
        assert all(run.success for run in runs)
        return len(runs)

    def runs(self) -> list[dg.ExecuteInProcessResult]:
        """The runs of this company for which the daemon's next look asks; other tests leave webhooks of their own."""
        return follow(
            due_companies,
            self.desk.instance,
            self.resources,
            only=requested_by(self.desk.company, "send_webhooks"),
        )

    def stored(self) -> dict[str, Any]:
        with self.desk.pool.company(self.desk.company) as conn:
            found = conn.execute(
                "SELECT state, disabled_reason, fault, failures, position FROM webhooks WHERE id = %s", [self.hook]
            ).fetchone()
        return dict(zip(("state", "reason", "fault", "failures", "position"), found, strict=True))

    def states(self) -> list[tuple[str | None, str, int]]:
        with self.desk.pool.company(self.desk.company) as conn:
            return conn.execute("SELECT sku_code, state, tries FROM webhook_deliveries ORDER BY number, id").fetchall()


@pytest.fixture
def office(desk: Desk, tmp_path: Path, receiver: Receiver) -> Office:
    return Office(desk, tmp_path, receiver.url)


def test_changes_are_sent_once_each_signed_and_with_the_change(office: Office, receiver: Receiver) -> None:
    office.write("A", "B")
    office.write("A", name="Jar")
    assert office.send() == 1
    assert office.send() == 0, "each goes once"
    told = [(got.type, got.data["sku_code"], got.data["version"]) for got in receiver.got]
    assert sorted(told) == [("sku.created", "A", 1), ("sku.created", "B", 1), ("sku.updated", "A", 2)]
    assert [version for _, code, version in told if code == "A"] == [1, 2]
    assert all(got.is_signed_by(office.secret) for got in receiver.got)
    assert all(got.timestamp == int(office.desk.clock.now().timestamp()) for got in receiver.got)
    with office.desk.pool.company(office.desk.company) as conn:
        feed_now = orjson.loads(as_json(feed.read(conn, BEGINNING, 10)["data"]))
        changes = {each["id"]: each for each in feed_now}
    assert {got.id: got.data for got in receiver.got} == changes, "as the feed has them"
    assert "secret" not in str([got.body for got in receiver.got])


def test_a_receiver_that_fails_half_of_the_time_gets_all_in_order(office: Office, receiver: Receiver) -> None:
    """`make soak` sends a thousand (`PCDS_WEBHOOK_MESSAGES`)."""
    chance = random.Random(7)
    receiver.answer = lambda _id, _data: 204 if chance.random() < 0.5 else 500
    codes = [f"W-{number:03}" for number in range(max(MESSAGES // 10, 12))]
    for round_of in range(MESSAGES // len(codes)):
        office.write(*codes, name=f"Name {round_of}")
    expected = MESSAGES // len(codes) * len(codes)
    for _ in range(4_000):
        office.send(timedelta(seconds=45))
        if len(receiver.taken()) >= expected and not any(state == "waiting" for _, state, _ in office.states()):
            break
        if office.stored()["failures"] or not office.send():
            office.desk.clock.advance(timedelta(minutes=20))
    taken = receiver.taken()
    assert len({got.id for got in taken}) == expected, "all"
    assert len(taken) == expected, "what was taken is not sent again"
    for code in codes:
        versions = [got.data["version"] for got in receiver.got if got.data["sku_code"] == code]
        assert versions == sorted(versions), "in order, repeats included"
        ids = [got.id for got in receiver.got if got.data["sku_code"] == code]
        assert len(set(ids)) == MESSAGES // len(codes), "a repeat has the id of the first attempt"
    assert {state for _, state, _ in office.states()} == {"delivered"}
    print(f"{expected} messages in {len(receiver.got)} attempts")


def test_a_change_that_is_refused_holds_back_its_own_sku_and_no_other(office: Office, receiver: Receiver) -> None:
    receiver.answer = lambda _id, data: 400 if data["sku_code"] == "BAD" and data["version"] == 1 else 200
    office.write("BAD", "GOOD")
    office.write("BAD", "GOOD", name="Jar")
    office.send()
    assert [(got.data["sku_code"], got.data["version"]) for got in receiver.taken()] == [("GOOD", 1), ("GOOD", 2)]
    for number, pause in enumerate(TRIES_AFTER):
        assert office.stored()["state"] == "active"
        office.write("GOOD", name=f"Jar {number}")
        office.send(pause)
    assert office.states()[0] == ("BAD", "failed", len(TRIES_AFTER) + 1)
    assert ("BAD", 2) in [(got.data["sku_code"], got.data["version"]) for got in receiver.taken()]


def test_a_silent_receiver_costs_one_attempt_and_is_given_up_with_its_reason(
    office: Office, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    receiver.silent = True
    office.write(*(f"S-{number:02}" for number in range(40)))
    with monkeypatch.context() as impatient:
        impatient.setattr("pipelines.changes.ANSWER_SECONDS", 0.3)
        office.send()
        assert receiver.connections <= changes_pipelines.AT_ONCE, "side by side, within one answer's time"
        assert office.send() == 0, "the webhook waits, with all of its changes"
        stored = office.stored()
        assert (stored["state"], stored["fault"], stored["failures"]) == ("active", "no_answer", 1)
        office.send(TRIES_AFTER[0])
        assert receiver.connections <= changes_pipelines.AT_ONCE + 1, "one message tries whether it is back"
        office.send(GIVE_UP_AFTER)
    assert (office.stored()["state"], office.stored()["reason"]) == ("disabled", "not_delivered")
    office.write("S-99")
    assert office.send(timedelta(days=1)) == 0
    receiver.silent = False
    office.change(state="active")
    while office.send():
        pass
    assert sorted(got.data["sku_code"] for got in receiver.taken()) == [*(f"S-{n:02}" for n in range(40)), "S-99"]
    with office.desk.pool.company(office.desk.company) as conn:
        actions = conn.execute("SELECT action FROM audit_entries WHERE action LIKE 'webhook.%%' ORDER BY id").fetchall()
    assert [action for (action,) in actions] == ["webhook.created", "webhook.disabled", "webhook.updated"]


def test_a_slow_receiver_keeps_no_other_waiting(office: Office, receiver: Receiver) -> None:
    codes = [f"S-{number:02}" for number in range(changes_pipelines.AT_ONCE + 4)]
    with receivers.opened() as quick:
        office.act(changes_services.add, office.sender, WebhookInput(url=quick.url))
        done, late = threading.Event(), threading.Event()

        def answer(_: str, data: dict[str, Any]) -> int:
            if data["sku_code"] == codes[0]:  # written while the slow one is being waited for
                threading.Thread(target=office.write, args=["LATE"]).start()
            late.set() if data["sku_code"] == "LATE" else None
            done.set() if len(quick.got) == len(codes) else None
            return 204

        quick.answer = answer
        receiver.answer = lambda _id, _data: 204 if done.wait(PATIENCE_SECONDS / 2) else 500
        office.write(*codes)
        office.send()
        assert late.is_set()
        assert sorted(got.data["sku_code"] for got in quick.taken()) == ["LATE", *codes]
    assert sorted(got.data["sku_code"] for got in receiver.taken()) == ["LATE", *codes]


def test_a_process_that_dies_after_the_answer_sends_it_again_under_the_same_id(
    office: Office, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object, **__: object) -> None:
        raise OSError("killed")

    office.write("K")
    with monkeypatch.context() as patched:
        patched.setattr("pipelines.changes.webhooks.end", die)
        runs = office.runs()
        assert [run.success for run in runs] == [False]
    desk = office.desk
    sent = changes_pipelines.deliver_due(desk.pool, desk.company, office.sender, desk.clock, lambda: None)
    assert sent["delivered"] == 1
    assert len({got.id for got in receiver.got}) == 1
    assert [got.body for got in receiver.got] == [receiver.got[0].body] * 2


def test_one_run_sends_for_a_company_at_a_time(office: Office, receiver: Receiver) -> None:
    desk = office.desk
    office.write("T")
    with desk.pool.turn(webhooks_changes.turn_of(desk.company)) as is_ours:
        assert is_ours
        with pytest.raises(TurnTaken):
            changes_pipelines.deliver_due(desk.pool, desk.company, office.sender, desk.clock, lambda: None)
        assert [run.success for run in office.runs()] == [False]
    assert receiver.got == []


def test_a_receiver_that_is_gone_is_left_and_a_redirect_is_not_followed(office: Office, receiver: Receiver) -> None:
    receiver.answer = lambda _id, _data: 308
    office.write("R")
    office.send()
    assert (len(receiver.got), office.stored()["fault"]) == (1, "not_taken")
    receiver.answer = lambda _id, _data: 410
    office.send(TRIES_AFTER[0])
    assert (office.stored()["state"], office.stored()["reason"]) == ("disabled", "gone")


def test_both_secrets_sign_until_the_overlap_ends(office: Office, receiver: Receiver) -> None:
    new = office.act(
        changes_services.roll_secret, office.sender, office.hook, WebhookSecretInput(overlap_hours=1)
    ).secret
    office.write("O-1")
    office.send()
    office.write("O-2")
    office.send(timedelta(hours=2))
    first, second = receiver.got
    assert (first.is_signed_by(office.secret), first.is_signed_by(new)) == (True, True)
    assert (second.is_signed_by(office.secret), second.is_signed_by(new)) == (False, True)


def test_changes_behind_a_cursor_are_sent_again_in_order(office: Office, receiver: Receiver) -> None:
    office.write("P")
    office.write("P", name="Jar")
    office.send()
    before = [got.id for got in receiver.got]
    with office.desk.pool.company(office.desk.company) as conn:
        first = feed.read(conn, BEGINNING, 10)["data"][0]["cursor"]
    assert office.act(changes_services.replay, office.hook, first).outcome == "updated"
    office.send()
    assert [got.id for got in receiver.got[2:]] == before[1:]
    receiver.answer = lambda _id, _data: 500
    office.write("P", name="Can")
    office.send()
    assert office.act(changes_services.replay, office.hook, first).outcome == "updated"
    receiver.answer = lambda _id, _data: 200
    office.send(TRIES_AFTER[0])
    assert [got.data["version"] for got in receiver.taken()[3:]] == [2, 3], "what waited is not sent twice"


def test_what_waits_counts_from_the_moment_of_a_replay_on(office: Office) -> None:
    """Not only once a run has put it among the deliveries: two seconds after a replay of 245 it said 0."""

    def waiting() -> int:
        with office.desk.pool.company(office.desk.company) as conn:
            webhook = webhooks_changes.detail(conn, office.hook)
        assert webhook is not None
        return webhook["waiting"]

    for number in range(3):
        office.write(f"N-{number}")
    assert waiting() == 3
    office.send()
    assert waiting() == 0
    with office.desk.pool.company(office.desk.company) as conn:
        first = feed.read(conn, BEGINNING, 10)["data"][0]["cursor"]
    assert office.act(changes_services.replay, office.hook, first).outcome == "updated"
    assert waiting() == 2
    office.change(types=["doc.created"])
    assert waiting() == 0, "no change of the type waits"


def test_what_is_paused_or_too_much_stays_in_the_feed(
    office: Office, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes_pipelines, "MOST_WAITING", 5)
    office.change(state="paused")
    office.write(*(f"Q-{number}" for number in range(12)))
    assert office.send() == 0
    office.change(state="active")
    office.send()
    assert sorted(got.data["sku_code"] for got in receiver.got) == sorted(f"Q-{number}" for number in range(12))


def test_what_a_filter_leaves_out_takes_no_place_and_holds_back_nothing(
    office: Office, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes_pipelines, "MOST_WAITING", 2)
    office.change(types=["sku.updated"])
    codes = [f"F-{number}" for number in range(5)]
    receiver.answer = lambda _id, data: 400 if data["sku_code"] == "F-0" else 200
    office.write(*codes)
    office.write(*codes, name="Jar")
    office.send()
    assert sorted((got.type, got.data["sku_code"]) for got in receiver.taken()) == [
        ("sku.updated", code) for code in codes[1:]
    ]
    assert office.states()[0] == ("F-0", "waiting", 1), "no delivery but of the type"
    office.change(types=["sku.created"])
    receiver.answer = lambda _id, _data: 200
    office.send()
    assert [got.type for got in receiver.taken()[4:]] == ["sku.updated"], (
        "what waited is sent, what was left out is not"
    )
    office.act(changes_services.replay, office.hook, receiver.got[0].data["cursor"])
    assert office.send() == 1, "the webhook goes to the end of the feed"
    assert office.send() == 0
    assert len(receiver.taken()) == 5


def test_only_public_addresses_are_sent_anything(desk: Desk, office: Office, receiver: Receiver) -> None:
    strict = changes_pipelines.Sender.from_settings(Settings.load(data_dir=office.settings.data_dir))
    office.write("X")
    changes_pipelines.deliver_due(desk.pool, desk.company, strict, desk.clock, lambda: None)
    assert (receiver.connections, office.stored()["fault"]) == (0, "no_public_address")
    for url in (
        "http://erp.example/x",
        "https://127.0.0.1/x",
        "https://10.0.0.1",
        "https://[::1]/",
        "https://localhost/x",
    ):
        actor = Actor(desk.company, ORIGIN, desk.clock.now())
        with desk.pool.company(desk.company) as conn, pytest.raises(Refused):
            changes_services.add(conn, actor, strict, WebhookInput(url=url), dry_run=True)


def test_a_name_that_leads_to_a_private_address_by_now_is_not_connected_to(
    desk: Desk, tmp_path: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DNS rebinding: what counts is the address at the time of sending, and each of them."""
    port = urlsplit(receiver.url).port
    office = Office(desk, tmp_path, f"https://erp.example:{port}/hook")
    strict = changes_pipelines.Sender.from_settings(with_keys(Settings.load(data_dir=tmp_path)))

    async def rebound(*_: object) -> list[Any]:
        return [(None, None, None, "", (address, port)) for address in ("93.184.215.14", "127.0.0.1")]

    monkeypatch.setattr("pipelines.public_hosts.anyio.getaddrinfo", rebound)
    office.write("D")
    changes_pipelines.deliver_due(desk.pool, desk.company, strict, desk.clock, lambda: None)
    assert (receiver.connections, office.stored()["fault"]) == (0, "no_public_address")


def test_a_resolver_that_hangs_costs_one_attempt_and_its_time(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    office = Office(desk, tmp_path, "https://erp.example/hook")
    office.write("D")
    over = threading.Event()
    monkeypatch.setattr("socket.getaddrinfo", lambda *_, **__: over.wait(PATIENCE_SECONDS) and [])
    monkeypatch.setattr("pipelines.changes.ANSWER_SECONDS", 0.2)
    begun = time.monotonic()
    try:
        changes_pipelines.deliver_due(desk.pool, desk.company, office.sender, desk.clock, lambda: None)
        assert time.monotonic() - begun < PATIENCE_SECONDS / 2
    finally:
        over.set()
    assert office.stored()["fault"] == "no_answer"


def test_a_receiver_that_takes_the_connection_and_closes_it_did_not_answer(desk: Desk, tmp_path: Path) -> None:
    """It was said that the host takes no connection; where nothing listens, it is said still."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]

        def close_each() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = listening.accept()
                    connection.recv(64)
                    connection.close()

        threading.Thread(target=close_each, daemon=True).start()
        office = Office(desk, tmp_path, f"http://127.0.0.1:{port}/hook")
        office.write("D")
        changes_pipelines.deliver_due(desk.pool, desk.company, office.sender, desk.clock, lambda: None)
        assert office.stored()["fault"] == "no_answer"
        listening.shutdown(socket.SHUT_RDWR)  # ends the wait for another connection
    desk.clock.advance(TRIES_AFTER[0])
    changes_pipelines.deliver_due(desk.pool, desk.company, office.sender, desk.clock, lambda: None)
    assert office.stored()["fault"] == "no_connection"


def test_a_certificate_must_be_the_hosts(desk: Desk, tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    certify(key, certificate)
    own = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    own.load_cert_chain(certificate, key)
    with receivers.opened(own) as receiver:
        office = Office(desk, tmp_path, receiver.url)
        office.write("C")
        changes_pipelines.deliver_due(desk.pool, desk.company, office.sender, desk.clock, lambda: None)
        assert (receiver.got, office.stored()["fault"]) == ([], "no_connection")
        trust = ssl.create_default_context(cafile=str(certificate))
        trusting = changes_pipelines.Sender(office.sender.seal, to_loopback=True, trust=trust)
        desk.clock.advance(TRIES_AFTER[0])
        changes_pipelines.deliver_due(desk.pool, desk.company, trusting, desk.clock, lambda: None)
        assert [got.data["sku_code"] for got in receiver.got] == ["C"]


def test_another_companys_webhook_is_none(office: Office, desk: Desk) -> None:
    with desk.pool.company(UUID(int=1)) as conn:
        assert webhooks_changes.find(conn, office.hook) is None
        assert webhooks_changes.due(conn, desk.clock.now()) == []


def test_a_worker_with_another_key_sends_nothing_and_disables_nothing(
    desk: Desk, office: Office, receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The deployment's key is known by its probe, which this database of many tests must not keep."""
    monkeypatch.setattr(keys, "_stored", lambda *_: office.sender.seal.probes[0])
    office.write("K")
    other = changes_pipelines.Sender.from_settings(
        with_keys(Settings.load(data_dir=tmp_path / "elsewhere", webhooks_to_loopback=True))
    )
    with pytest.raises(Refused):
        changes_pipelines.deliver_due(desk.pool, desk.company, other, desk.clock, lambda: None)
    assert (receiver.got, office.stored()["state"]) == ([], "active")
    assert office.send() == 1
    assert [got.data["sku_code"] for got in receiver.got] == ["K"]
