"""Calls the handler of a route with its parameters, which are read as its signature declares them.

The framework publishes a signature and would solve it anew in each request: it looks at every parameter's type, keeps
exits that no handler of ours has, and looks for a body that none declares. Here all of that is done once, when the
process starts; what a request sent is read by the framework's own fields, so that a fault is said in the same words.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from inspect import iscoroutinefunction
from typing import Any, Final, Self, get_args, get_origin  # Any: arguments, results, and the framework's fields

from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

_SOURCES: Final = {"path_params": "path", "query_params": "query", "headers": "header"}
"""The parts of a request, in the order in which their faults are told, as the framework names them."""


@dataclass(frozen=True, slots=True)
class _Call:
    """A handler, or what makes one of its parameters, with everything that it takes."""

    name: str | None
    function: Callable[..., Awaitable[Any]]
    request_name: str | None
    """The parameter that takes the request itself."""
    defaults: Mapping[str, Any]
    fields: Mapping[str, Sequence[tuple[Any, bool]]]
    """The framework's fields of a part of the request, and whether each takes all values of its name."""
    parts: tuple["_Call", ...]

    @classmethod
    def from_dependant(cls, dependant: Dependant) -> Self:
        """Return the call that the framework has read out of a signature."""
        function = dependant.call
        assert function is not None, "what a route depends on is called"
        is_async = iscoroutinefunction(function) or iscoroutinefunction(type(function).__call__)
        lists = {source: getattr(dependant, f"{name}_params") for source, name in _SOURCES.items()}
        fields = {source: [(field, _is_list(field)) for field in of_source] for source, of_source in lists.items()}
        optional = [field for of_source in ("query_params", "headers") for field, _ in fields[of_source]]
        assert not any(field.field_info.is_required() for field in optional), "only a path always has its parameters"
        return cls(
            dependant.name,
            function if is_async else partial(run_in_threadpool, function),
            dependant.request_param_name,
            {field.name: field.default for field in optional},
            {source: of_source for source, of_source in fields.items() if of_source},
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
        for source, fields in self.fields.items():
            sent = getattr(request, source)
            for field, is_list in fields:
                if field.alias in sent:
                    value = sent.getlist(field.alias) if is_list else sent[field.alias]
                    location = (_SOURCES[source], field.alias)
                    arguments[field.name], wrong = field.validate(value, loc=location)
                    faults += wrong
        if self.request_name is not None:
            arguments[self.request_name] = request
        return arguments


def _is_list(field: Any) -> bool:
    return any(get_origin(kind) is list for kind in get_args(field.field_info.annotation))


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
