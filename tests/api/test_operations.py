"""How a request reaches its handler (`api.operations`)."""

import threading
from typing import Annotated

import pytest
from fastapi import Depends, FastAPI
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.testclient import TestClient

from api.operations import resource, serve


async def _greeting(request: Request) -> str:
    return f"Hello {request.query_params['name']}"


async def _end(_request: Request) -> str:
    return "!"


Greeting = Annotated[str, Depends(_greeting)]


def test_a_handler_gets_what_it_asks_for_in_a_thread_where_it_may_wait() -> None:
    router = resource("/said", tags=["Said"])

    @router.get("/here")
    async def here(greeting: Greeting, end: Annotated[str, Depends(_end)]) -> Response:
        return PlainTextResponse(f"{greeting}{end} {threading.current_thread().name}")

    @router.get("/there")
    def there(request: Request, greeting: Greeting) -> Response:
        return PlainTextResponse(f"{greeting} at {request.url.path} {threading.current_thread().name}")

    app = FastAPI()
    serve(app, router)
    with TestClient(app) as caller:
        in_loop = caller.get("/said/here?name=Ada").text
        in_thread = caller.get("/said/there?name=Ada").text
    assert in_loop.startswith("Hello Ada! ")
    assert in_thread.startswith("Hello Ada at /said/there ")
    assert in_loop.split()[-1] != in_thread.split()[-1]
    assert app.openapi()["paths"]["/said/here"]["get"]["operationId"] == "here"


def test_a_handler_that_asks_for_what_nobody_makes_is_refused_at_the_start() -> None:
    router = resource()

    async def page(request: Request, limit: int) -> Response:
        return PlainTextResponse(str(limit))

    with pytest.raises(AssertionError, match="page asks for what nobody makes"):
        router.add_api_route("/page", page)


def test_what_a_handler_asks_for_does_not_wait() -> None:
    router = resource()

    def waits(request: Request) -> str:
        return str(request.url)

    async def page(said: Annotated[str, Depends(waits)]) -> Response:
        return PlainTextResponse(said)

    with pytest.raises(AssertionError, match="no async function"):
        router.add_api_route("/page", page)
