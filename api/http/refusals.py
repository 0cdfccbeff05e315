"""Converts the framework's errors into ours: an error before a handler has the same body and codes.

Faults of parameters are Pydantic's; `refusal_of` makes them the contract's by the function that translates those of
bodies, too (`schemas.skus.inputs.issue_of`).
"""

import re
from http import HTTPStatus

import psycopg
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match

from api.http.answers import accepted_language, in_language
from api.http.auth import admit_left_over
from api.http.errors import REFUSALS, SHOWN_IN_FORM, Fault, HttpRefusal, TokenRefused, WrongMethod, http_refusal
from api.http.requests import unreadable
from api.pages.refusals import PROGRAM_PATHS, page_of_nothing, page_of_refusal
from schemas.messages import Message, message_of
from schemas.refusals import NotThere, Refused
from schemas.skus.inputs import issue_of
from warehouse.operate import objects
from warehouse.operate.objects import AGAIN_SECONDS
from warehouse.operate.surroundings import is_unstorable


def install(app: FastAPI) -> None:
    """Register the handlers; `api.http.middleware` handles all other exceptions."""
    for kind in REFUSALS:
        app.add_exception_handler(kind, _refused)
    app.add_exception_handler(ConnectionError, _store_away)
    app.add_exception_handler(RequestValidationError, _unread)
    app.add_exception_handler(HTTPException, _framework)
    for fault in (psycopg.DataError, UnicodeEncodeError):
        app.add_exception_handler(fault, _unstorable)


def _answer(request: Request, refused: HttpRefusal) -> Response:
    if (page := page_of_refusal(request, refused)) is not None:
        return page
    answer = refused.response(request.state.correlation_id)
    # RFC 6749 (section 5.2) allows only ASCII in the token endpoint's messages.
    return answer if isinstance(refused, TokenRefused) else in_language(answer, accepted_language(request))


async def _refused(request: Request, error: Exception) -> Response:
    try:
        await admit_left_over(request)
    except SHOWN_IN_FORM as first:
        error = first
    if isinstance(error, NotThere) and not request.url.path.startswith(PROGRAM_PATHS):
        return await run_in_threadpool(page_of_nothing, request)
    return _answer(request, http_refusal(error))


async def _unstorable(request: Request, error: Exception) -> Response:
    """Answer a text that no check saw and no record can hold, whichever door and parameter it came by."""
    if not is_unstorable(error):
        raise error
    sentence = Message(
        "A text of this request holds the character U+0000, or half of a character, which no record can hold; send it "
        "without."
    )
    return await _refused(request, unreadable(sentence))


async def _store_away(request: Request, _: Exception) -> Response:
    """Answer that a file cannot be stored or read now, while everything else goes on (`warehouse.operate.objects`)."""
    refused = HttpRefusal("internal_error", objects.AWAY, headers={"Retry-After": str(AGAIN_SECONDS)})
    refused.status = HTTPStatus.SERVICE_UNAVAILABLE
    return await _refused(request, refused)


async def _unread(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return await _refused(request, refusal_of(error))


def refusal_of(error: RequestValidationError) -> Refused | NotThere:
    """Return the refusal of the first parameter at fault; a malformed id is answered as an unknown one."""
    faults = error.errors()
    if any(fault["loc"][0] == "path" for fault in faults):
        return NotThere()
    return Refused([issue_of({**faults[0], "loc": faults[0]["loc"][1:]})])


async def _framework(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    match error.status_code:
        case 404:
            return _answer(request, HttpRefusal("not_found"))
        case 405:
            # In a thread: the document may have to be built.
            published = await run_in_threadpool(allowed_methods, request.app, request.url.path)
            return _answer(request, WrongMethod(published or _of_routes(request)))
        case 400:
            return _answer(request, http_refusal(unreadable(message_of(error.detail))))
    return _answer(request, Fault())


def allowed_methods(app: FastAPI, path: str) -> list[str]:
    """Return every published method of a path. The framework names only those of the first route that fits it."""
    methods: set[str] = set()
    paths = app.openapi()["paths"]
    for template, operations in ({path: paths[path]} if path in paths else paths).items():
        if re.fullmatch(re.sub(r"\\{[^{}]*\\}", "[^/]+", re.escape(template)), path):
            methods |= {method.upper() for method in operations}
    return sorted(methods)


def _of_routes(request: Request) -> list[str]:
    """Return every method of an unpublished path: of the pages, and of the authorization server."""
    routes = request.app.routes
    return [
        method
        for method in ("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT")
        if any(route.matches({**request.scope, "method": method})[0] is Match.FULL for route in routes)
    ]
