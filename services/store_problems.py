"""Says what is wrong with the object store, each with what to do, for `pcds doctor`."""

import os
from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import urlsplit

from schemas.addresses import is_loopback
from services.place_checks import Problem
from warehouse import store_checks
from warehouse.objects import Objects
from warehouse.settings import Settings
from warehouse.store_checks import State

_CHECK: Final = "object_store"
_SAID: Final[Mapping[State, tuple[str, str]]] = {
    "away": (
        "The object store does not take, give back or remove a file in time: uploads and downloads answer 503.",
        "See that it runs, that its credentials hold and that it has room; the log names the fault (objects.away).",
    ),
    "foreign": (
        "The object store carries another deployment's identity: it is read, never written, and uploads answer 503.",
        "Name another store in PCDS_OBJECTS_URL, or start with --take-over-objects if that deployment is gone.",
    ),
    "unreliable": (
        "The object store gives back other bytes than were written.",
        "Stop uploads, look at the store, and find what is altered with `pcds backup FOLDER --verify`.",
    ),
}
_ENDPOINTS: Final = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")


def of_store(settings: Settings, objects: Objects) -> Iterator[Problem]:
    """Yield what is wrong with the store: what it does with a file, and how it is reached."""
    endpoint = next((os.environ[name] for name in _ENDPOINTS if os.environ.get(name)), "")
    if settings.objects_url is not None and urlsplit(endpoint).scheme == "http":
        host = urlsplit(endpoint).hostname or ""
        if not settings.objects_by_http:
            wrong = f"The object store is at {endpoint}, which is not encrypted."
            yield Problem(
                _CHECK, wrong, "Use its https address, or set PCDS_OBJECTS_BY_HTTP=true if nobody can listen."
            )
        elif not is_loopback(host):
            wrong = f"Files and credentials go to {endpoint} without encryption (PCDS_OBJECTS_BY_HTTP)."
            yield Problem(_CHECK, wrong, "Use its https address; nobody else may read that network meanwhile.")
    if (found := store_checks.state(objects)) is not None:
        yield Problem(_CHECK, *_SAID[found])
