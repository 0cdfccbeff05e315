"""Staff at the door to Dagster: what is decided before Dagster hears of it. The real one is behind it in a journey."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from urllib.parse import quote
from uuid import UUID, uuid4

import httpx2
import psycopg
import pytest
from dagster_webserver.webserver import DagsterWebserver
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from api.app import create
from api.staff.access import CLOSED_ENDPOINTS, is_from_our_page, is_to_us, make_client
from tests.api.people import BASE, PASSWORD, Browser, hash_of_password, hidden
from warehouse.accounts import people
from warehouse.operate import staff
from warehouse.operate.database import Database
from warehouse.operate.settings import Settings
from warehouse.operate.staff import Role


@pytest.fixture
def member(database: Database) -> Callable[[Role], tuple[UUID, str]]:
    def add(role: Role) -> tuple[UUID, str]:
        staff_id, email = uuid4(), f"{uuid4()}-ö@operator.example"
        with psycopg.connect(database.owner_url) as owner:
            staff.add(owner, staff_id, email=email, role=role, password_hash=hash_of_password(), at=datetime.now(UTC))
        return staff_id, email

    return add


@pytest.fixture
def email(member) -> str:
    return member("analyst")[1]


@pytest.fixture
def browser(stopped) -> Browser:
    return Browser(stopped.http, stopped.address)


def sign_in(browser: Browser, email: str, password: str = PASSWORD, back: str = ""):
    form = hidden(browser.get("/staff/sign-in", params={"next": back}).text)
    return browser.post("/staff/sign-in", form | {"email": email, "password": password})


def landed(answer):
    return answer.status_code, answer.headers.get("location")


def test_staff_sign_in_are_known_and_sign_out(browser, email):
    assert landed(browser.get("/staff")) == (303, "/staff/sign-in?next=%2Fstaff")
    assert landed(sign_in(browser, email, back="/dagster/runs?a=b")) == (303, "/dagster/runs?a=b")
    page = browser.get("/staff")
    assert email in page.text
    assert browser.get("/portfolio").status_code == 303, "no company's pages"
    cookie = browser.http.cookies["pcds_staff"]
    assert browser.post("/staff/sign-out", {"csrf": "forged"}).status_code == 403
    assert landed(browser.post("/staff/sign-out", hidden(page.text))) == (303, "/staff/sign-in")
    browser.http.cookies.set("pcds_staff", cookie)
    assert browser.get("/staff").status_code == 303, "a cookie kept aside is worth nothing"


@pytest.mark.parametrize("back", ["//evil.example", "https://evil.example/dagster", "/portfolio", "/dagsterx", "\\x"])
def test_signing_in_leads_nowhere_but_to_the_door(browser, email, back):
    assert landed(sign_in(browser, email, back=back)) == (303, "/dagster")


def test_the_cookie_is_out_of_reach_of_scripts_and_of_other_sites(browser, email):
    [cookie] = [each for each in sign_in(browser, email).headers.get_list("set-cookie") if "pcds_staff" in each]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie


def test_a_session_ends_by_itself(browser, email, clock):
    sign_in(browser, email)
    clock.advance(people.IDLE - timedelta(seconds=1))
    assert browser.get("/staff").status_code == 200
    clock.advance(people.IDLE + timedelta(seconds=1))
    assert browser.get("/staff").status_code == 303


def test_sessions_that_have_ended_are_swept(browser, email, pool, clock):
    def swept(at) -> int:
        with pool.system() as connection:
            return int(connection.execute("SELECT pcds_sweep_staff_sessions(%s)", [at]).fetchone()[0])

    swept(clock.now())
    sign_in(browser, email)
    assert swept(clock.now()) == 0
    assert swept(clock.now() + people.LONGEST) >= 1
    assert browser.get("/staff").status_code == 303


def test_guessing_is_slowed_down_and_told_alike(browser, email):
    answers = [sign_in(browser, email, "wrong"), sign_in(browser, "nobody@operator.example", "wrong")]
    said = {answer.text.replace(email, "").replace("nobody@operator.example", "") for answer in answers}
    assert ({answer.status_code for answer in answers}, len(said)) == ({403}, 1)
    codes = [sign_in(browser, email, "wrong").status_code for _ in range(people.PER_ACCOUNT)]
    assert codes == [403] * (people.PER_ACCOUNT - 1) + [429]


def test_where_dagster_does_not_answer_it_is_said(browser, email):
    sign_in(browser, email)
    page = browser.get("/dagster/runs", headers={"Accept": "text/html"})
    assert page.status_code == 503
    assert page.headers["x-correlation-id"] in page.text
    assert "does not answer" in page.text
    asked = browser.http.post("/dagster/graphql", json={"query": "{ version }"})
    assert (asked.status_code, asked.json()["errors"][0]["extensions"]["code"]) == (503, "dagster.down")
    with (
        pytest.raises(WebSocketDisconnect),
        browser.http.websocket_connect("/dagster/graphql", subprotocols=["graphql-ws"]),
    ):
        pass


def test_the_door_may_be_closed(database, tmp_path):
    settings = Settings.load(data_dir=tmp_path, dagster_ui=False)
    with TestClient(create(settings, database), base_url=BASE) as http:
        assert http.get("/dagster").status_code == 404
        assert http.post("/dagster/graphql", json={"query": "{ version }"}).status_code == 404


class Asked:
    """A request as the checks see it."""

    def __init__(self, base: str, server: tuple[str, int] | None, **headers: str) -> None:
        service = type("S", (), {})()
        self.app = type("A", (), {"state": type("T", (), {"service": service})()})()
        self.scope, self.headers = {"server": server}, {name.replace("_", "-"): text for name, text in headers.items()}
        self.base = base


@pytest.mark.parametrize(
    ("base", "server", "host", "origin", "to_us", "by_us"),
    [
        ("http://127.0.0.1:8000", ("127.0.0.1", 8000), "127.0.0.1:8000", None, True, True),
        ("http://127.0.0.1:8000", ("127.0.0.1", 8000), "localhost:8000", "http://localhost:8000", True, True),
        ("http://127.0.0.1:8000", ("127.0.0.1", 8000), "evil.example:8000", None, False, True),
        ("http://127.0.0.1:8000", ("127.0.0.1", 8000), "localhost:8000", "http://127.0.0.1:8000", True, False),
        ("http://127.0.0.1:8000", ("127.0.0.1", 8000), "127.0.0.1:8000", "http://127.0.0.1:3000", True, False),
        ("http://0.0.0.0:8000", ("192.0.2.7", 8000), "192.0.2.7:8000", "http://192.0.2.7:8000", True, True),
        ("http://0.0.0.0:8000", ("192.0.2.7", 8000), "localhost:8000", None, False, True),
        ("http://[::]:8000", ("::ffff:127.0.0.1", 8000), "127.0.0.1:8000", None, True, True),
        ("http://[::1]:8000", ("::1", 8000), "[::1]:8000", "http://[::1]:8000", True, True),
        ("https://pcds.example", ("10.0.0.2", 8000), "pcds.example", "https://pcds.example", True, True),
        ("https://pcds.example:443", ("10.0.0.2", 8000), "PCDS.example", "https://pcds.example", True, True),
        ("https://pcds.example", ("10.0.0.2", 8000), "pcds.example", "http://pcds.example", True, False),
        ("https://pcds.example", ("10.0.0.2", 8000), "pcds.example.evil.example", None, False, True),
        ("https://pcds.example", None, "", "null", False, False),
    ],
)
def test_host_and_origin(monkeypatch, base, server, host, origin, to_us, by_us):  # noqa: PLR0917  (a table's columns)
    asked = Asked(base, server, host=host, **({} if origin is None else {"origin": origin}))
    settings = Settings.load(public_url=base)
    monkeypatch.setattr("api.staff.access.service_of", lambda _: type("S", (), {"settings": settings})())
    assert (is_to_us(asked), is_from_our_page(asked)) == (to_us, by_us)  # type: ignore[arg-type]
    for site, ours in (("cross-site", False), ("same-site", False), ("same-origin", by_us), ("none", by_us)):
        asked.headers["sec-fetch-site"] = site
        assert is_from_our_page(asked) is ours  # type: ignore[arg-type]


@pytest.fixture
def dagster(browser) -> Iterator[list[httpx2.Request]]:
    """What Dagster's web server is asked; it answers everything with nothing."""
    asked = list[httpx2.Request]()
    there = browser.http.app.state.dagster

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        return httpx2.Response(200, stream=httpx2.ByteStream(b"{}"), headers={"Set-Cookie": "a=b", "Server": "dagster"})

    client, there.client = there.client, make_client(httpx2.MockTransport(answer))
    yield asked
    there.client = client


FORGED = {"x-pcds-actor": "boss@operator.example", "X-Pcds-Staff": "1", "x-pcds-door": "1", "X-PCDS-Actor": "pcds"}


@pytest.mark.parametrize("role", ["analyst", "operator"])
def test_dagster_is_told_by_us_alone_who_acts(browser, member, dagster, role):
    staff_id, email = member(role)
    sign_in(browser, email)
    body = b'{"query": "mutation { setNuxSeen }"}'
    sent = browser.http.post("/dagster/graphql", content=body, headers=FORGED | {"Content-Type": "application/json"})
    read = browser.http.get("/dagster/runs", headers=FORGED)
    assert [answer.status_code for answer in (sent, read)] == [200, 200]
    assert not {"set-cookie", "server"} & set(sent.headers)
    for asked, answer in zip(dagster, (sent, read), strict=True):
        ours = {name: asked.headers.get_list(name) for name in asked.headers if name.startswith("x-")}
        assert ours.pop("x-pcds-door")[0] != "1"
        expected = {"x-pcds-staff": [str(staff_id)], "x-correlation-id": [answer.headers["x-correlation-id"]]}
        assert ours == expected | ({"x-pcds-actor": [quote(email)]} if role == "operator" else {})
        assert "cookie" not in asked.headers
    assert dagster[0].content == body


def test_every_endpoint_of_dagster_is_known_to_the_door():
    """A release of Dagster that brings an endpoint more fails here until somebody has judged it."""
    server = DagsterWebserver.__new__(DagsterWebserver)
    server._app_path_prefix = ""
    known, static = set(), {route.path for route in server.build_static_routes()}
    for route in server.build_routes():
        assert isinstance(route, Mount | Route | WebSocketRoute)
        if route.path not in static:
            known.add(route.path)
    closed = {path for path in known if path.split("/")[1] in CLOSED_ENDPOINTS}
    assert known - closed == {
        "/server_info",
        "/dagit_info",
        "/logs/{path:path}",
        "/download_debug/{run_id:str}",
        "/{path:path}",
        "/",
    }
