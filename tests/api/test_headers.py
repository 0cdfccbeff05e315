"""Every answer says that it is not to be kept and that it is of its type: of every route, method and kind of error.

The routes are read from the app, so that a new one is held to this without being named here.
"""

import re
from uuid import uuid4

import pytest
from starlette.testclient import TestClient

from api.http.middleware import with_common_headers
from tests.api.test_isolation import named

PUBLIC = re.compile(
    r"/pages/(style\.css|live\.js)|/reference(/.*)?|/api/v1/openapi\.json|/api/v1/jurisdictions|/api/v1/schemas/.*|/\.well-known/.*"
)
"""What anyone may keep for a while: it holds nothing of a company."""
WITH_BODY = ("POST", "PUT", "PATCH")
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
BODIES = ({}, {"content": b"{"}, {"content": b"\x00\xff", "headers": {"Content-Type": "multipart/form-data"}})
NONE = BODIES[:1]


def paths(http: TestClient, method: str) -> list[tuple[str, bool, tuple[dict, ...]]]:
    """Every path of the app, with an id in it that nobody has; whether the method is its own; the bodies to try."""
    routes = set(named(http.app.routes)) | {f"{method} /api/mcp"}
    found = {route.partition(" ")[2] for route in routes} | {"/", "/no/such", "/api/v1/none"}
    own = {path for path in found if f"{method} {path}" in routes}
    return sorted(
        (re.sub(r"\{[^}]*\}", str(uuid4()), path), path in own, BODIES if path in own and method in WITH_BODY else NONE)
        for path in found
    )


def lacking(path: str, answer) -> list[str]:
    kept = answer.headers.get("Cache-Control", "")
    told = [] if answer.headers.get_list("X-Content-Type-Options") == ["nosniff"] else ["nosniff"]
    may_be_kept = PUBLIC.fullmatch(path) and kept.startswith("public, max-age=")
    return told if kept == "no-store" or may_be_kept else [*told, kept or "no Cache-Control"]


@pytest.mark.parametrize("method", METHODS)
def test_every_answer_of_every_path_says_so(caller, method: str) -> None:
    plain = TestClient(caller.http.app, client=("127.0.0.1", 50_000), follow_redirects=False)
    plain.portal = caller.http.portal  # the event loop that the app was started in, not one for each request
    known = {"X-API-Key": caller.key, "X-Forwarded-For": caller.address}
    faults, statuses = [], set()
    for path, own, bodies in paths(caller.http, method):
        for credentials in ({}, known, {"Authorization": "Bearer none"}) if own else (known,):
            for body in bodies:
                answer = plain.request(method, path, **{**body, "headers": {**body.get("headers", {}), **credentials}})
                statuses.add(answer.status_code)
                faults += [(method, path, answer.status_code, each) for each in lacking(path, answer)]
    assert faults == []
    assert len(statuses) > 1


def test_a_fault_of_ours_says_so_to_programs_and_to_people(caller, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(type(caller.http.app.state.readiness), "standing", broken)
    for accept, kind in (("application/json", "application/json"), ("text/html,*/*;q=0.8", "text/html; charset=utf-8")):
        answer = TestClient(caller.http.app).get("/readyz", headers={"Accept": accept})
        assert (answer.status_code, answer.headers["Content-Type"]) == (500, kind)
        assert lacking("/readyz", answer) == []
        assert answer.headers["X-Correlation-Id"] in answer.text
        assert "ZeroDivisionError" not in answer.text


def test_what_an_answer_says_itself_stands_and_nothing_is_said_twice() -> None:
    public = (b"Cache-Control", b"public, max-age=300")
    found = with_common_headers([public, (b"x-correlation-id", b"theirs")], (b"x-correlation-id", b"ours"))
    assert found == [public, (b"x-content-type-options", b"nosniff"), (b"x-correlation-id", b"ours")]
