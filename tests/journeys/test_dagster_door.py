"""Dagster behind the service's door: a real web server, and everybody who tries to come at it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
import psutil
import pytest
import websockets
from websockets.sync.client import ClientConnection, connect

from tests.api.people import PASSWORD, hidden
from tests.waiting import PATIENCE_SECONDS, wait_until
from tools.browser.company import Company
from tools.ports import free_port
from tools.service import Service, running
from warehouse.operate import dagster_home

MUTATION = "mutation { setNuxSeen }"
"""It changes a note of Dagster's own and nothing else."""
QUERY = "query { version }"
WHERE = {"repositoryName": "__repository__", "repositoryLocationName": dagster_home.LOCATION}
ADD = (
    'mutation($key: String!, $where: RepositorySelector!) { addDynamicPartition(partitionsDefName: "companies", '
    "partitionKey: $key, repositorySelector: $where) { __typename } }"
)
LAUNCH = (
    "mutation($executionParams: ExecutionParams!) { launchRun(executionParams: $executionParams) "
    "{ __typename ... on LaunchRunSuccess { run { runId tags { key value } } } } }"
)
BACKFILL = (
    "mutation($backfillParams: LaunchBackfillParams!) { launchPartitionBackfill(backfillParams: $backfillParams) "
    "{ __typename ... on LaunchBackfillSuccess { backfillId } ... on PythonError { message } } }"
)
HELD = (
    "query($id: String!) { partitionBackfillOrError(backfillId: $id) "
    "{ ... on PartitionBackfill { tags { key value } } } }"
)
RUNS = "query($f: RunsFilter!) { runsOrError(filter: $f) { ... on Runs { results { tags { key value } } } } }"
NO_SUBSCRIPTIONS = (MUTATION, QUERY, f"subscription {{ locationStateChangeEvents {{ __typename }} }} {MUTATION}", "{")
FRAMING = ("x-frame-options", "content-security-policy")
EMAILS = {"analyst": "ana@operator.example", "operator": "olga@operator.example"}


@pytest.fixture(scope="module")
def dagster_port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def service(dagster_port: int) -> Iterator[Service]:
    """Bound to every address of the machine, which Dagster's own web server must not be."""
    with running("--dagster-ui", "--dagster-port", str(dagster_port), "--host", "0.0.0.0") as service:
        for role, email in EMAILS.items():
            service.made("staff", "add", "--email", email, "--role", role, "--password-stdin", said=PASSWORD)
        service.made(
            "user",
            "add",
            "--company",
            service.company_id,
            "--email",
            "p@brand.example",
            "--password-stdin",
            said=PASSWORD,
        )
        yield service


@contextmanager
def browser(service: Service, email: str | None = None, at: str = "/staff/sign-in") -> Iterator[httpx2.Client]:
    """Somebody at the service's address, signed in where there is an email."""
    with httpx2.Client(base_url=service.address, timeout=PATIENCE_SECONDS) as http:
        if email is not None:
            form = hidden(http.get(at).text)
            answer = http.post(at, data=form | {"email": email, "password": PASSWORD})
            assert answer.status_code == 303, answer.text
        yield http


@pytest.fixture(scope="module")
def operator(service: Service) -> Iterator[httpx2.Client]:
    with browser(service, EMAILS["operator"]) as http:
        wait_until(lambda: http.get("/dagster/server_info").status_code == 200)  # its code server takes a while
        yield http


@pytest.fixture(scope="module")
def analyst(service: Service, operator: httpx2.Client) -> Iterator[httpx2.Client]:
    with browser(service, EMAILS["analyst"]) as http:
        yield http


def ask(http: httpx2.Client, query: str, variables: Any = None, **headers: str) -> httpx2.Response:
    body = {"query": query, "variables": variables or {}, "operationName": None}
    return http.post("/dagster/graphql", json=body, headers=headers)


def added_partition(http: httpx2.Client, key: str) -> str:
    """Adds a partition as an operator does by hand; what Dagster's answer says."""
    return str(ask(http, ADD, {"key": key, "where": WHERE}).json()["data"]["addDynamicPartition"]["__typename"])


def test_an_operator_reads_asks_and_acts_and_is_named(operator: httpx2.Client):
    page = operator.get("/dagster/", headers={"Accept": "text/html"})
    assert page.status_code == 200
    assert '"pathPrefix": "/dagster"' in page.text
    script = page.text.partition('src="/dagster/_next/')[2].partition('"')[0]
    assert operator.get(f"/dagster/_next/{script}").status_code == 200
    ours = str(operator.base_url).rstrip("/")
    told = ask(operator, QUERY, Origin=ours, **{"Sec-Fetch-Site": "same-origin"})
    assert "version" in told.json()["data"]
    assert ask(operator, MUTATION, Origin=ours).json()["data"]
    assert added_partition(operator, "somebody") == "AddDynamicPartitionSuccess"
    selector = WHERE | {"jobName": "keep_house"}
    tags = [{"key": "user", "value": "somebody else"}, {"key": "why", "value": "a try"}]
    params = {"selector": selector, "runConfigData": {}, "mode": "default", "executionMetadata": {"tags": tags}}
    launched = ask(operator, LAUNCH, {"executionParams": params}).json()["data"]["launchRun"]
    assert launched["__typename"] == "LaunchRunSuccess", launched
    held = {tag["key"]: tag["value"] for tag in launched["run"]["tags"]}
    assert (held["user"], held["why"]) == (EMAILS["operator"], "a try")
    status = "query($id: ID!) { runOrError(runId: $id) { ... on Run { status } } }"
    ended = {"SUCCESS", "FAILURE", "CANCELED"}

    def now() -> str:
        return str(ask(operator, status, {"id": launched["run"]["runId"]}).json()["data"]["runOrError"]["status"])

    wait_until(lambda: now() in ended)
    assert now() == "SUCCESS"


def test_an_analyst_looks_and_changes_nothing(analyst: httpx2.Client):
    assert ask(analyst, QUERY).status_code == 200
    permissions = ask(analyst, "{ permissions { value disabledReason } }").json()["data"]["permissions"]
    assert {each["value"] for each in permissions} == {False}
    backfill = {"backfillParams": {"assetSelection": [{"path": ["figures"]}], "partitionNames": ["somebody"]}}
    params = {"selector": WHERE | {"jobName": "keep_house"}, "runConfigData": {}, "mode": "default"}
    for query, variables in (
        (ADD, {"key": "nobody", "where": WHERE}),
        (LAUNCH, {"executionParams": params}),
        (BACKFILL, backfill),
    ):
        for more in ({}, {dagster_home.ACTOR_HEADER: EMAILS["operator"]}):
            [answer] = ask(analyst, query, variables, **more).json()["data"].values()
            assert answer == {"__typename": "UnauthorizedError"}


def test_a_backfill_is_named(operator: httpx2.Client):
    assert added_partition(operator, "somebody-else") == "AddDynamicPartitionSuccess"
    tags = [{"key": "user", "value": "somebody else"}]
    wanted = {"assetSelection": [{"path": ["figures"]}], "partitionNames": ["somebody-else"], "tags": tags}
    asked = ask(operator, BACKFILL, {"backfillParams": wanted}).json()["data"]["launchPartitionBackfill"]
    assert asked["__typename"] == "LaunchBackfillSuccess", asked
    found = ask(operator, HELD, {"id": asked["backfillId"]}).json()["data"]["partitionBackfillOrError"]["tags"]
    assert {tag["value"] for tag in found if tag["key"] == "user"} == {EMAILS["operator"]}


def listening(port: int) -> set[str]:
    """The addresses of this machine that somebody accepts connections at on a port."""
    return {
        found.laddr.ip
        for found in psutil.net_connections("tcp")
        if found.status == psutil.CONN_LISTEN and found.laddr.port == port
    }


def test_without_its_pages_dagster_still_launches():
    port = free_port()
    direct = f"http://127.0.0.1:{port}/dagster"
    with running("--dagster-port", str(port)) as closed:
        assert httpx2.get(f"{closed.address}/dagster/", timeout=PATIENCE_SECONDS).status_code == 404
        wait_until(lambda: listening(port))
        assert httpx2.get(f"{direct}/", timeout=PATIENCE_SECONDS).status_code == 403
        company = Company(closed.address, closed.company_id, closed.key, closed.made)
        import_id = company.imported()
        key = (closed.data_dir / "dagster" / "door.key").read_text(encoding="ascii")
        answer = httpx2.post(
            f"{direct}/graphql",
            headers={dagster_home.DOOR_HEADER: key},
            timeout=PATIENCE_SECONDS,
            json={"query": RUNS, "variables": {"f": {"tags": [{"key": "pcds/import_id", "value": import_id}]}}},
        )
        [run] = answer.json()["data"]["runsOrError"]["results"]
        assert {"key": "user", "value": "pcds"} in run["tags"]


@pytest.mark.parametrize(
    ("method", "path", "headers", "body", "status"),
    [
        ("GET", f"/dagster/graphql?query={MUTATION}", {}, b"", 405),
        ("GET", f"/dagster/graphql?query={MUTATION}", {"Accept": "text/html"}, b"", 405),
        ("HEAD", f"/dagster/graphql?query={MUTATION}", {}, b"", 405),
        ("GET", f"/dagster/%67raphql?query={MUTATION}", {}, b"", 405),
        ("POST", f"/dagster/graphql?query={MUTATION}", {}, b"", 415),
        ("POST", "/dagster/graphql", {"Content-Type": "text/plain"}, b'{"query": "{ version }"}', 415),
        ("POST", "/dagster/graphql", {"Content-Type": "application/graphql"}, MUTATION.encode(), 415),
        ("POST", "/dagster/graphql", {"Content-Type": "text/plain; application/json"}, b"{}", 415),
        ("POST", "/dagster/graphql", {"Origin": "https://evil.example"}, b"", 403),
        ("POST", "/dagster/graphql", {"Origin": "null"}, b"", 403),
        ("POST", "/dagster/graphql", {"Sec-Fetch-Site": "cross-site"}, b"", 403),
        ("POST", "/dagster/graphql", {"Sec-Fetch-Site": "same-site"}, b"", 403),
        ("POST", "/dagster/graphql", {"Content-Type": "application/json"}, b"{" * 2**20 + b"{", 413),
        ("POST", "/dagster/report_asset_materialization/figures", {"Content-Type": "application/json"}, b"{}", 405),
        ("GET", "/dagster/report_asset_check/figures", {}, b"", 404),
        ("GET", "/dagster/notebook?path=/etc/x.ipynb&repoLocName=pcds", {}, b"", 404),
        ("GET", "/dagster/logs/%2e%2e/%2e%2e/x.out", {}, b"", 404),
        ("GET", "/dagster/", {"Host": "evil.example"}, b"", 421),
        ("POST", "/dagster/graphql", {"Host": "evil.example", "Origin": "http://evil.example"}, b"", 421),
        ("DELETE", "/dagster/graphql", {}, b"", 405),
        ("PUT", "/dagster/runs", {}, b"", 405),
    ],
)
def test_what_no_page_of_ours_asks_is_refused_to_an_operator_too(  # noqa: PLR0917  (a table's columns)
    operator: httpx2.Client, method: str, path: str, headers: dict[str, str], body: bytes, status: int
):
    answer = operator.request(method, path, headers=headers, content=body)
    assert answer.status_code == status, answer.text
    assert all(name in answer.headers for name in FRAMING)
    if method != "HEAD" and "html" not in headers.get("Accept", ""):
        assert answer.json()["errors"][0]["extensions"]["correlationId"] == answer.headers["x-correlation-id"]


def test_nothing_can_be_framed_or_fetch_a_picture_from_elsewhere(operator: httpx2.Client):
    for path in (
        "/dagster",
        "/dagster/",
        "/dagster/runs",
        "/dagster/favicon.png",
        "/dagster/server_info",
        "/dagster/assets/figures",
        "/dagster/none.js",
        "/staff",
    ):
        answer = operator.get(path)
        policy = answer.headers["content-security-policy"]
        assert answer.headers["x-frame-options"] == "DENY", path
        assert "frame-ancestors 'none'" in policy, path
        assert "img-src 'self'" in policy, path
        assert not {"server", "set-cookie"} & set(answer.headers), path


def test_who_is_no_staff_comes_to_the_sign_in_page_and_no_further(service: Service, operator: httpx2.Client):
    with browser(service) as nobody, browser(service, "p@brand.example", "/sign-in") as person:
        assert person.get("/portfolio").status_code == 200
        for http in (nobody, person):
            asked = http.get("/dagster/runs?q=a")
            assert asked.status_code == 303
            assert asked.headers["location"] == "/staff/sign-in?next=%2Fdagster%2Fruns%3Fq%3Da"
            assert all(name in asked.headers for name in FRAMING)
            assert ask(http, QUERY).status_code == 401
            assert http.get(f"/dagster/graphql?query={QUERY}").status_code == 401
        form = hidden(nobody.get("/staff/sign-in").text)
        assert (
            nobody.post("/staff/sign-in", data=form | {"email": "p@brand.example", "password": PASSWORD}).status_code
            == 403
        ), "a company's person is none of staff"
    assert operator.get("/portfolio").status_code == 303, "and staff read no company's pages"


def test_the_web_servers_own_port_is_on_loopback_and_answers_the_door_alone(dagster_port: int, operator: httpx2.Client):
    assert listening(dagster_port) == {"127.0.0.1"}
    direct = f"http://127.0.0.1:{dagster_port}/dagster"
    for headers in ({}, {"Host": "evil.example"}, {"X-Pcds-Door": "guessed"}, {"X-Pcds-Door": ""}):
        for asked in (
            httpx2.get(f"{direct}/graphql?query={MUTATION}", headers=headers, timeout=PATIENCE_SECONDS),
            httpx2.post(f"{direct}/graphql", json={"query": QUERY}, headers=headers, timeout=PATIENCE_SECONDS),
            httpx2.get(f"{direct}/", headers=headers, timeout=PATIENCE_SECONDS),
        ):
            assert asked.status_code == 403
            assert "/dagster for signed-in staff" in asked.text
            assert asked.headers["x-frame-options"] == "DENY"
    with pytest.raises(websockets.InvalidStatus), connect(f"{direct.replace('http', 'ws')}/graphql"):
        pass
    assert operator.get("/dagster/server_info").status_code == 200


@contextmanager
def followed(http: httpx2.Client, **more: Any) -> Iterator[ClientConnection]:
    cookies = "; ".join(f"{name}={value}" for name, value in http.cookies.items())
    address = str(http.base_url).rstrip("/").replace("http", "ws")
    given = {"origin": str(http.base_url).rstrip("/"), "subprotocols": ["graphql-ws"]} | more
    with connect(f"{address}/dagster/graphql", additional_headers={"Cookie": cookies}, proxy=None, **given) as socket:
        yield socket


def heard(socket: ClientConnection, wanted: str) -> dict[str, Any]:
    while True:
        message = json.loads(socket.recv(PATIENCE_SECONDS))
        if message["type"] == wanted:
            return dict(message)


def test_runs_are_followed_over_the_socket_which_acts_for_nobody(analyst: httpx2.Client, operator: httpx2.Client):
    for http in (analyst, operator):
        with followed(http) as socket:
            assert socket.subprotocol == "graphql-ws"
            socket.send(json.dumps({"type": "connection_init", "payload": {}}))
            heard(socket, "connection_ack")
            for number, query in enumerate(NO_SUBSCRIPTIONS):
                socket.send(json.dumps({"type": "start", "id": str(number), "payload": {"query": query}}))
                assert heard(socket, "error")["id"] == str(number)
            logs = "subscription($runId: ID!) { pipelineRunLogs(runId: $runId, cursor: null) { __typename } }"
            payload = {"query": logs, "variables": {"runId": "00000000-0000-0000-0000-000000000000"}}
            socket.send(json.dumps({"type": "start", "id": "run", "payload": payload}))
            told = heard(socket, "data")
            assert told["payload"]["data"]["pipelineRunLogs"]["__typename"] == "PipelineRunLogsSubscriptionFailure"
    with followed(operator) as socket:
        socket.send(b"no text")
        with pytest.raises(websockets.ConnectionClosed):
            socket.recv(PATIENCE_SECONDS)


def test_a_socket_of_another_page_or_of_nobody_is_refused(service: Service, operator: httpx2.Client):
    with browser(service) as nobody, browser(service, "p@brand.example", "/sign-in") as person:
        for http, more in (
            (nobody, {}),
            (person, {}),
            (operator, {"origin": "https://evil.example"}),
            (operator, {"origin": "null"}),
            (operator, {"subprotocols": None}),
        ):
            with pytest.raises(websockets.InvalidStatus, match="403"), followed(http, **more):
                pass


def test_whose_account_ends_is_out_at_the_next_request(service: Service, operator: httpx2.Client):
    service.made(
        "staff", "add", "--email", "gone@operator.example", "--role", "operator", "--password-stdin", said=PASSWORD
    )
    with browser(service, "gone@operator.example") as http:
        assert ask(http, QUERY).status_code == 200
        service.made("staff", "password", "gone@operator.example", "--password-stdin", said=f"{PASSWORD} again")
        assert ask(http, QUERY).status_code == 401
        form = hidden(http.get("/staff/sign-in").text)
        fields = {"email": "gone@operator.example", "password": f"{PASSWORD} again"}
        assert http.post("/staff/sign-in", data=form | fields).headers["location"] == "/dagster"
        assert ask(http, QUERY).status_code == 200
        service.made("staff", "disable", "gone@operator.example")
        assert ask(http, QUERY).status_code == 401
