"""Renders a page: fills its template, sets its language, and adds the security headers.

A page loads nothing from another address and contains no script, so that the policy can refuse both. Where a form may
redirect to another address, as consent does, the page names that address.
"""

from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import Final
from urllib.parse import urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.datastructures import ImmutableMultiDict
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from api.languages import accepted_language
from api.pages.advice import said
from api.pages.sessions import Session
from api.pages.texts import text
from schemas.labels import LANGUAGES, word
from schemas.numbers import day, number
from schemas.roles import Role, includes

STYLE: Final = "/pages/style.css"
NAVIGATION: Final[tuple[tuple[str, str, Role], ...]] = (
    ("/portfolio", "nav.portfolio", "viewer"),
    ("/items", "nav.items", "viewer"),
    ("/imports", "nav.imports", "viewer"),
    ("/figures", "nav.figures", "viewer"),
    ("/declarations", "nav.declarations", "viewer"),
    ("/review", "nav.review", "viewer"),
    ("/documents", "nav.documents", "viewer"),
    ("/suppliers", "nav.suppliers", "viewer"),
    ("/connections", "nav.connections", "viewer"),
    ("/people", "nav.people", "administrator"),
    ("/keys", "nav.keys", "administrator"),
    ("/webhooks", "nav.webhooks", "administrator"),
    ("/audit", "nav.audit", "administrator"),
)
"""The pages of a signed-in person: path, key of the name, and the role that sees it."""


def headers(form_action: str = "'self'") -> dict[str, str]:
    """Return the headers of every page; `form_action` are its forms' allowed targets (CSP Level 3, section 6.4.1)."""
    policy = (
        "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'; "
        f"form-action {form_action}"
    )
    return {
        "Content-Security-Policy": policy,
        "X-Frame-Options": "DENY",
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-store",
    }


def language_of(request: Request) -> str:
    """Return the language of a page: that of `lang`, else the browser's preferred one."""
    wanted = request.query_params.get("lang")
    return wanted if wanted in LANGUAGES else accepted_language(request)


def page(
    request: Request,
    template: str,
    *,
    session: Session | None = None,
    status: int = 200,
    form_action: str = "'self'",
    **values: object,
) -> HTMLResponse:
    """Render a template with its values; with a `session` the signed-in person's navigation is above it.

    A page with a form that was refused sends `faults` and `given`, as `forms.html` takes them.
    """
    lang = language_of(request)
    say = partial(text, lang=lang)
    given = {
        "lang": lang,
        "say": say,
        "word": partial(_word, lang=lang),
        "session": session,
        "faults": (),
        "given": ImmutableMultiDict[str, str](),
        "style": STYLE,
        "path": request.url.path,
        "navigation": NAVIGATION,
        "languages": LANGUAGES,
        "number": partial(number, lang=lang),
        "day": partial(day, lang=lang),
        "link": partial(link, request),
        "translate": partial(said, lang=lang),
        "may": lambda role: session is not None and includes(session.role, role),
        "correlation_id": request.state.correlation_id,
    }
    body = _TEMPLATES.get_template(template).render(given | values)
    sent = headers(form_action) | {"Content-Language": lang, "Vary": "Accept-Language, Cookie"}
    return HTMLResponse(body, status, sent)


def redirect(address: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return the answer after a form, or to a page that is elsewhere: see another address, by GET."""
    return RedirectResponse(address, 303, {"Cache-Control": "no-store", **(headers or {})})


def link(request: Request, path: str, **parameters: object) -> str:
    """Return a page's address, with the parameters that are not None, in the language that the current address asks.

    A list is a parameter that is named once for each of its values.
    """
    wanted = {"lang": request.query_params.get("lang"), **parameters}
    query = urlencode({name: value for name, value in wanted.items() if value not in (None, "")}, doseq=True)
    return f"{path}?{query}" if query else path


def _word(vocabulary: str, code: str | None, *, lang: str) -> str:
    """Return the word for a code; a dash where nothing is stored."""
    return "–" if code is None else word(vocabulary, code, lang)


def _instant(at: datetime | str) -> Markup:
    """Return an instant, a datetime or RFC 3339 text, to the minute, for people and for programs."""
    value = datetime.fromisoformat(at) if isinstance(at, str) else at
    shown = value.strftime("%Y-%m-%d %H:%M")
    return Markup('<time datetime="{}">{} UTC</time>').format(value.strftime("%Y-%m-%dT%H:%M:%SZ"), shown)


_TEMPLATES: Final = Environment(
    loader=PackageLoader("api.pages"), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
)
_TEMPLATES.filters |= {"instant": _instant}
