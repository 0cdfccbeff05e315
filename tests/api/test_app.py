"""The app in a process of its own (`api.app`)."""

import asyncio
import subprocess
import sys

import pytest
from fastapi.routing import APIRoute
from starlette.responses import JSONResponse
from starlette.routing import Route, Router, WebSocketRoute
from starlette.testclient import TestClient
from starlette.types import Message, Receive, Scope, Send

from api.app import build_app
from api.http.handlers import routing
from api.http.middleware import Correlation
from warehouse.operate.database import Database
from warehouse.operate.settings import Settings

# In a process of its own: in a test's worker a collection of garbage would go through what every library left behind.
_PROGRAM = """
import faulthandler, gc, sys
faulthandler.dump_traceback_later(100, exit=True)  # says where it hangs
from pathlib import Path
from starlette.testclient import TestClient
from api.app import create
from warehouse.operate.database import Database
from warehouse.operate.settings import Settings

settings, database = Settings.load(data_dir=Path(sys.argv[1])), Database(*sys.argv[2:])
before = gc.get_threshold(), gc.get_freeze_count()
with TestClient(create(settings, database)):
    assert (gc.get_threshold(), gc.get_freeze_count()) == before
with TestClient(create(settings, database, alone=True)) as http:
    assert http.get("/healthz").status_code == 200  # it may not have frozen anything yet, but has when it ends
assert gc.get_freeze_count() > 100_000
assert gc.get_threshold()[0] > before[0][0]
"""


@pytest.mark.long
def test_only_alone_in_its_process_it_sets_what_is_collected_and_when(settings: Settings, database: Database) -> None:
    command = [sys.executable, "-X", "faulthandler", "-c", _PROGRAM, str(settings.data_dir)]
    done = subprocess.run(
        [*command, database.owner_url, database.app_url, database.dagster_url],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr


def test_between_a_request_and_its_route_is_one_layer() -> None:
    app = build_app()
    assert isinstance(app.middleware_stack, Correlation)
    assert app.middleware_stack.app.__module__ == "api.http.handlers"


@pytest.mark.parametrize("method", ["GET", "POST", "PUT"])
@pytest.mark.parametrize("path", ["/a", "/a/b", "/a/c", "/a/b/c", "/b", "/a/", "/none", ""])
def test_a_request_comes_to_the_route_that_the_router_would_choose(path: str, method: str) -> None:
    def route(template: str, methods: list[str]) -> Route:
        return Route(template, lambda request: JSONResponse([template, methods, request.path_params]), methods=methods)

    templates = [("/a", ["GET"]), ("/a/b", ["POST"]), ("/a/{id}", ["GET"]), ("/a/{id}", ["PUT"]), ("/a", ["POST"])]
    router = Router([*(route(*each) for each in templates), WebSocketRoute("/b", lambda _: None)])
    chosen, passed = (TestClient(app).request(method, path) for app in (router, routing(router)))
    assert (passed.status_code, passed.content) == (chosen.status_code, chosen.content)


def test_no_request_is_solved_by_the_framework() -> None:
    by = {route.app.__module__ for route in build_app().routes if isinstance(route, APIRoute)}
    assert by == {"api.http.handlers"}


@pytest.mark.parametrize(("length", "held"), [(b"3", False), (b"1000000", True), (None, True)])
def test_only_an_answer_that_may_be_large_waits_for_its_body(length: bytes | None, held: bool) -> None:
    """Whether it is compressed is known when its first bytes are; a small one is never compressed."""
    sent: list[str] = []

    async def answer(_scope: Scope, _receive: Receive, send: Send) -> None:
        headers = [] if length is None else [(b"content-length", length)]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        assert sent == ([] if held else ["http.response.start"])
        await send({"type": "http.response.body", "body": b"abc"})

    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(message: Message) -> None:
        sent.append(message["type"])

    headers = [(b"accept-encoding", b"gzip")]
    scope = {"type": "http", "method": "GET", "path": "/api/v1/skus", "headers": headers, "client": None}
    asyncio.run(Correlation(answer)(scope, receive, send))
    assert sent == ["http.response.start", "http.response.body"]
