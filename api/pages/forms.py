"""Reads forms that people send: limits their size, and accepts them only from our own page in the same browser.

A form contains the `csrf` of its session; the sign-in form contains that of the visitor's cookie. Files are read by
`api.uploads`.
"""

import hmac
import secrets
from typing import Any, Final  # Any: what the template shows
from urllib.parse import parse_qsl

from starlette.datastructures import ImmutableMultiDict
from starlette.requests import Request
from starlette.responses import Response

from api.bodies import limited_chunks
from api.errors import TooLarge
from api.pages.refusals import PageRefused
from api.pages.render import page
from api.pages.sessions import Session, csrf_of, remember_visitor, visitor_token_of

MAX_BYTES: Final = 256 * 2**10
MOST_FIELDS: Final = 1_000
CSRF_FIELD: Final = "csrf"
OWN_FETCH_SITES: Final = ("same-origin", "none", "")
"""Values of Sec-Fetch-Site for requests by one of our pages or by a person; programs and older browsers send none."""

Form = ImmutableMultiDict[str, str]


def visitor_page(request: Request, template: str, **values: Any) -> Response:  # the arguments of `page`
    """Return a page with a form for a visitor who is not signed in; its `csrf` binds the form to the browser."""
    visitor_token = visitor_token_of(request) or secrets.token_urlsafe(32)
    answer = page(request, template, csrf=csrf_of(visitor_token), **values)
    remember_visitor(request, answer, visitor_token)
    return answer


async def read_form(request: Request, session: Session, *, most_fields: int = MOST_FIELDS) -> Form:
    """Return the fields of a form of a signed-in person. Raise `PageRefused` where it came from another page."""
    return await read_form_with_token(request, session.csrf, most_fields=most_fields)


async def read_visitor_form(request: Request) -> Form:
    """Return the fields of a form of a visitor who is not signed in; raise as `read_form` does."""
    visitor_token = visitor_token_of(request)
    return await read_form_with_token(request, csrf_of(visitor_token) if visitor_token else None)


async def read_form_with_token(request: Request, expected: str | None, *, most_fields: int = MOST_FIELDS) -> Form:
    """Return the fields of a form that contains the expected token; raise as `read_form` does."""
    form = await read_unchecked_form(request, most_fields=most_fields)
    sent_token = form.get(CSRF_FIELD, "").encode()
    is_from_our_page = request.headers.get("Sec-Fetch-Site", "") in OWN_FETCH_SITES
    if expected is None or not is_from_our_page or not hmac.compare_digest(sent_token, expected.encode()):
        raise PageRefused(403, "refused.form")
    return form


async def read_unchecked_form(request: Request, *, most_fields: int = MOST_FIELDS) -> Form:
    """Return the fields of a form, whoever sent it; its page must not depend on a cookie. Raise `PageRefused`."""
    try:
        body = b"".join([chunk async for chunk in limited_chunks(request, MAX_BYTES)]).decode()
        return Form(parse_qsl(body, keep_blank_values=True, errors="strict", max_num_fields=most_fields))
    except TooLarge:
        raise PageRefused(413, "refused.too_large") from None
    except ValueError:
        raise PageRefused(400, "refused.unreadable") from None
