"""Says what is wrong with the object store, each with what to do, for `pcds doctor`."""

import os
from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import urlsplit

from schemas.addresses import is_loopback
from schemas.states import State
from services.place_checks import Problem
from warehouse import store_checks
from warehouse.objects import Objects
from warehouse.settings import Settings

_SAID: Final[Mapping[State, tuple[str, str]]] = {
    State.OBJECT_STORE: (
        "The object store does not take, give back or remove a file in time: uploads and downloads answer 503.",
        "See that it runs, that its credentials hold and that it has room; the log names the fault (objects.away).",
    ),
    State.FOREIGN_STORE: (
        "The object store carries another deployment's identity: it is read, never written, and uploads answer 503.",
        "Name another store in PCDS_OBJECTS_URL, or start with --take-over-objects if that deployment is gone.",
    ),
    State.UNRELIABLE_STORE: (
        "The object store gives back other bytes than were written.",
        "Stop uploads, look at the store, and find what is altered with `pcds backup FOLDER --verify`.",
    ),
}
_ENDPOINTS: Final = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")


def of_store(objects: Objects) -> Iterator[Problem]:
    """Yield what the store does wrong with a file; it may take some seconds."""
    if (found := store_checks.state(objects)) is not None:
        yield Problem(found, *_SAID[found])


def of_endpoint(settings: Settings) -> Iterator[Problem]:
    """Yield whether files go to the store without encryption."""
    endpoint = next((os.environ[name] for name in _ENDPOINTS if os.environ.get(name)), "")
    if settings.objects_url is None or urlsplit(endpoint).scheme != "http":
        return
    if not settings.objects_by_http:
        wrong = f"The object store is at {endpoint}, which is not encrypted: it is not asked."
        remedy = "Use its https address, or set PCDS_OBJECTS_BY_HTTP=true if nobody can listen."
        yield Problem(State.STORE_BY_HTTP, wrong, remedy)
    elif not is_loopback(urlsplit(endpoint).hostname or ""):
        wrong = f"Files and credentials go to {endpoint} without encryption (PCDS_OBJECTS_BY_HTTP)."
        remedy = "Use its https address; nobody else may read that network meanwhile."
        yield Problem(State.STORE_BY_HTTP, wrong, remedy)
