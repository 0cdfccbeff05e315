"""One deployment and one Chromium for this folder; a company whose every page has something to show.

The folder is a package so that its fixtures end with its last test: while Playwright's driver is there, no other event
loop can run in this process.
"""

import os
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from playwright.sync_api import Browser, Page, expect

from pipelines.catalogue import load, read
from schemas.actors import Origin
from tests import mailbox
from tests.api.people import Person, added
from tests.api.portfolios import weigh
from tests.browser.hand import LOCALES, Hand
from tests.browser.visitor import Desk, LetIn, Shop, Visitor
from tests.browser.windows import Opens
from tests.conftest import as_operators, migrated
from tests.contract.outside import Caller, Place, Server
from tests.keys import with_keys
from tests.mailbox import Mailbox
from tests.waiting import PATIENCE_SECONDS
from tools.browser import chromium
from tools.browser.assistant import Assistant
from tools.browser.company import BOTTLE, Company
from tools.browser.pages import prepare, sign_in
from warehouse.figures import snapshots
from warehouse.operate.dagster_home import environment as dagster_environment
from warehouse.operate.database import Database
from warehouse.operate.sessions import Pool
from warehouse.operate.settings import Settings
from warehouse.rules import Rulesets

expect.set_options(timeout=1_000 * PATIENCE_SECONDS)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    program = chromium.found()
    if program is None:
        pytest.skip(chromium.MISSING)
    with chromium.opened(program) as browser:
        yield browser


@pytest.fixture(scope="package")
def database(server: Database) -> Iterator[Database]:
    """Not the other tests' database: the worker here takes whatever import it finds queued."""
    with migrated(server) as database:
        yield as_operators(database)


@pytest.fixture(scope="package")
def pool(database: Database) -> Iterator[Pool]:
    with Pool(database.app_url) as pool:
        yield pool


@pytest.fixture(scope="package")
def post() -> Iterator[Mailbox]:
    """The mail server that the deployment sends with."""
    with mailbox.opened() as post:
        yield post


@pytest.fixture(scope="package")
def service(browser: Browser, database: Database, pool: Pool, post: Mailbox) -> Iterator[Server]:
    folder = Path(tempfile.mkdtemp(dir=os.environ["PCDS_TESTS_ROOT"], prefix="browser-"))
    settings = with_keys(Settings.load(data_dir=folder / "data", database_url=database.owner_url, smtp_url=post.url))
    with pool.system() as connection:
        load(connection, read(None), Origin("system", None, None, "c"), datetime.now(UTC))
    variables = settings.environment() | dagster_environment(settings, database)
    with Place(os.environ | variables, folder).serving(imports=True) as server:
        yield server


def company_of(caller: Caller) -> Company:
    return Company(str(caller.server.client.base_url).rstrip("/"), caller.company, caller.key, caller.server.place.pcds)


@pytest.fixture
def company(service: Server) -> Company:
    """A company of one test alone."""
    return company_of(service.joined())


@pytest.fixture
def item(company: Company) -> str:
    """The id of the bottle, the company's one item."""
    return company.item(BOTTLE)


@pytest.fixture
def person(company: Company, pool: Pool) -> Person:
    return added(pool, UUID(company.id))


@pytest.fixture(scope="package")
def shop(service: Server, browser: Browser, pool: Pool) -> Iterator[Shop]:
    """The company that the pages are looked at with, and the cookies of its person."""
    company = company_of(service.joined())
    company_id, data_dir, rulesets = UUID(company.id), service.place.folder / "data", Rulesets()
    somebody = added(pool, company_id)
    added(pool, company_id, called="verpackungskoordination.europa.")  # wider than a phone

    def count() -> None:
        snapshots.publish(pool, company_id, data_dir, datetime.now(UTC), rulesets)
        weigh(pool, rulesets, data_dir, company_id)

    with browser.new_context() as context, Assistant(company.service).listening() as assistant:
        page = context.new_page()
        sign_in(page, company.service, somebody.email, somebody.password)
        paths = prepare(company, assistant, page, count)
        yield Shop(company.service, paths, context.storage_state())


@pytest.fixture(scope="package")
def desk(service: Server, browser: Browser, pool: Pool) -> Desk:
    """A company whose tonnes are counted, for the jobs of its administrator."""
    company = company_of(service.joined())
    person, data_dir, rulesets = added(pool, UUID(company.id)), service.place.folder / "data", Rulesets()
    for code, name, weight in (("JAR", "Jar", 200), ("BOX", "Box, large", None)):
        body = {"component_type": "body", "material_family": "glass", "polymer_or_grade": "glass", "weight_g": weight}
        item = company.item({"sku_code": code, "name": name, "packaging_level": "transport", "components": [body]})
        periods = [("DE", 0), ("GB", 1)] if weight else [("DE", 0)]
        rows = [{"market": market, "year": 2025, "half": half, "units_placed": 1_000_000} for market, half in periods]
        company.put(f"/skus/{item}/volumes", rows)
    snapshots.publish(pool, UUID(company.id), data_dir, datetime.now(UTC), rulesets)
    weigh(pool, rulesets, data_dir, UUID(company.id))
    with browser.new_context() as context:
        sign_in(context.new_page(), company.service, person.email, person.password)
        return Desk(company, person.email, context.storage_state())


@pytest.fixture
def let_in(browser: Browser, service: Server) -> Iterator[LetIn]:
    """Opens a browser window of its own; at the test's end none may have met a fault."""
    visitors: list[Visitor] = []

    def open_window(**options: Any) -> Page:
        visitors.append(Visitor(browser.new_context(**options), str(service.client.base_url)))
        return visitors[-1].page

    yield open_window
    faults = [fault for visitor in visitors for fault in visitor.left()]
    assert faults == []


@pytest.fixture
def window(let_in: LetIn, desk: Desk, lang: str, width: int, *, script: bool) -> Opens:
    """Opens a window as the test's parameters say; a stranger's is signed in nowhere."""

    def opened(*, signed_in: bool = True) -> Hand:
        page = let_in(
            storage_state=desk.signed_in if signed_in else None,
            java_script_enabled=script,
            locale=LOCALES[lang],
            viewport={"width": width, "height": 900},
        )
        return Hand(page, desk.company.service, lang)

    return opened


@pytest.fixture
def hand(window: Opens) -> Hand:
    """The administrator's window."""
    return window()
