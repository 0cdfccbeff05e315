"""Renders a page: fills its template, sets its language, and adds the security headers.

A page loads nothing from another address and contains no script, so that the policy can refuse both. A page that waits
for something loads the one script of our own that looks again. Where a form may redirect to another address, as consent
does, the page names that address.
"""

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache, partial
from pathlib import Path
from typing import (
    Any,  # Any: values that fill gaps are of any kind
    Final,
)
from urllib.parse import urlencode

from jinja2 import DictLoader, Environment, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup
from starlette.datastructures import ImmutableMultiDict
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Match

from api.http.answers import accepted_language
from api.pages.sessions import Session
from schemas.accounts import Role, includes
from schemas.actors import Actor
from schemas.fields import COMPONENT, SKU
from schemas.json_values import JsonObject
from schemas.messages import (
    LANGUAGES,
    Figure,
    Message,
    day,
    filled,
    header,
    instant,
    is_one,
    message_of,
    number,
    supplier_languages,
    supplier_words,
    translate,
    word,
)
from schemas.vocabularies import MEDIA_TYPES, VOCABULARIES
from warehouse.operate.sessions import Connection

FOLDER: Final = Path(__file__).parents[1]
"""A page's template and texts are beside its subject."""


def rows() -> Iterator[dict[str, str]]:
    """Yield every row of every file."""
    for file in sorted(FOLDER.glob("*/texts/*.csv")):
        with file.open(encoding="utf-8", newline="") as lines:
            yield from csv.DictReader(lines)


@cache
def _texts() -> Mapping[str, Mapping[str, str]]:
    texts = {row["key"]: row for row in rows()}
    for lang, words in supplier_words().items():
        for (kind, name), of_language in words.items():
            if kind == "text":
                texts[name][lang] = of_language
    return texts


def text(key: str, lang: str, **gaps: object) -> str:
    """Return the text of a key in a language, its gaps filled. Raise `KeyError` for an unknown key.

    Where the language counts the gap `count` as one, the text of `<key>.one` is taken if there is one. A text that
    does not show the number is of 1 alone: in French 0 is counted like 1.
    """
    texts, count = _texts(), str(gaps.get("count"))
    one = f"{key}.one"
    if (
        one in texts
        and count.isdecimal()
        and is_one(int(count), lang)
        and (count == "1" or "{count}" in texts[one][lang])
    ):
        key = one
    return texts[key][lang].format(**gaps) if gaps else texts[key][lang]


with (Path(__file__).parent / "advice.csv").open(encoding="utf-8", newline="") as _lines:
    _FOR_PEOPLE: Final = {row["template"]: row["key"] for row in csv.DictReader(_lines)}
"""Messages whose advice is for programs, with the text that says what to do on the pages; the gaps are the same."""
_KINDS: Final = {kind.media_type: kind.name for kind in MEDIA_TYPES}
_GAPS: Final[Mapping[str, Callable[[Any, str], object]]] = {
    "implied": partial(word, "substance_status"),
    "status": partial(word, "substance_status"),
    "declared": lambda media_type, _: _KINDS.get(media_type, media_type),
    "found": lambda media_type, _: _KINDS.get(media_type, media_type),
    "limit": lambda limit, _: limit // 1_000_000,
    "wrong": lambda wrong, lang: said(wrong, lang),  # noqa: PLW0108  (it is defined below)
    "reason": lambda reason, lang: text(f"figures.reason.{reason}", lang),
}
"""What fills a gap of those texts in place of a program's code, media type or bytes."""
_CODES: Final = sorted((name for name in {**SKU, **COMPONENT} if "_" in name), key=len, reverse=True)
_READ_ONLY: Final = frozenset({"measured_weight_g", "shape"})
"""Fields without a header of their own: files have them, records do not."""
_OF_PART: Final = re.compile(r"component_(?:(\d+)_)?(\w+)")
_RATING: Final = re.compile(r"ram:(\w+)")
_VOLUME: Final = re.compile(r"annual_volume(?:_([a-z]{2}(?:_[a-z0-9]{1,3})??))?(?:_(\d{4}))?(?:_h([12]))?")
_UNQUOTED: Final = re.compile(
    rf"(?<![\w“.`])((?:component_(?:\d+_)?)?(?:{'|'.join(_CODES)})|annual_volume(?:_[a-z0-9_]+)?|ram:[a-z_]+"
    r"|[a-z_]+(?=\[\d+\]))(?:\[\d+\])?(?!\w|[”`\[]|\.\w)"
)
"""Names of fields in a sentence, with the place in a list behind some; those in quotation marks are of the file."""
_LISTS: Final = sorted(
    ((", ".join(codes), name) for name, codes in VOCABULARIES.items() if len(codes) > 1),
    key=lambda pair: len(pair[0]),
    reverse=True,
)
"""Each vocabulary as a sentence lists it, the longest first."""


def said(message: str, lang: str) -> str:
    """Return a message for people in a language."""
    of_template = _listed(message_of(message))
    key = _FOR_PEOPLE.get(of_template.template)
    if key is None:
        return in_words(translate(of_template if isinstance(message, Message) else message, lang), lang)
    gaps = {name: _filled(name, value, lang) for name, value in of_template.parameters.items()}
    return in_words(text(key, lang, **gaps), lang)


def _listed(message: Message) -> Message:
    """Return a message with the codes that it quotes as a list, which `in_words` says in words."""
    reason = message.parameters.get("reason")
    if not isinstance(reason, Message) or "codes" not in reason.parameters:
        return message
    codes = ", ".join(re.findall(r"'(\w+)'", reason))
    return Message("{value} is not one of: {codes}.", value=message.parameters["value"], codes=codes)


def _filled(gap: str, value: object, lang: str) -> object:
    if gap in _GAPS:
        return _GAPS[gap](value, lang)
    if isinstance(value, Figure):
        return filled(value, lang)
    return translate(value, lang) if isinstance(value, str) else value


def in_words(sentence: str, lang: str) -> str:
    """Return a sentence with the names of fields for their codes, and the words of a vocabulary that it lists."""
    for codes, vocabulary in _LISTS:
        if codes in sentence:
            words = ", ".join(word(vocabulary, code, lang) for code in VOCABULARIES[vocabulary])
            sentence = sentence.replace(codes, words)
            break
    return _UNQUOTED.sub(lambda match: _name(match[1], lang), sentence)


def name_of_field(table: str, field: str, lang: str) -> str:
    """Return the header of a field; one that only imports and filings have is named by the pages.

    A line of several components numbers their fields: `component_2_weight_g` is the weight of the second.
    """
    if (title := header(table, field, lang)) != field:
        return title
    if field == "components":
        return text("item.parts", lang)
    if field in _READ_ONLY:
        return text(f"imports.field.{field}", lang)
    if match := _VOLUME.fullmatch(field):
        half = text(f"half.{match[3]}", lang) if match[3] else ""
        period = ", ".join(part_text for part_text in (match[2], half) if part_text)
        if match[1] is None:
            return f"{header('sku', 'annual_volume', lang)} {period}"
        market = match[1].upper().replace("_", "-")
        return text("imports.field.annual_volume", lang, market=market, period=period).strip()
    if match := _RATING.fullmatch(field):
        return f"{text('fact.ram', lang)}: {word('component_type', match[1], lang)}"
    if match := _OF_PART.fullmatch(field):
        part = f"{match[1]}. {text('item.part', lang)}" if match[1] else text("item.part", lang)
        return f"{part}: {name_of_field('component', match[2], lang)}"
    return title


def _name(field: str, lang: str) -> str:
    return name_of_field("component" if field in COMPONENT and field not in SKU else "sku", field, lang)


STYLE: Final = "/pages/style.css"
SCRIPT: Final = "/pages/live.js"
NAVIGATION: Final[tuple[tuple[str, str, Role], ...]] = (
    ("/portfolio", "nav.portfolio", "viewer"),
    ("/items", "nav.items", "viewer"),
    ("/imports", "nav.imports", "viewer"),
    ("/figures", "nav.figures", "viewer"),
    ("/declarations", "nav.declarations", "viewer"),
    ("/review", "nav.review", "viewer"),
    ("/documents", "nav.documents", "viewer"),
    ("/suppliers", "nav.suppliers", "viewer"),
    ("/library", "nav.library", "viewer"),
    ("/statements", "nav.statements", "viewer"),
    ("/connections", "nav.connections", "viewer"),
    ("/roles", "nav.roles", "viewer"),
    ("/registers", "nav.registers", "viewer"),
    ("/marks", "nav.marks", "viewer"),
    ("/evidence", "nav.evidence", "viewer"),
    ("/company", "nav.company", "administrator"),
    ("/people", "nav.people", "administrator"),
    ("/keys", "nav.keys", "administrator"),
    ("/webhooks", "nav.webhooks", "administrator"),
    ("/audit", "nav.audit", "administrator"),
)
"""The pages of a signed-in person: path, key of the name, and the role that sees it."""


PANELS: Final[dict[str, list[tuple[str, Callable[[Connection, Actor, Any], JsonObject]]]]] = {
    name: [] for name in ("item", "market", "draft")
}
"""What other subjects show on a page: a template, and what fills its `panel` for the record of the page."""


def headers(form_action: str = "'self'", *, waits: bool = False) -> dict[str, str]:
    """Return the headers of every page; `form_action` are its forms' allowed targets (CSP Level 3, section 6.4.1).

    Only a page that waits may run our script, and ask our addresses.
    """
    policy = (
        "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'; "
        f"form-action {form_action}"
    )
    if waits:
        policy += "; script-src 'self'; connect-src 'self'"
    return {
        "Content-Security-Policy": policy,
        "X-Frame-Options": "DENY",
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-store",
    }


def languages_of(path: str) -> tuple[str, ...]:
    """Return the languages of the page at a path: those of suppliers have more."""
    return supplier_languages() if path.startswith(("/supplier-data/", "/supplier-enquiries/")) else LANGUAGES


def language_of(request: Request) -> str:
    """Return the language of a page: that of `lang`, else the browser's preferred one."""
    wanted, languages = request.query_params.get("lang"), languages_of(request.url.path)
    return wanted if wanted in languages else accepted_language(request, languages)


def page(
    request: Request,
    template: str,
    *,
    session: Session | None = None,
    status: int | None = None,
    form_action: str = "'self'",
    faults: Sequence[tuple[str, str]] = (),
    given: Mapping[str, str] | None = None,
    waits: bool = False,
    **values: object,
) -> HTMLResponse:
    """Render a template with its values; with a `session` the signed-in person's navigation is above it.

    A page that `waits` looks again by itself until what it waits for has ended: what changes is marked `data-live`.

    A page with a form that was refused sends `faults` and `given`, as `forms.html` takes them, and has the status 400
    where it names no other.
    """
    lang = language_of(request)
    frame = {
        "lang": lang,
        "say": partial(text, lang=lang),
        "word": partial(_word, lang=lang),
        "session": session,
        "faults": faults,
        "given": ImmutableMultiDict[str, str]() if given is None else given,
        "style": STYLE,
        "script": SCRIPT if waits else None,
        "path": request.url.path,
        "navigation": NAVIGATION,
        "language_links": [
            (code, text("language", code), in_language(request, code)) for code in languages_of(request.url.path)
        ],
        "number": partial(number, lang=lang),
        "day": partial(day, lang=lang),
        "link": partial(link, request),
        "translate": partial(said, lang=lang),
        "may": lambda role: session is not None and includes(session.role, role),
        "correlation_id": request.state.correlation_id,
    }
    body = _TEMPLATES.get_template(template).render(frame | values)
    sent = headers(form_action, waits=waits) | {"Content-Language": lang, "Vary": "Accept-Language, Cookie"}
    return HTMLResponse(body, status or (400 if faults else 200), sent)


def redirect(address: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return the answer after a form, or to a page that is elsewhere: see another address, by GET."""
    return RedirectResponse(address, 303, {"Cache-Control": "no-store", **(headers or {})})


def link(request: Request, path: str, **parameters: object) -> str:
    """Return a page's address, with the parameters that are not None, in the language that the current address asks.

    A list is a parameter that is named once for each of its values. A page without the language chooses its own.
    """
    lang = request.query_params.get("lang")
    wanted = {"lang": lang if lang in languages_of(path) else None, **parameters}
    query = urlencode({name: value for name, value in wanted.items() if value not in (None, "")}, doseq=True)
    return f"{path}?{query}" if query else path


def shown_path(request: Request) -> str:
    """Return the path of the page that shows what the request is about: its own, or that of the form that it answers.

    A form's own address may take nothing but the form; its page is then the nearest above it.
    """
    path = request.url.path
    while request.method != "GET" and path.count("/") > 1:
        scope = {"type": "http", "method": "GET", "path": path, "root_path": "", "headers": []}
        if any(route.matches(scope)[0] is Match.FULL for route in request.app.routes):
            break
        path = path.rpartition("/")[0]
    return path


def in_language(request: Request, lang: str) -> str:
    """Return the address of the page that the request shows, in a language."""
    others = [(name, value) for name, value in request.query_params.multi_items() if name != "lang"]
    return f"{shown_path(request)}?{urlencode([*others, ('lang', lang)])}"


def _word(vocabulary: str, code: str | None, *, lang: str) -> str:
    """Return the word for a code; a dash where nothing is stored."""
    return "–" if code is None else word(vocabulary, code, lang)


@pass_context
def _instant(context: Context, at: datetime | str) -> Markup:
    """Return an instant, a datetime or RFC 3339 text, to the minute, for people and for programs."""
    value = datetime.fromisoformat(at) if isinstance(at, str) else at
    in_words = instant(value, context["lang"])
    return Markup('<time datetime="{}">{}</time>').format(value.strftime("%Y-%m-%dT%H:%M:%SZ"), in_words)


_TEMPLATES: Final = Environment(
    loader=DictLoader({path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*/*.html")}),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_TEMPLATES.filters |= {"instant": _instant}
