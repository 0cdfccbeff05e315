"""Serves Dagster's web application to the service's own proxy alone (`python -m pipelines.engine.ui`).

Dagster's own program has no sign-in, accepts mutations by GET and any Host header, so that any web page that an
operator opens could act in it. This one runs the same application on the loopback address, accepts only requests with
the key of the data directory, which `api.staff` sends (decision 0032), and takes from their headers who asks: a request
that names nobody who may act is read-only by Dagster's own permissions, so that its pages grey their buttons.

Where Dagster has no public name for a part, this module uses the one that Dagster's program `dagster-webserver` uses.
"""

import hmac
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final  # Any: tasks and variables as Dagster has them

import dagster as dg
import structlog
import uvicorn
from dagster._core.workspace.context import WorkspaceProcessContext, WorkspaceRequestContext
from dagster._core.workspace.load_target import WorkspaceFileTarget
from dagster_webserver.webserver import DagsterWebserver
from graphql import FieldNode, FragmentSpreadNode, GraphQLError, OperationDefinitionNode, OperationType
from pydantic import BaseModel, Field, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketClose

from pipelines.engine.graphql_bounds import parse_bounded
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
            for each in document.definitions
            if isinstance(each, OperationDefinitionNode) and each.operation is OperationType.MUTATION
            for part in each.selection_set.selections
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
            operations = [each for each in document.definitions if isinstance(each, OperationDefinitionNode)]
            if any(each.operation is not OperationType.SUBSCRIPTION for each in operations):
                raise GraphQLError("Only subscriptions are asked over the web socket.")
        except GraphQLError as error:
            return None, error.formatted
        return await super().execute_graphql_subscription(websocket, operation_id, query, variables, operation_name)


class RequireKey:
    """ASGI application that passes on requests with the key, and answers all others with the service's address."""

    def __init__(self, app: ASGIApp, key: str, address: str) -> None:
        """Take the application, the `key` that the proxy sends, and the `address` that people use."""
        self._app, self._key, self._address = app, key.encode(), address

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse."""
        if scope["type"] == "lifespan" or self._has_key(scope):
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await WebSocketClose(1008)(scope, receive, send)
        else:
            sentence = f"Dagster is at {self._address} for signed-in staff. Nothing is answered here.\n"
            await PlainTextResponse(sentence, 403, {"X-Frame-Options": "DENY"})(scope, receive, send)

    def _has_key(self, scope: Scope) -> bool:
        key_sent = Headers(scope=scope).get(dagster_home.DOOR_HEADER, "")
        return hmac.compare_digest(key_sent.encode(), self._key)


@contextmanager
def application(settings: Settings) -> Iterator[ASGIApp]:
    """Yield the application over this process's Dagster instance; the code server loads the definitions."""
    with open_instance() as instance:
        target = WorkspaceFileTarget([str(dagster_home.workspace(settings))])
        with StaffWorkspace(instance, workspace_load_target=target, version=dg.__version__) as workspace:
            app = StaffWebserver(workspace, dagster_home.PREFIX).create_asgi_app()
            yield RequireKey(app, dagster_home.door_key(settings), f"{settings.base_url}{dagster_home.PREFIX}")


def main() -> None:
    """Serve until SIGTERM or SIGINT; the environment is the supervisor's (`warehouse.operate.dagster_home`).

    It ends immediately: it has no state.
    """
    settings = Settings.load()
    logs.configure(settings)
    with application(settings) as app:
        uvicorn.run(
            app,
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
