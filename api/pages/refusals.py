"""Error pages: one plain page for a refusal. `api.accounts.sign_in` answers where nobody is signed in.

Programs get JSON (`api.http.refusals`). A request that prefers HTML to JSON comes from a person with a browser.
"""

from collections.abc import Mapping
from functools import partial
from typing import Final
from uuid import UUID

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response

from api.http.answers import accepted_language, in_language, weight_of
from api.http.errors import HttpRefusal, Stopping, TokenRefused
from api.http.service import service_of
from api.pages.render import language_of, link, page, redirect, said, text
from api.pages.sessions import RoleMissing, Session
from warehouse.skus import archive

PROGRAM_PATHS: Final = ("/api/", "/.well-known/")
"""Path prefixes whose errors are always JSON by the contract."""
_TEXT_KEYS: Final = {404: "error.404", 405: "error.405", 500: "error.500", 503: "error.503"}
"""Texts of the refusals without a page of their own; others show their own sentence."""


class PageRefused(Exception):  # noqa: N818  (an answer to a person, not a fault of the program)
    """The request is refused in words: `key` is the text with the reason and the remedy."""

    def __init__(self, status: int, key: str, *, headers: Mapping[str, str] | None = None, **gaps: object) -> None:
        """`gaps` fill the gaps of the text."""
        super().__init__(key)
        self.status, self.code, self.headers, self.gaps = status, key, dict(headers or {}), gaps


def install(app: FastAPI) -> None:
    """Register the handlers."""
    app.add_exception_handler(RoleMissing, _role_page)
    app.add_exception_handler(PageRefused, _refusal_page)


def is_for_people(request: Request) -> bool:
    """Return whether the answer is for a person: the path is no program's, and HTML is preferred (RFC 9110 §12.5.1)."""
    if request.url.path.startswith(PROGRAM_PATHS):
        return False
    accepted = ",".join(request.headers.getlist("accept"))
    return weight_of(accepted, "text/html") > weight_of(accepted, "application/json")


def page_of_nothing(request: Request) -> Response:
    """Return the page that says that a record is not there, or not any more.

    What only items in use have (their forms, roles, marks) leads to the page of an archived one, which says so.
    """
    if _is_of_archived_item(request):
        return redirect(link(request, f"/items/{request.path_params['id']}", instead="yes"))
    return page(request, "refused.html", status=404, key="refused.gone", sentence="", gaps={})


def _is_of_archived_item(request: Request) -> bool:
    """Return whether the one id of the address is that of an archived item of the signed-in person's company."""
    session: Session | None = getattr(request.state, "session", None)
    if session is None or list(request.path_params) != ["id"]:
        return False
    try:
        sku_id = UUID(request.path_params["id"])
    except ValueError:
        return False
    with service_of(request).writes.company(session.company_id) as conn:
        return archive.code_of(conn, sku_id) is not None


def page_of_refusal(request: Request, refused: HttpRefusal) -> Response | None:
    """Return the page of a refusal that was meant for programs; None where a program asks."""
    if isinstance(refused, TokenRefused) or not is_for_people(request):
        return None
    status = refused.response("").status_code
    sentence = said(str(refused), language_of(request))
    key = "refused.stopping" if isinstance(refused, Stopping) else None if refused.details else _TEXT_KEYS.get(status)
    answer = page(request, "refused.html", status=status, key=key, sentence=sentence, gaps={})
    answer.headers.update(refused.headers)
    answer.headers.add_vary_header("Accept")
    return answer


def answer_to_fault(request: Request, refused: HttpRefusal) -> Response:
    """Return the answer to a fault of the service, or to a request that a stop ended; it shows nothing of the fault."""
    page = page_of_refusal(request, refused)
    answer = refused.response(request.state.correlation_id)
    return page or in_language(answer, accepted_language(request))


async def _refusal_page(request: Request, error: Exception) -> Response:
    assert isinstance(error, PageRefused)
    answer = page(request, "refused.html", status=error.status, key=error.code, sentence="", gaps=error.gaps)
    answer.headers.update(error.headers)
    return answer


async def _role_page(request: Request, error: Exception) -> Response:
    assert isinstance(error, RoleMissing)
    say = partial(text, lang=language_of(request))
    gaps = {"role": say(f"role.{error.session.role}"), "needed": say(f"role.{error.needed}")}
    return page(request, "refused.html", session=error.session, status=403, key="refused.role", sentence="", gaps=gaps)
