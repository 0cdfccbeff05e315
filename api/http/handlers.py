"""Finds the route of a request, and calls its handler with its parameters, read as its signature declares them.

The framework publishes a signature and would solve it anew in each request: it looks at every parameter's type, keeps
exits that no handler of ours has, and looks for a body that none declares. Here all of that is done once, when the
process starts; what a request sent is read by the framework's own fields, so that a fault is said in the same words.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from inspect import iscoroutinefunction
from typing import (  # Any: arguments, results, and the framework's fields
    Any,
    Final,
    NamedTuple,
    Self,
    get_args,
    get_origin,
)

from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.routing import Match, Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

_SOURCES: Final = {"path_params": "path", "query_params": "query", "headers": "header"}
"""The parts of a request, in the order in which their faults are told, as the framework names them."""


class _Field(NamedTuple):
    """A parameter as the framework reads it; what is known of it at start is not looked up in its field again."""

    alias: str
    name: str
    is_list: bool
    """Whether it takes all values of its name."""
    location: tuple[str, str]
    read: Callable[..., tuple[Any, Any]]

    @classmethod
    def from_field(cls, field: Any, source: str) -> Self:
        """Return the parameter of a field of the framework."""
        is_list = any(get_origin(kind) is list for kind in get_args(field.field_info.annotation))
        return cls(field.alias, field.name, is_list, (_SOURCES[source], field.alias), field.validate)


@dataclass(frozen=True, slots=True)
class _Call:
    """A handler, or what makes one of its parameters, with everything that it takes."""

    name: str | None
    function: Callable[..., Awaitable[Any]]
    request_name: str | None
    """The parameter that takes the request itself."""
    defaults: Mapping[str, Any]
    fields: Sequence[tuple[str, Sequence[_Field]]]
    """The parameters in each part of the request that has some."""
    parts: tuple["_Call", ...]

    @classmethod
    def from_dependant(cls, dependant: Dependant) -> Self:
        """Return the call that the framework has read out of a signature."""
        function = dependant.call
        assert function is not None, "what a route depends on is called"
        is_async = iscoroutinefunction(function) or iscoroutinefunction(type(function).__call__)
        lists = {source: getattr(dependant, f"{name}_params") for source, name in _SOURCES.items()}
        optional = [*lists["query_params"], *lists["headers"]]
        assert not any(field.field_info.is_required() for field in optional), "only a path always has its parameters"
        return cls(
            dependant.name,
            function if is_async else partial(run_in_threadpool, function),
            dependant.request_param_name,
            {field.name: field.default for field in optional},
            [(source, [_Field.from_field(f, source) for f in fields]) for source, fields in lists.items() if fields],
            tuple(cls.from_dependant(part) for part in dependant.dependencies),
        )

    async def arguments(self, request: Request, faults: list[Any]) -> dict[str, Any]:
        """Return what the function takes of a request; add to the faults what of it cannot be read."""
        arguments = dict(self.defaults)
        for part in self.parts:
            earlier = len(faults)
            its_own = await part.arguments(request, faults)
            if len(faults) == earlier:
                result = await part.function(**its_own)
                if part.name is not None:
                    arguments[part.name] = result
        for source, fields in self.fields:
            if sent := getattr(request, source):
                names = sent if source == "headers" else sent.keys()  # a header's name is the same in any case
                for alias, name, is_list, location, read in fields:
                    if alias in names:
                        value = sent.getlist(alias) if is_list else sent[alias]
                        arguments[name], wrong = read(value, loc=location)
                        faults += wrong
        if self.request_name is not None:
            arguments[self.request_name] = request
        return arguments


def answering(dependant: Dependant) -> ASGIApp:
    """Return what answers the requests of a route by its handler, which returns the whole answer."""
    handler = _Call.from_dependant(dependant)

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        request, faults = Request(scope, receive, send), list[Any]()
        arguments = await handler.arguments(request, faults)
        if faults:
            raise RequestValidationError(faults)
        await (await handler.function(**arguments))(scope, receive, send)

    return answer


def routing(router: Router) -> ASGIApp:
    """Return what passes a request to the route that the router would choose; without one the router answers itself.

    The router calls four functions for each route that stands before; here a look at the path passes these by, and
    one for a path without parameters was taken when the process started.
    """
    patterns = [(route.path_regex.match, route) for route in router.routes if isinstance(route, Route)]
    of_path = {known.path: [route for fits, route in patterns if fits(known.path)] for _, known in patterns}

    async def route_request(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            path = scope["path"]
            for route in of_path.get(path) or (route for fits, route in patterns if fits(path)):
                match, of_route = route.matches(scope)
                if match is Match.FULL:
                    scope.update(of_route)
                    await route.app(scope, receive, send)
                    return
        await router(scope, receive, send)

    return route_request
