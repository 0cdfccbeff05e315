"""Serves Dagster's web application to the service's own proxy alone (`python -m pipelines.engine.ui`).

Dagster's own program has no sign-in, accepts mutations by GET and any Host header, so that any web page that an
operator opens could act in it. This one runs the same application on the loopback address, and accepts only requests
with the key of the data directory: those that `api.staff` has checked (decision 0032). What belongs here: starting the
application. What does not: who may see it, and which requests they may make.

Where Dagster has no public name for a part, this module uses the one that Dagster's program `dagster-webserver` uses.
"""

import hmac
from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg
import uvicorn
from dagster._core.workspace.context import WorkspaceProcessContext
from dagster._core.workspace.load_target import WorkspaceFileTarget
from dagster_webserver.app import create_app_from_workspace_process_context
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from pipelines.engine.instance import open_instance
from warehouse import dagster_home, logs
from warehouse.settings import Settings


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
        with WorkspaceProcessContext(instance, workspace_load_target=target, version=dg.__version__) as workspace:
            app = create_app_from_workspace_process_context(workspace, dagster_home.PREFIX)
            yield RequireKey(app, dagster_home.door_key(settings), f"{settings.base_url}{dagster_home.PREFIX}")


def main() -> None:
    """Serve until SIGTERM or SIGINT; the environment is the supervisor's (`warehouse.dagster_home`).

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
