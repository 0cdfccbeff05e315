"""Dagster's web application as `api.staff` asks it: who may act, whose name runs have, and what is not answered."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import dagster as dg
import pytest
import structlog
from dagster._core.execution.backfill import BulkActionStatus
from dagster._core.remote_origin import InProcessCodeLocationOrigin
from dagster._core.types.loadable_target_origin import LoadableTargetOrigin
from dagster._core.workspace.load_target import InProcessWorkspaceLoadTarget
from dagster._core.workspace.permissions import Permissions
from dagster_graphql.schema import create_schema
from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLUnionType,
    get_named_type,
)
from starlette.testclient import TestClient

from pipelines.engine.tags import USER
from pipelines.engine.ui import StaffWebserver, StaffWorkspace, require_key
from warehouse.operate import dagster_home

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Dagster's own calls of its own names

WHERE = {"repositoryLocationName": dagster_home.LOCATION, "repositoryName": "__repository__"}
OPERATOR = "ölga@operator.example"
HARMLESS = {"setNuxSeen", "logTelemetry"}
"""Mutations that Dagster asks nobody's permission for: they change nothing but a note of its own pages."""
NO_SUBSCRIPTIONS = (
    "mutation { setNuxSeen }",
    "{ version }",
    "subscription { locationStateChangeEvents { __typename } } mutation { setNuxSeen }",
    "mutation { locationStateChangeEvents { __typename } setNuxSeen }",
    "{",
    "subscription {" + " ".join(f"a{n}: locationStateChangeEvents {{ __typename }}" for n in range(21)) + "}",
)
schema = create_schema().graphql_schema

companies = dg.DynamicPartitionsDefinition(name="companies")


@dg.asset(partitions_def=companies)
def figures() -> None:
    """Of a company."""


@dg.job
def keep_house() -> None:
    """Nothing."""


@dg.schedule(job=keep_house, cron_schedule="0 0 * * *")
def daily() -> None:
    """Never asked."""


@dg.sensor(job=keep_house)
def looks() -> None:
    """Never asked."""


defs = dg.Definitions(assets=[figures], jobs=[keep_house], schedules=[daily], sensors=[looks])


@pytest.fixture(scope="module")
def instance() -> Iterator[dg.DagsterInstance]:
    """Where every run stays in the queue."""
    coordinator = {"module": "pipelines.engine.coordinator", "class": "EagerRunCoordinator"}
    queue = {"runs": {"max_concurrent_runs": 0}}
    with dg.instance_for_test(overrides={"run_coordinator": coordinator, "concurrency": queue}) as instance:
        instance.add_dynamic_partitions("companies", ["acme"])
        yield instance


@pytest.fixture(scope="module")
def http(instance: dg.DagsterInstance) -> Iterator[TestClient]:
    where = LoadableTargetOrigin(python_file=__file__, attribute="defs")
    target = InProcessWorkspaceLoadTarget(InProcessCodeLocationOrigin(where, location_name=dagster_home.LOCATION))
    with StaffWorkspace(instance, target) as workspace:
        app = StaffWebserver(workspace, dagster_home.PREFIX).create_asgi_app()
        with TestClient(require_key(app, "the key", "here"), headers={dagster_home.DOOR_HEADER: "the key"}) as http:
            yield http


def ask(http: TestClient, query: str, variables: Any = None, actor: str = "", **more: Any) -> Any:
    headers = {dagster_home.STAFF_HEADER: "1"} | ({dagster_home.ACTOR_HEADER: quote(actor)} if actor else {})
    body = {"query": query, "variables": variables, "operationName": None}
    return http.post("/dagster/graphql", headers=headers, **({"json": body} | more))


RUN = "... on LaunchRunSuccess { run { runId tags { key value } } }"
BACKFILL = {"assetSelection": [{"path": ["figures"]}], "partitionNames": ["acme"]}
FORGED = {"key": "user", "value": "somebody else"}
LAUNCH = f"mutation($p: ExecutionParams!) {{ launchRun(executionParams: $p) {{ __typename {RUN} }} }}"
LAUNCH_BACKFILL = (
    "mutation($p: LaunchBackfillParams!) { launchPartitionBackfill(backfillParams: $p) "
    "{ __typename ... on LaunchBackfillSuccess { backfillId } } }"
)
ASK_FOR_IDS = """query($w: RepositorySelector!) {
  sensorsOrError(repositorySelector: $w) { ... on Sensors { results { id } } }
  schedulesOrError(repositorySelector: $w) { ... on Schedules { results { id } } }
}"""


def of_job() -> dict[str, Any]:
    return {"selector": WHERE | {"jobName": "keep_house"}, "executionMetadata": {"tags": [FORGED]}}


@pytest.fixture(scope="module")
def ids(http: TestClient, instance: dg.DagsterInstance) -> dict[str, str]:
    """What there is to act on: a run, a backfill, a sensor and a schedule, by the names of arguments."""
    launched = ask(http, LAUNCH, {"p": of_job()}, OPERATOR).json()
    run = launched["data"]["launchRun"]["run"]["runId"]
    backfill = ask(http, LAUNCH_BACKFILL, {"p": BACKFILL}, OPERATOR).json()["data"]["launchPartitionBackfill"]
    held = instance.get_backfill(backfill["backfillId"])
    assert held is not None
    instance.update_backfill(held.with_status(BulkActionStatus.COMPLETED_FAILED))
    found = ask(http, ASK_FOR_IDS, {"w": WHERE}).json()["data"]
    [sensor], [schedule] = found["sensorsOrError"]["results"], found["schedulesOrError"]["results"]
    return {
        "runId": run,
        "runIds": run,
        "backfillId": backfill["backfillId"],
        "stopSensor": sensor["id"],
        "stopRunningSchedule": schedule["id"],
        "reexecutePartitionBackfill": backfill["backfillId"],
        "launchRunReexecution": run,
        "launchPipelineReexecution": run,
    }


def given(name: str, type_: Any, known: dict[str, str]) -> Any:
    """A value of an argument: the name of something that there is, and nothing that is not needed."""
    if isinstance(type_, GraphQLNonNull):
        return given(name, type_.of_type, known)
    if isinstance(type_, GraphQLList):
        return [given(name, type_.of_type, known)]
    if isinstance(type_, GraphQLInputObjectType):
        named = {
            "jobName",
            "assetSelection",
            "partitionNames",
            "assetKey",
            "selector" if "params" in name.lower() else "",
        }
        return {
            key: given(key, field.type, known)
            for key, field in type_.fields.items()
            if isinstance(field.type, GraphQLNonNull) or key in named
        }
    if isinstance(type_, GraphQLEnumType):
        return next(iter(type_.values))
    return known.get(name, {"Boolean": True, "Int": 1, "Float": 1.0}.get(type_.name, "1"))


NAMES = {
    **WHERE,
    "jobName": "keep_house",
    "sensorName": "looks",
    "scheduleName": "daily",
    "partitionsDefName": "companies",
    "partitionNames": "acme",
    "locationName": dagster_home.LOCATION,
    "path": "figures",
}
MUTATIONS = schema.mutation_type.fields if schema.mutation_type else {}
DETAILS = {
    "LaunchMultipleRunsResultOrError": "... on LaunchMultipleRunsResult { launchMultipleRunsResult { __typename } }",
    "TerminateRunResult": "... on TerminateRunFailure { message }",
    "TerminateRunsResultOrError": (
        "... on TerminateRunsResult { terminateRunResults { ... on TerminateRunFailure { message } } }"
    ),
}
REFUSALS = ("UnauthorizedError", "You do not have permission to terminate this run")


@pytest.mark.parametrize("name", sorted(MUTATIONS))
def test_dagster_itself_refuses_every_mutation_of_an_analyst(http: TestClient, ids: dict[str, str], name: str) -> None:
    field = MUTATIONS[name]
    known = NAMES | ids | ({"id": ids[name], "parentRunId": ids[name]} if name in ids else {})
    wanted = {key: each for key, each in field.args.items() if key != "executionParams" or "Reexecution" not in name}
    declared = ", ".join(f"${key}: {each.type}" for key, each in wanted.items())
    passed = ", ".join(f"{key}: ${key}" for key in wanted)
    answered = get_named_type(field.type)
    is_union = isinstance(answered, GraphQLUnionType)
    selection = f"{{ __typename {DETAILS.get(answered.name, '')} }}" if is_union else ""
    arguments = [f"({each})" if each else "" for each in (declared, passed)]
    query = f"mutation{arguments[0]} {{ m: {name}{arguments[1]} {selection} }}"
    answer = ask(http, query, {key: given(key, each.type, known) for key, each in wanted.items()})
    assert any(said in answer.text for said in REFUSALS) == (name not in HARMLESS), answer.text


def test_an_operator_acts_and_has_permission_for_all_that_dagster_permits(http: TestClient) -> None:
    query = "{ permissions { permission value } }"
    for actor, missing in ((OPERATOR, {Permissions.EDIT_APP_MANAGED_COMPONENTS}), ("", set(Permissions))):
        permissions = ask(http, query, actor=actor).json()["data"]["permissions"]
        assert {each["permission"] for each in permissions if not each["value"]} == missing
    tick = "mutation($s: SensorSelector!) { stopSensor: resetSensor(sensorSelector: $s) { __typename } }"
    assert ask(http, tick, {"s": WHERE | {"sensorName": "looks"}}, OPERATOR).json() == {
        "data": {"stopSensor": {"__typename": "Sensor"}}
    }


def launches(run_id: str) -> dict[str, tuple[str, Any]]:
    """Every way of launching runs: the mutation, and what it takes."""
    retry = {"parentRunId": run_id, "strategy": "ALL_STEPS", "extraTags": [FORGED]}
    return {
        "launchRun(executionParams: $p)": ("ExecutionParams!", of_job()),
        "launchPipelineExecution(executionParams: $p)": ("ExecutionParams!", of_job()),
        "launchMultipleRuns(executionParamsList: $p)": ("[ExecutionParams!]!", [of_job(), of_job()]),
        "launchRunReexecution(reexecutionParams: $p)": ("ReexecutionParams", retry),
        "launchPipelineReexecution(reexecutionParams: $p)": ("ReexecutionParams", retry),
    }


def test_every_run_that_a_person_launches_has_the_person_s_name(
    http: TestClient, instance: dg.DagsterInstance, ids: dict[str, str]
) -> None:
    known = {"executionParams", "executionParamsList", "reexecutionParams"}
    launching = {name for name, field in MUTATIONS.items() if known & field.args.keys()}
    tried = launches(ids["runId"])
    assert {call.partition("(")[0] for call in tried} == launching - {"reexecutePartitionBackfill"}
    for number, (call, (type_, value)) in enumerate(tried.items()):
        before, actor = {run.run_id for run in instance.get_runs()}, f"{number}@operator.example"
        answer = ask(http, f"mutation($p: {type_}) {{ m: {call} {{ __typename }} }}", {"p": value}, actor)
        new = [run for run in instance.get_runs() if run.run_id not in before]
        assert len(new) == (2 if "Multiple" in call else 1), answer.text
        assert {run.tags[USER] for run in new} == {actor}, call


def test_a_launch_written_into_the_query_is_named_too(http: TestClient, instance: dg.DagsterInstance) -> None:
    """By its email, of any letters."""
    where = ", ".join(f'{key}: "{value}"' for key, value in {**WHERE, "jobName": "keep_house"}.items())
    tags = 'executionMetadata: {tags: [{key: "user", value: "somebody else"}]}'
    query = f"mutation {{ launchRun(executionParams: {{selector: {{{where}}}, {tags}}}) {{ __typename {RUN} }} }}"
    launched = ask(http, query, actor=OPERATOR).json()["data"]["launchRun"]["run"]["runId"]
    run = instance.get_run_by_id(launched)
    assert run is not None
    assert run.tags[USER] == OPERATOR


def test_a_backfill_has_the_person_s_name(http: TestClient, instance: dg.DagsterInstance) -> None:
    launched = ask(http, LAUNCH_BACKFILL, {"p": BACKFILL | {"tags": [FORGED]}}, OPERATOR).json()["data"]
    backfill = instance.get_backfill(launched["launchPartitionBackfill"]["backfillId"])
    assert backfill is not None
    assert backfill.tags[USER] == OPERATOR


def test_what_a_person_changes_is_logged(http: TestClient) -> None:
    query = "mutation A { setNuxSeen setNuxSeen } query B { version } fragment F on Mutation { setNuxSeen }"
    for actor in (OPERATOR, ""):
        with structlog.testing.capture_logs() as lines:
            ask(http, query.replace("A {", "A { ...F "), actor=actor)
            ask(http, "{ version }", actor=actor)
        [line] = lines
        assert (line["event"], line["staff_id"], line["allowed"]) == ("dagster.mutation", "1", bool(actor))
        assert line["acts"] == ["F", "setNuxSeen", "setNuxSeen"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{}",
        b'{"query": 1}',
        b'{"query": "{"}',
        b'{"query": "{version}", "variables": "{}"}',
        b"\xff",
        b'{"query": "{version}", "operationName": 1}',
        b"[" * 100_000,
        b'{"query": "' + b"{" * 3_000 + b"}" * 3_000 + b'"}',
        b'{"query": "{' + b"a " * 30_000 + b'}"}',
        b'{"query": "{' + b" ".join(b"a%d: version" % n for n in range(21)) + b'}"}',
    ],
)
def test_what_is_no_bounded_request_is_refused(http: TestClient, body: bytes) -> None:
    answer = ask(http, "", actor=OPERATOR, content=body)
    assert answer.status_code == 400, answer.text
    assert answer.json()["errors"][0]["message"]


def test_nothing_is_asked_by_get(http: TestClient) -> None:
    headers = {dagster_home.ACTOR_HEADER: "me"}
    for more in ({}, {"Accept": "text/html"}):
        assert http.get("/dagster/graphql?query={version}", headers=headers | more).status_code == 400


@pytest.mark.parametrize("query", NO_SUBSCRIPTIONS)
@pytest.mark.parametrize("actor", [OPERATOR, ""])
def test_the_socket_follows_and_acts_for_nobody(http: TestClient, query: str, actor: str) -> None:
    headers = {dagster_home.ACTOR_HEADER: quote(actor)} if actor else {}
    with http.websocket_connect("/dagster/graphql", headers=headers, subprotocols=["graphql-ws"]) as socket:
        socket.send_json({"type": "start", "id": "1", "payload": {"query": query}})
        assert socket.receive_json()["type"] == "error"
        logs = "subscription($runId: ID!) { pipelineRunLogs(runId: $runId, cursor: null) { __typename } }"
        payload = {"query": logs, "variables": {"runId": "none"}}
        socket.send_json({"type": "start", "id": "2", "payload": payload})
        told = socket.receive_json()["payload"]["data"]
        assert told["pipelineRunLogs"]["__typename"] == "PipelineRunLogsSubscriptionFailure"


def test_without_the_key_nothing_is_answered(http: TestClient) -> None:
    for key in ("", "guessed"):
        headers = {dagster_home.DOOR_HEADER: key, dagster_home.ACTOR_HEADER: "me"}
        assert http.post("/dagster/graphql", json={"query": "{ version }"}, headers=headers).status_code == 403
