"""The deployment's keys at a running service: rolled with the old one beside, replaced, lost, and given up."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from html import unescape
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from sqlalchemy import LargeBinary
from starlette.testclient import TestClient
from typer.testing import CliRunner

from api.app import create
from api.operate import commands
from api.operate.program import operator_on
from pipelines import changes
from schemas.refusals import Refused
from services import operate
from services.accounts import seal_of
from tests.api.conftest import PROXY, Caller
from tests.api.people import Browser, Person, added
from tests.api.test_second_factor import asked, code_at, switch_on
from tests.conftest import migrated
from warehouse.accounts import keys
from warehouse.changes import webhooks
from warehouse.operate import keys as keys_operate
from warehouse.operate.database import Database
from warehouse.operate.keys import AUDIT, CONNECTOR
from warehouse.operate.sessions import Pool
from warehouse.operate.settings import Settings
from warehouse.suppliers import EnquiryLinks
from warehouse.tables import metadata

HERE = "https://receiver.example/hook"
ENQUIRY = {"supplier_name": "Préformes", "sku_codes": ["K-1"]}


@dataclass
class Place:
    """A deployment whose database no other test shares, with what its keys have sealed."""

    settings: Settings
    database: Database
    pool: Pool
    caller: Caller
    person: Person
    secret: bytes
    recovery: list[str]
    hook: dict[str, Any]
    link: str
    enquiry: UUID

    @property
    def key(self) -> Path:
        return self.settings.data_dir / CONNECTOR

    @property
    def old(self) -> Path:
        return self.settings.data_dir / f"{CONNECTOR}.old"

    def sign_in(self, code: str | None = None) -> Any:
        """The answer to a one-time code after the right password, which is that of a step not used yet."""
        browser = Browser(self.caller.http, self.caller.address)
        with psycopg.connect(self.database.owner_url) as owner:
            owner.execute("UPDATE users SET totp_step = 1")
        form = asked(browser, self.person)
        return browser.post(
            "/sign-in/code",
            form | {"code": code or code_at(self.secret, datetime.now(UTC))},
            headers={"Accept": "text/html"},
        )

    def named(self) -> str:
        """The link as a reminder names it, or what is said in its place."""
        try:
            with self.pool.company(self.caller.company) as conn:
                return EnquiryLinks(self.settings).address_of(conn, self.enquiry)
        except Refused as refused:
            return refused.sentence

    def secrets_of_hook(self, settings: Settings) -> tuple[bytes, ...]:
        with self.pool.company(self.caller.company) as conn:
            hook = webhooks.find(conn, self.hook["id"])
            assert hook is not None
            return changes.signing_secrets(changes.seal_of(settings), hook, datetime.now(UTC))

    def problems(self) -> list[str]:
        with psycopg.connect(self.database.owner_url) as owner:
            return [problem.wrong for problem in operate.of_keys(owner, self.settings)]

    def run(self, monkeypatch: pytest.MonkeyPatch, *words: str) -> Any:
        """The answer of `pcds deployment-key`, or what it was refused with."""
        operator = operator_on(self.settings, self.database, self.pool)
        monkeypatch.setattr(commands, "as_operator", lambda _: nullcontext(operator))
        done = CliRunner().invoke(commands.app, [*words, "--json", "--data-dir", str(self.settings.data_dir)])
        return json.loads(done.stdout) if done.exit_code == 0 else str(done.exception)


@pytest.fixture
def place(server: Database, tmp_path: Path) -> Iterator[Place]:
    settings = Settings.load(data_dir=tmp_path, trusted_proxies=PROXY, warm_workers=False)
    with ExitStack() as opened:
        database = opened.enter_context(migrated(server))
        company, client, key = uuid4(), uuid4(), keys.new_key()
        with psycopg.connect(database.owner_url) as owner:
            keys_operate.prepare(owner, settings)
            owner.execute(
                "INSERT INTO companies (id, name, plan, created_at) VALUES (%s, 'K', 'enterprise', now())", [company]
            )
            owner.execute("INSERT INTO company_counters (company_id) VALUES (%s)", [company])
        pool = opened.enter_context(Pool(database.app_url))
        with pool.company(company) as conn:
            keys.issue(conn, company, client, key=key, name="erp", scopes=("read", "write"), at=datetime.now(UTC))
        http = opened.enter_context(TestClient(create(settings, database), client=(PROXY, 50_000)))
        caller, person = Caller(http, company, client, key), added(pool, company, "administrator")
        browser = Browser(http, caller.address)
        assert browser.sign_in(person).status_code == 303
        secret, _, recovery = switch_on(browser)
        caller.made(sku_code="K-1", components=[{"component_type": "body", "material_family": "plastic"}])
        hook = caller.post("/webhooks", {"url": "https://93.184.215.14/hook"})
        assert hook.status_code == 201, hook.text
        asked_of = caller.post("/supplier-enquiries", ENQUIRY).json()
        yield Place(
            settings,
            database,
            pool,
            caller,
            person,
            secret,
            recovery,
            hook.json()["data"],
            asked_of["url"],
            UUID(asked_of["data"]["id"]),
        )


def test_a_key_is_rolled_with_the_old_one_beside_it(
    place: Place, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Each step while the service runs: nothing that either has sealed is lost, and then the old one may go."""
    other = Settings.load(data_dir=tmp_path_factory.mktemp("other"))
    before = place.key.read_bytes()
    (other.data_dir / CONNECTOR).write_bytes(before)
    signing = place.secrets_of_hook(place.settings)
    assert "key" in place.run(monkeypatch, "new", CONNECTOR)
    assert (place.old.read_bytes(), place.old.stat().st_mode & 0o077) == (before, 0)
    assert place.key.read_bytes() != before
    assert ["nothing is sealed" in wrong for wrong in place.problems()] == [True]
    assert place.sign_in().status_code == 303
    made = place.caller.post("/webhooks", {"url": "https://93.184.215.14/second"}).json()["data"]
    place.hook = made
    assert place.secrets_of_hook(other), "a program that was not given the new key opens what is sealed meanwhile"
    assert "not the key in force" in place.run(monkeypatch, "new", CONNECTOR), "nothing is lost by a second call"

    assert place.run(monkeypatch, "reseal", CONNECTOR) == {"key": str(place.key), "sealed": 3, "lost": 0}
    assert place.sign_in().status_code == 303
    assert place.link.startswith(place.settings.base_url)
    assert place.named() == place.link, "links of the old key are named while it is there"
    assert place.secrets_of_hook(other) == ()
    with psycopg.connect(place.database.owner_url) as owner, pytest.raises(Refused):
        seal_of(other).seal_to_keep(owner, b"secret", b"x")

    place.old.unlink()
    assert place.problems() == []
    assert place.sign_in().status_code == 303
    assert len(place.secrets_of_hook(place.settings)) == 1
    page = place.link.removeprefix(place.settings.base_url)
    assert place.caller.http.get(page).status_code == 200, "the supplier's link goes on"
    assert "deployment has no more" in place.named()
    assert signing
    assert place.run(monkeypatch, "new", AUDIT)["old"].endswith("audit.key.old")
    assert place.run(monkeypatch, "reseal", AUDIT) == {"key": str(place.settings.data_dir / AUDIT)}
    assert place.problems() == [f"{place.settings.data_dir / AUDIT}.old opens nothing any more."]


def test_a_replaced_key_is_what_is_said_to_be_wrong(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything that needs it says so; what does not need it goes on, recovery codes too."""
    right = place.key.read_bytes()
    for wrong in (os.urandom(32), b"short", None):
        place.key.unlink() if wrong is None else place.key.write_bytes(wrong)
        assert place.problems()[0].startswith(str(place.key))
        answers: dict[str, Callable[[], Any]] = {
            "webhook": lambda: place.caller.post(
                "/webhooks", {"url": HERE.replace("receiver.example", "93.184.215.14")}
            ),
            "enquiry": lambda: place.caller.post("/supplier-enquiries", ENQUIRY),
        }
        for what, ask in answers.items():
            answer = ask()
            assert answer.status_code == 500, what
            assert "lacks the deployment's connector.key" in answer.text, what
        assert "lacks the deployment's connector.key" in place.named()
        assert place.caller.get("/skus").status_code == 200
        assert "wrong" not in place.run(monkeypatch, "new", CONNECTOR).replace("(wrong)", "")
        assert not place.old.exists()
        if wrong is None or len(wrong) != 32:
            continue
        told = place.sign_in()
        assert told.status_code == 500
        assert "was given another one" in unescape(told.text)
        assert "is wrong" not in unescape(told.text)
    place.key.write_bytes(os.urandom(32))
    assert place.sign_in(place.recovery[0]).status_code == 303
    place.key.write_bytes(right)
    assert (place.sign_in().status_code, place.problems()) == (303, [])


def test_who_has_lost_the_key_can_go_on_and_is_told_what_is_lost(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "nothing is lost" in place.run(monkeypatch, "give-up", CONNECTOR)
    place.key.unlink()
    with psycopg.connect(place.database.owner_url) as owner:
        keys_operate.prepare(owner, place.settings)
    assert not place.key.exists(), "nobody makes one in silence"
    assert "Neither" in place.run(monkeypatch, "reseal", CONNECTOR)
    assert place.run(monkeypatch, "give-up", CONNECTOR) == {"key": str(place.key), "sealed": 0, "lost": 2}
    assert place.problems() == []
    told = place.sign_in()
    assert (told.status_code, "deployment has no more" in unescape(told.text)) == (500, True)
    assert place.sign_in(place.recovery[1]).status_code == 303
    assert place.caller.post(f"/webhooks/{place.hook['id']}/roll-secret", {}).status_code == 200
    assert len(place.secrets_of_hook(place.settings)) == 1


def test_every_column_with_sealed_bytes_is_sealed_anew() -> None:
    named = {
        (table.name, column.name)
        for table in metadata.sorted_tables
        for column in table.columns
        if isinstance(column.type, LargeBinary) and column.name.endswith("secret")
    }
    assert named == {(table, column) for table, column, _ in keys_operate.SEALED}
