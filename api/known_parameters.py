"""Refuses query parameters that a write does not have, so that no misspelt `dry_run` writes (decisions §13).

What a write has is what its route declares, so that no list is kept by hand. Reads ignore what they do not know.
"""

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Final

from fastapi.dependencies.models import Dependant
from starlette.requests import Request

from schemas.issues import Issue
from schemas.messages import Message
from schemas.normalise import shown
from schemas.refusals import Refused

READS: Final = ("GET", "HEAD")
"""The methods that write nothing."""
_ALIKE: Final = 0.5
"""How alike two names must be for the one to be meant by the other; 1 is equal."""


def refuse_unknown_parameters(request: Request) -> None:
    """Raise `Refused` where a write was sent parameters that its operation does not have, naming the nearest."""
    if request.method in READS or not request.query_params:
        return
    known = sorted(set(_declared(request.scope["route"].dependant)))
    unknown = [name for name in request.query_params if name not in known]
    if unknown:
        raise Refused([Issue("unknown_field", _sentence(name, known), name) for name in unknown])


def _declared(dependant: Dependant) -> Iterator[str]:
    """Yield the names of the query parameters of a route, and of everything that it depends on."""
    yield from (field.alias for field in dependant.query_params)
    for part in dependant.dependencies:
        yield from _declared(part)


def _sentence(name: str, known: list[str]) -> Message:
    if not known:
        return Message("This operation has no parameters; leave {name} out. Nothing was written.", name=shown(name))
    near = get_close_matches(name.lower(), known, n=1, cutoff=_ALIKE)
    if near:
        return Message(
            "This operation has no parameter {name}; {nearest} is the nearest that it has. Nothing was written.",
            name=shown(name),
            nearest=near[0],
        )
    return Message(
        "This operation has no parameter {name}; it has {known}. Nothing was written.",
        name=shown(name),
        known=", ".join(known),
    )
