"""Staff at the door to Dagster: what is decided before Dagster hears of it. The real one is behind it in a journey."""

import json
import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import dagster_webserver
import psycopg
import pytest
from dagster_graphql.schema import create_schema
from dagster_webserver.webserver import DagsterWebserver
from graphql import GraphQLSyntaxError, get_introspection_query, get_named_type, parse
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from api.app import create
from api.pages.texts import text
from api.staff import graphql_cost, graphql_requests, live
from api.staff.access import CLOSED_ENDPOINTS
from api.staff.addressed import is_from_our_page, is_to_us
from api.staff.graphql_requests import Unreadable, Untaggable
from tests.api.people import BASE, PASSWORD, Browser, hash_of_password, hidden
from warehouse.accounts import users
from warehouse.database import Database
from warehouse.settings import Settings
from warehouse.staff import queries as staff

TAGS = [{"key": "user", "value": "forged"}, {"key": "why", "value": "a try"}]


@pytest.fixture
def email(database: Database) -> str:
    email = f"{uuid4()}@operator.example"
    with psycopg.connect(database.owner_url) as owner:
        staff.add(
            owner,
            uuid4(),
            email=email,
            role="analyst",
            password_hash=hash_of_password(),
            at=datetime.now(UTC),
        )
    return email


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
    clock.advance(users.IDLE - timedelta(seconds=1))
    assert browser.get("/staff").status_code == 200
    clock.advance(users.IDLE + timedelta(seconds=1))
    assert browser.get("/staff").status_code == 303


def test_sessions_that_have_ended_are_swept(browser, email, pool, clock):
    def swept(at) -> int:
        with pool.system() as connection:
            return int(connection.execute("SELECT pcds_sweep_staff_sessions(%s)", [at]).fetchone()[0])

    swept(clock.now())
    sign_in(browser, email)
    assert swept(clock.now()) == 0
    assert swept(clock.now() + users.LONGEST) >= 1
    assert browser.get("/staff").status_code == 303


def test_guessing_is_slowed_down_and_told_alike(browser, email):
    answers = [sign_in(browser, email, "wrong"), sign_in(browser, "nobody@operator.example", "wrong")]
    said = {answer.text.replace(email, "").replace("nobody@operator.example", "") for answer in answers}
    assert ({answer.status_code for answer in answers}, len(said)) == ({403}, 1)
    codes = [sign_in(browser, email, "wrong").status_code for _ in range(users.PER_ACCOUNT)]
    assert codes == [403] * (users.PER_ACCOUNT - 1) + [429]


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
    monkeypatch.setattr("api.staff.addressed.service_of", lambda _: type("S", (), {"settings": settings})())
    assert (is_to_us(asked), is_from_our_page(asked)) == (to_us, by_us)  # type: ignore[arg-type]
    for site, ours in (("cross-site", False), ("same-site", False), ("same-origin", by_us), ("none", by_us)):
        asked.headers["sec-fetch-site"] = site
        assert is_from_our_page(asked) is ours  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("query", "kinds", "acts"),
    [
        ("{ version }", {"query"}, ()),
        ("mutation { setNuxSeen }", {"mutation"}, ("setNuxSeen",)),
        (
            "query A { version } mutation B { b: wipeAssets c: deleteRun }",
            {"query", "mutation"},
            ("wipeAssets", "deleteRun"),
        ),
        ("fragment mutation on Query { version } { ...mutation }", {"query"}, ()),
        ("subscription { mutation }", {"subscription"}, ()),
        ("\ufeff,,# query\n mutation{a}", {"mutation"}, ("a",)),
    ],
)
def test_what_is_asked_is_read_as_dagster_reads_it(query, kinds, acts):
    question = graphql_requests.parse_request({"query": query, "operationName": None, "more": 1})
    assert (question.kinds, question.mutations) == (kinds, acts)
    assert question.body() == {"query": query, "variables": None, "operationName": None}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{}",
        b'{"query": 1}',
        b'{"query": "{"}',
        b'{"query": "{a}", "variables": "{}"}',
        b"\xff",
        b'{"query": "{a}", "operationName": 1}',
        json.dumps({"query": "{" * 3_000 + "}" * 3_000}).encode(),
        json.dumps({"query": "{" + "a " * 30_000 + "}"}).encode(),
        b"[" * 100_000,
    ],
)
def test_what_is_no_question_is_refused(data):
    with pytest.raises(Unreadable):
        graphql_requests.parse_bytes(data)


LIST = "runsOrError(limit: %d) { ... on Runs { results { id } } }"
DEEP = "{ a " * (graphql_cost.MAX_DEPTH + 1) + "}" * (graphql_cost.MAX_DEPTH + 1)
DOUBLING = "{ ...F0 }" + "".join(
    f" fragment F{n} on Query {{ a {{ ...F{n + 1} }} b {{ ...F{n + 1} }} }}" for n in range(12)
)


@pytest.mark.parametrize(
    ("query", "variables"),
    [
        ("{" + " ".join(f"a{n}: {LIST % 1}" for n in range(21)) + "}", None),
        ("{" + "version " * 22 + "}", None),
        ("{" + "... on Query { version } " * 22 + "}", None),
        ("{" + "...F " * 22 + "} fragment F on Query { version }", None),
        ("".join(f"query Q{n} {{ a: version }} " for n in range(21)), None),
        (DEEP, None),
        (f"{DOUBLING} fragment F12 on Query {{ version }}", None),
        ("{ ...F } fragment F on Query { a { ...F } }", None),
        ("{" + " ".join(f"f{n}" for n in range(1_001)) + "}", None),
        ("{" + LIST % 10**9 + "}", None),
        ("query($n: Int) {" + (LIST % 1).replace("1", "$n") + "}", {"n": 10**9}),
        ("query($n: Int = 1000000000) {" + (LIST % 1).replace("1", "$n") + "}", {}),
        ("{ a(limit: 2000) { b(limit: 2000) { c } } }", None),
    ],
)
def test_a_query_that_would_keep_dagster_busy_is_refused_before_it_gets_there(query, variables):
    with pytest.raises(Unreadable) as refused:
        graphql_requests.parse_request({"query": query, "variables": variables})
    assert refused.value.key == "dagster.too_much"


def queries_of_dagsters_pages():
    """Every query of the installed release's pages, with the fragments that it uses."""
    built = Path(dagster_webserver.__file__).parent / "webapp" / "build"
    texts: dict[str, dict[str, str]] = {"fragment": {}, "query": {}, "mutation": {}, "subscription": {}}
    for file in built.rglob("*.js"):
        source = file.read_text(errors="replace")
        for found in re.finditer(r'"\\n\s*(query|mutation|subscription|fragment) (\w+)((?:[^"\\]|\\.)*)"', source):
            text = f"{found[1]} {found[2]}{found[3]}".replace("\\n", " ").replace('\\"', '"')
            with suppress(GraphQLSyntaxError):
                parse(text)
                texts[found[1]][found[2]] = text
    for kind in ("query", "mutation", "subscription"):
        for text in texts[kind].values():
            used: dict[str, str] = {}
            waiting = [text]
            while waiting:
                for name in re.findall(r"\.\.\.(\w+)", waiting.pop()):
                    if name in texts["fragment"] and name not in used:
                        used[name] = texts["fragment"][name]
                        waiting.append(used[name])
            yield text + " ".join(used.values())


def test_every_query_of_dagsters_own_pages_is_far_within_the_bounds():
    asked = [graphql_cost.cost_of(parse(query), {}) for query in queries_of_dagsters_pages()]
    assert len(asked) > 150
    assert max(each.depth for each in asked) <= graphql_cost.MAX_DEPTH * 0.6
    assert max(each.fields for each in asked) <= graphql_cost.MAX_FIELDS * 0.7
    assert max(each.aliases for each in asked) <= graphql_cost.MAX_ALIASES * 0.6
    assert max(each.cost for each in asked) <= graphql_cost.MAX_COST / 4
    assert graphql_cost.is_bounded(parse(get_introspection_query()), {}), "its playground asks for the schema"


@pytest.mark.parametrize("lang", ["en", "fr", "de"])
def test_the_refusal_says_the_bounds(lang):
    said = text("dagster.too_much", lang)
    numbers = ["MAX_ALIASES", "MAX_DEPTH", "MAX_FIELDS", "MAX_COST"]
    assert re.findall(r"\d+", said) == [str(getattr(graphql_cost, name)) for name in numbers]


def test_a_query_of_aliases_is_refused_with_the_sentence(browser, email):
    sign_in(browser, email)
    query = "{" + " ".join(f"a{n}: version" for n in range(4_000)) + "}"
    refused = browser.http.post("/dagster/graphql", json={"query": query}, headers={"Origin": BASE})
    assert refused.status_code == 400
    assert "at most 20 aliases" in refused.json()["errors"][0]["message"]


OF_A_RUN = ("executionMetadata", "tags")
LAUNCHED = [
    (
        "launchRun(executionParams: $v)",
        {"selector": {}, "executionMetadata": {"tags": TAGS}},
        ("executionMetadata", "tags"),
    ),
    ("x: launchPipelineExecution(executionParams: $v)", {"executionMetadata": None}, OF_A_RUN),
    ("launchRunReexecution(reexecutionParams: $v)", {"parentRunId": "1", "extraTags": TAGS}, ("extraTags",)),
    ("launchPipelineReexecution(executionParams: $v)", {}, OF_A_RUN),
    ("launchPartitionBackfill(backfillParams: $v)", {"allPartitions": True, "selector": {}}, ("tags",)),
    ("launchPartitionBackfill(backfillParams: $v)", {"tags": TAGS[0]}, ("tags",)),
    ("...F } fragment F on Mutation { launchPartitionBackfill(backfillParams: $v)", {"tags": TAGS}, ("tags",)),
]


@pytest.mark.parametrize(("mutation", "variable", "where"), LAUNCHED)
def test_a_launch_names_who_launched_it(mutation, variable, where):
    query = f"mutation($v: Any, $w: Any) {{ {mutation} {{ id }} }}"
    given = {"query": query, "variables": {"v": variable, "w": variable}}
    named = graphql_requests.parse_request(given).tagged_with("me").variables
    assert named is not None
    assert named["w"] == variable, "what launches nothing is left as it was"
    told = named["v"]
    for name in where:
        told = told[name]
    assert told[-1] == {"key": "user", "value": "me"}
    assert [tag for tag in told if tag["key"] == "user"] == told[-1:]
    assert (TAGS[1] in told) == ("a try" in str(variable))


def test_several_launches_are_named_each():
    given = {
        "query": "mutation($v: Any) { launchMultipleRuns(executionParamsList: $v) { id } }",
        "variables": {"v": [{}, {"executionMetadata": {"tags": TAGS}}]},
    }
    named = graphql_requests.parse_request(given).tagged_with("me").variables
    assert named is not None
    assert [each["executionMetadata"]["tags"][-1]["value"] for each in named["v"]] == ["me", "me"]


@pytest.mark.parametrize(
    "query",
    [
        'mutation { launchRun(executionParams: {executionMetadata: {tags: [{key: "user", value: "x"}]}}) { id } }',
        "mutation($t: Any) { launchPartitionBackfill(backfillParams: {tags: $t}) { id } }",
        "mutation { ...F } fragment F on Mutation { launchRun(executionParams: {}) { id } }",
        "mutation($v: Any = {a: 1}) { launchRun(executionParams: $v) { id } }",
        "mutation($v: Any!) { launchMultipleRuns(executionParamsList: [$v]) { id } }",
    ],
)
def test_a_launch_that_cannot_be_named_is_refused(query):
    with pytest.raises(Untaggable):
        graphql_requests.parse_request({"query": query, "variables": {"t": [], "v": {}}}).tagged_with("me")


def test_every_mutation_of_dagster_that_launches_is_known_to_the_door():
    """A release of Dagster that brings another one fails here until somebody has judged it."""
    mutation = create_schema().graphql_schema.mutation_type
    assert mutation is not None
    says_what = {"ExecutionParams", "ReexecutionParams", "LaunchBackfillParams"}
    found = {
        (name, argument)
        for name, field in mutation.fields.items()
        for argument, given in field.args.items()
        if get_named_type(given.type).name in says_what
    }
    assert {name for name, _ in found} == graphql_requests.LAUNCHES
    assert {argument for _, argument in found} == graphql_requests.TAGS.keys()


@pytest.mark.parametrize("frame", ["", "[]", "\x00", '{"type": "start"', "1"])
def test_a_frame_that_is_no_message_goes_nowhere(frame):
    assert live.filter_frame(frame) == (None, None)


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
