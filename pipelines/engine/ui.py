"""Serves Dagster's web application to the service's own proxy alone (`python -m pipelines.engine.ui`).

Dagster's own program has no sign-in, accepts mutations by GET and any Host header, so that any web page that an
operator opens could act in it. This one runs the same application on the loopback address, accepts only requests with
the key of the data directory, which `api.staff` sends (decision 0032), and takes from their headers who asks: a request
that names nobody who may act is read-only by Dagster's own permissions, so that its pages grey their buttons.

Where Dagster has no public name for a part, this module uses the one that Dagster's program `dagster-webserver` uses.
"""

import hmac
from typing import Any, Final  # Any: tasks and variables as Dagster has them

import dagster as dg
import structlog
import uvicorn
from dagster._core.workspace.context import WorkspaceProcessContext, WorkspaceRequestContext
from dagster._core.workspace.load_target import WorkspaceFileTarget
from dagster_webserver.webserver import DagsterWebserver
from graphql import FieldNode, FragmentSpreadNode, GraphQLError, OperationType
from pydantic import BaseModel, Field, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketClose

from pipelines.engine.graphql_bounds import operations_of, parse_bounded
from pipelines.engine.instance import open_instance
from pipelines.engine.tags import by_actor
from warehouse.operate import dagster_home, logs
from warehouse.operate.settings import Settings

_MOST_LOGGED: Final = 20
_LONGEST_NAME: Final = 100
"""Mutations of one request that the log names, and characters of each: Dagster's own names are far shorter."""

log = structlog.get_logger(__name__)


class StaffRequestContext(WorkspaceRequestContext):
    """What a request sees of the workspace, and who asks."""

    def get_viewer_tags(self) -> dict[str, str]:
        """Return the tags of the backfills that it launches; its runs get theirs from the coordinator."""
        return by_actor(self.source.headers.get) if isinstance(self.source, HTTPConnection) else {}


class StaffWorkspace(WorkspaceProcessContext):
    """Dagster's workspace; a request is read-only unless the proxy names who acts by it."""

    def create_request_context(self, source: object | None = None) -> StaffRequestContext:
        """Return the context of a request; without a source it is this process itself."""
        return StaffRequestContext(
            instance=self.instance,
            current_workspace=self.get_current_workspace(),
            process_context=self,
            version=self.version,
            source=source,
            read_only=isinstance(source, HTTPConnection) and not by_actor(source.headers.get),
        )


class GraphqlRequest(BaseModel):
    """The body of a GraphQL request."""

    query: str
    variables: dict[str, object] | None = None
    operation_name: str | None = Field(None, alias="operationName")


class StaffWebserver(DagsterWebserver[StaffWorkspace, StaffRequestContext]):
    """Dagster's web server, which answers GraphQL by POST of JSON alone, and within bounds."""

    async def graphql_http_endpoint(self, request: Request) -> Response:
        """Answer a request, and log what a person would change by it. By GET, Dagster's own would act as well."""
        try:
            sent = GraphqlRequest.model_validate_json(await request.body() if request.method == "POST" else b"")
            document = await run_in_threadpool(parse_bounded, sent.query, sent.variables or {})
        except (ValidationError, GraphQLError) as error:
            sentence = error.message if isinstance(error, GraphQLError) else "The body is no GraphQL request."
            return JSONResponse({"errors": [{"message": sentence}]}, 400)
        mutations = [
            part.name.value[:_LONGEST_NAME]
            for operation in operations_of(document)
            if operation.operation is OperationType.MUTATION
            for part in operation.selection_set.selections
            if isinstance(part, FieldNode | FragmentSpreadNode)
        ]
        if mutations and (staff_id := request.headers.get(dagster_home.STAFF_HEADER)):
            allowed, correlation_id = bool(by_actor(request.headers.get)), request.headers.get("x-correlation-id")
            acts = mutations[:_MOST_LOGGED]
            log.info("dagster.mutation", staff_id=staff_id, acts=acts, allowed=allowed, correlation_id=correlation_id)
        return await self.execute_graphql_request(request, sent.query, sent.variables, sent.operation_name)

    async def execute_graphql_subscription(
        self,
        websocket: WebSocket,
        operation_id: str,
        query: str,
        variables: dict[str, Any] | None,
        operation_name: str | None,
    ) -> Any:
        """Follow a subscription; Dagster itself would also execute a mutation at each event of one."""
        try:
            document = await run_in_threadpool(parse_bounded, query, variables or {})
            if any(operation.operation is not OperationType.SUBSCRIPTION for operation in operations_of(document)):
                raise GraphQLError("Only subscriptions are asked over the web socket.")
        except GraphQLError as error:
            return None, error.formatted
        return await super().execute_graphql_subscription(websocket, operation_id, query, variables, operation_name)


def require_key(app: ASGIApp, key: str, address: str) -> ASGIApp:
    """Return an application that passes on requests with the proxy's key, and tells others the service's address."""

    async def keyed(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan" or hmac.compare_digest(
            Headers(scope=scope).get(dagster_home.DOOR_HEADER, "").encode(), key.encode()
        ):
            await app(scope, receive, send)
        elif scope["type"] == "websocket":
            await WebSocketClose(1008)(scope, receive, send)
        else:
            sentence = f"Dagster is at {address} for signed-in staff. Nothing is answered here.\n"
            await PlainTextResponse(sentence, 403, {"X-Frame-Options": "DENY"})(scope, receive, send)

    return keyed


def main() -> None:
    """Serve until SIGTERM or SIGINT; the environment is the supervisor's (`warehouse.operate.dagster_home`).

    The code server loads the definitions. It ends immediately: it has no state.
    """
    settings = Settings.load()
    logs.configure(settings)
    target = WorkspaceFileTarget([str(dagster_home.workspace(settings))])
    with (
        open_instance() as instance,
        StaffWorkspace(instance, workspace_load_target=target, version=dg.__version__) as workspace,
    ):
        app = StaffWebserver(workspace, dagster_home.PREFIX).create_asgi_app()
        uvicorn.run(
            require_key(app, dagster_home.door_key(settings), f"{settings.base_url}{dagster_home.PREFIX}"),
            host=dagster_home.HOST,
            port=settings.dagster_port,
            log_config=None,
            log_level="warning",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=2,
        )


if __name__ == "__main__":
    main()
