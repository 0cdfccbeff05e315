"""Calls the handler of a route with its parameters, which are read as its signature declares them.

The framework publishes a signature and would solve it anew in each request: it looks at every parameter's type, keeps
exits that no handler of ours has, and looks for a body that none declares. Here all of that is done once, when the
process starts; what a request sent is read by the framework's own fields, so that a fault is said in the same words.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from inspect import iscoroutinefunction
from typing import Any, Final, Literal, Self, get_args, get_origin  # Any: arguments and results of every handler

from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

_Source = Literal["path_params", "query_params", "headers"]
_FIELDS: Final[Mapping[str, _Source]] = {
    "path_params": "path_params",
    "query_params": "query_params",
    "header_params": "headers",
}
"""The framework's lists of fields, with the part of a request that they are read from; in the order of their faults."""


@dataclass(frozen=True, slots=True)
class _Parameter:
    """A parameter of a handler that stands in the request, by its alias there."""

    name: str
    alias: str
    is_list: bool
    location: tuple[str, str]
    read: Callable[..., tuple[Any, list[Any]]]
    """The framework's, which returns a value and its faults."""


@dataclass(frozen=True, slots=True)
class _Call:
    """A handler, or what makes one of its parameters, with everything that it takes."""

    name: str | None
    function: Callable[..., Awaitable[Any]]
    request_name: str | None
    """The parameter that takes the request itself."""
    defaults: Mapping[str, Any]
    sources: Mapping[_Source, Sequence[_Parameter]]
    """Its parameters, by the part of a request that they stand in."""
    parts: tuple["_Call", ...]

    @classmethod
    def of(cls, dependant: Dependant) -> Self:
        """Return the call that the framework has read out of a signature."""
        function = dependant.call
        assert function is not None, "what a route depends on is called"
        is_async = iscoroutinefunction(function) or iscoroutinefunction(type(function).__call__)
        fields = {source: getattr(dependant, kind) for kind, source in _FIELDS.items()}
        required = [
            source for source, of_source in fields.items() for field in of_source if field.field_info.is_required()
        ]
        assert {*required} <= {"path_params"}, "a path always has its parameters; all others have a default"
        defaults = {field.name: field.default for of_source in fields.values() for field in of_source}
        sources = {
            source: [
                _Parameter(
                    field.name,
                    field.alias,
                    any(get_origin(kind) is list for kind in get_args(field.field_info.annotation)),
                    (field.field_info.in_.value, field.alias),
                    field.validate,
                )
                for field in of_source
            ]
            for source, of_source in fields.items()
            if of_source
        }
        parts = tuple(cls.of(part) for part in dependant.dependencies)
        called = function if is_async else partial(run_in_threadpool, function)
        return cls(dependant.name, called, dependant.request_param_name, defaults, sources, parts)

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
        for source, parameters in self.sources.items():
            sent = getattr(request, source)
            for parameter in parameters:
                if parameter.alias in sent:
                    value = sent.getlist(parameter.alias) if parameter.is_list else sent[parameter.alias]
                    arguments[parameter.name], wrong = parameter.read(value, loc=parameter.location)
                    faults += wrong
        if self.request_name is not None:
            arguments[self.request_name] = request
        return arguments


def answering(dependant: Dependant) -> ASGIApp:
    """Return what answers the requests of a route by its handler, which returns the whole answer."""
    handler = _Call.of(dependant)

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        request, faults = Request(scope, receive, send), list[Any]()
        arguments = await handler.arguments(request, faults)
        if faults:
            raise RequestValidationError(faults)
        await (await handler.function(**arguments))(scope, receive, send)

    return answer
