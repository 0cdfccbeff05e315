"""Registers handlers of REST operations directly on requests, without the framework's validation.

The framework publishes an operation and finds its handler. None of our handlers uses its further services (bodies,
parameters, answers by models), which cost each request as much as grading a SKU does (decision 0023). What belongs
here: how a request reaches its handler. What does not: what is published (`api.document`).
"""

from collections.abc import Callable, Sequence
from functools import partial
from inspect import iscoroutinefunction, signature
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.routing import request_response


class Operation(APIRoute):
    """One operation; the dependencies of its handler (`Depends`) are async functions of the request."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        """`options` are the framework's; the operation is published under its handler's name."""
        super().__init__(path, endpoint, **options | {"generate_unique_id_function": lambda route: route.name})
        self.app = request_response(self.get_route_handler())

    def get_route_handler(self) -> Any:
        """Return a function that calls the handler's dependencies in turn, then the handler.

        A handler that may block runs in a thread.
        """
        name = self.dependant.request_param_name
        asked = {str(each.name): each.call for each in self.dependant.dependencies}
        assert set(signature(self.endpoint).parameters) <= {name, *asked}, f"{self.name} asks for what nobody makes"
        assert all(map(iscoroutinefunction, asked.values())), f"{self.name} asks for what is no async function"
        call = self.endpoint if iscoroutinefunction(self.endpoint) else partial(run_in_threadpool, self.endpoint)

        async def handle(request: Request) -> Any:
            values: dict[str, Any] = {name: request} if name else {}
            for wanted, make in asked.items():
                values[wanted] = await make(request)  # type: ignore[misc]  # asserted above
            return await call(**values)

        return handle


def resource(prefix: str = "", *, tags: Sequence[str] = (), include_in_schema: bool = True) -> APIRouter:
    """Return a router of operations, each under the prefix and published with the tags."""
    return APIRouter(prefix=prefix, tags=list(tags), include_in_schema=include_in_schema, route_class=Operation)


def serve(app: FastAPI, router: APIRouter) -> None:
    """Let the app serve a router's operations as its own: an included router would match each request twice."""
    app.router.routes.extend(router.routes)
