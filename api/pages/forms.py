"""Reads forms that people send: limits their size, and accepts them only from our own page in the same browser.

A form contains the `csrf` of its session; the sign-in form contains that of the visitor's cookie. Files are read by
`api.http.requests`.
"""

import hmac
import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, TypeVar  # Any: what the template shows
from urllib.parse import parse_qsl
from uuid import UUID

from fastapi import Depends
from starlette.datastructures import ImmutableMultiDict
from starlette.requests import Request
from starlette.responses import Response

from api.audit.words import code_in_words, field_in_words
from api.http import parameters
from api.http.errors import TooLarge
from api.http.requests import limited_chunks
from api.http.service import service_of
from api.http.writing import Write
from api.pages.refusals import PageRefused
from api.pages.render import language_of, page, said, text
from api.pages.sessions import Session, csrf_of, remember_visitor, visitor_token_of
from pipelines.reading.grid import Column
from pipelines.reading.values import AMBIGUOUS, LIST_SEPARATOR, both_readings, read_number
from schemas.actors import Actor
from schemas.fields import Field
from schemas.issues import Issue
from schemas.json_values import JsonMapping, JsonObject
from schemas.messages import Message, decimal_mark, meaning, plain
from schemas.normalise import Unfit, quote
from schemas.refusals import NotThere, Refused
from schemas.skus.inputs import path
from schemas.vocabularies import SUBSTANCES, VOCABULARIES, Substance
from schemas.words import market_named, markets_named
from warehouse.operate.sessions import Connection

T = TypeVar("T")

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


@dataclass(frozen=True, slots=True)
class Sent:
    """The dependency by which a route declares that it takes a form of the signed-in person, named behind it."""

    most_fields: int = MOST_FIELDS

    async def __call__(self, request: Request) -> Form:
        """Return the fields of the form, which the session of the route is of; raise as `read_form` does."""
        return await read_form(request, request.state.session, most_fields=self.most_fields)


SentForm = Annotated[Form, Depends(Sent())]
"""A signed-in person's form, as a handler's parameter after the session."""


async def read_visitor_form(request: Request) -> Form:
    """Return the fields of a form of a visitor who is not signed in; raise as `read_form` does."""
    visitor_token = visitor_token_of(request)
    return await read_form_with_token(request, csrf_of(visitor_token) if visitor_token else None)


VisitorForm = Annotated[Form, Depends(read_visitor_form)]
"""The form of a visitor who is not signed in, as a handler's parameter."""


async def read_form_with_token(request: Request, expected: str | None, *, most_fields: int = MOST_FIELDS) -> Form:
    """Return the fields of a form that contains the expected token; raise as `read_form` does."""
    form = await read_unchecked_form(request, most_fields=most_fields)
    refuse_other_page(request, form, expected)
    return form


def refuse_other_page(request: Request, fields: Mapping[str, str], expected: str | None) -> None:
    """Raise `PageRefused` for the fields of a form that another page or another browser sent."""
    sent_token = fields.get(CSRF_FIELD, "").encode()
    is_from_our_page = request.headers.get("Sec-Fetch-Site", "") in OWN_FETCH_SITES
    if expected is None or not is_from_our_page or not hmac.compare_digest(sent_token, expected.encode()):
        raise PageRefused(403, "refused.form")


async def read_unchecked_form(request: Request, *, most_fields: int = MOST_FIELDS) -> Form:
    """Return the fields of a form, whoever sent it; its page must not depend on a cookie. Raise `PageRefused`."""
    try:
        body = b"".join([chunk async for chunk in limited_chunks(request, MAX_BYTES)]).decode()
        return Form(parse_qsl(body, keep_blank_values=True, errors="strict", max_num_fields=most_fields))
    except TooLarge:
        raise PageRefused(413, "refused.too_large") from None
    except ValueError:
        raise PageRefused(400, "refused.unreadable") from None


class Unread(str):
    """What a person typed where a number or a market is asked for, and cannot be read as one; `unfit` says why."""

    __slots__ = ("unfit",)
    unfit: Unfit


def number_of(typed: str, lang: str, *, whole: bool = False, unit: str | None = None) -> float | str:
    """Return the number that was typed into a form of this language, in the field's `unit`.

    What is none stays text, which the field refuses; what may be two, or could be one, is `Unread`.
    """
    field = Field("number", "integer" if whole else "number", "", unit=unit)
    mark = decimal_mark(lang)
    try:
        value = read_number(typed, Column(field.name, field, "sku", 0, ""), mark if mark in typed else None)
    except Unfit as unfit:
        if unfit.code == "invalid_number":
            return typed
        return _unread(typed, _ambiguity(typed, mark) if unfit.code == AMBIGUOUS else unfit)
    return int(value) if whole and value.is_integer() else value


def market_codes(typed: str) -> list[str]:
    """Return the codes of the markets that a part of a list names: by name, or by codes beside each other."""
    try:
        return markets_named(typed)
    except Unfit as unfit:
        return [_unread(typed, unfit)]


def market_code(typed: str) -> str:
    """Return the code of the market that is named; empty where nothing is."""
    try:
        return market_named(typed) if typed else ""
    except Unfit as unfit:
        return _unread(typed, unfit)


def _unread(typed: str, unfit: Unfit) -> Unread:
    unread = Unread(typed)
    unread.unfit = unfit
    return unread


def _ambiguity(typed: str, mark: str) -> Unfit:
    fraction, whole = both_readings(typed, mark)
    sentence = Message(
        "{cell} can be {fraction} or {whole}; write the one of them that is meant.",
        cell=quote(typed),
        fraction=fraction,
        whole=whole,
    )
    return Unfit(AMBIGUOUS, sentence)


def unread_values(body: object) -> list[Issue]:
    """Return an issue for each value of a form's body that could not be read, with its path."""
    return [Issue(unread.unfit.code, unread.unfit.message, path(place)) for place, unread in _unread_within(body, ())]


def faults_with(body: object, parse: Callable[[object], object]) -> list[Issue]:
    """Return the faults of a body with values that could not be read, each said in its own words; else none.

    `parse` refuses a body with its other faults, and such a value as a text; it raises `Refused`.
    """
    unread = {issue.field: issue for issue in unread_values(body)}
    if not unread:
        return []
    try:
        parse(body)
    except Refused as invalid:
        return [unread.get(issue.field, issue) for issue in invalid.issues]
    return list(unread.values())


def _unread_within(node: object, place: tuple[int | str, ...]) -> Iterator[tuple[tuple[int | str, ...], Unread]]:
    match node:
        case Unread():
            yield place, node
        case dict():
            for name, value in node.items():
                yield from _unread_within(value, (*place, str(name)))
        case list():
            for at, value in enumerate(node):
                yield from _unread_within(value, (*place, at))


NONE: Final = "none"
"""The choice of an empty list, beside the codes that it may have."""
TRUTHS: Final = {"yes": True, "no": False}
SUBSTANCE_PARTS: Final[Mapping[str, tuple[str, str | None]]] = {
    "status": ("code", "substance_status"),
    "value": ("number", None),
    "unit": ("code", "substance_unit"),
    "basis": ("code", "substance_basis"),
    "source": ("code", "substances_source"),
    "evidence": ("text", None),
}
"""The parts of a substance's declaration: kind and vocabulary."""
MAY_BE_NONE: Final = frozenset({"additives"})
"""Lists of codes whose empty list says that there are none; others say nothing then."""


@dataclass(frozen=True, slots=True)
class Input:
    """One input: its name in the form, the texts above and below it, kind, choices (code and word) and unit."""

    name: str
    label: str
    hint: str
    kind: str
    choices: tuple[tuple[str, str], ...] = ()
    unit: str | None = None


def input_of(name: str, table: str, field: Field, lang: str, records: Mapping[str, Sequence[tuple[str, str]]]) -> Input:
    """Return the input of a field; `records` are those that a reference may name (id and name), by table."""
    label = text(f"item.of.{field.name}", lang) if field.references else field_in_words(table, field.name, field, lang)
    choices: tuple[tuple[str, str], ...] = ()
    if field.vocabulary:
        choices = _words(field.vocabulary, lang)
    elif field.kind == "truth":
        choices = tuple((answer, text(f"supplier.{answer}", lang)) for answer in TRUTHS)
    elif field.references:
        choices = tuple(records[field.references])
    if field.name in MAY_BE_NONE:
        choices = ((NONE, text("supplier.none", lang)), *choices)
    hint = "" if field.references else meaning(table, field, lang)
    return Input(name, label, hint, field.kind, choices)


def substance_inputs(at: str, lang: str) -> list[Input]:
    """Return the inputs of one substance's declaration, whose names begin with `at`."""
    return [
        Input(
            f"{at}.{part}",
            text(f"substance_part.{part}", lang),
            "",
            kind,
            _words(vocabulary, lang) if vocabulary else (),
        )
        for part, (kind, vocabulary) in SUBSTANCE_PARTS.items()
    ]


def _words(vocabulary: str, lang: str) -> tuple[tuple[str, str], ...]:
    return tuple((code, code_in_words(vocabulary, code, lang)) for code in VOCABULARIES[vocabulary])


def texts_of(value: object, lang: str) -> list[str]:
    """Return the texts of the inputs that show a value: several for a list, none where there is no value."""
    match value:
        case None:
            return []
        case list():
            return [str(member) for member in value] or [NONE]
        case bool():
            return [next(answer for answer, truth in TRUTHS.items() if truth is value)]
        case int() | float():
            return [plain(value, lang)]
    return [str(value)]


def value_of(sent: Sequence[str], kind: str, lang: str, unit: str | None = None) -> object:
    """Return the filled-in text as the JSON that the field accepts; None where it was left empty.

    What is no number, or may be two, is `Unread`, which `unread_values` finds in the body.
    """
    filled = [line.strip() for line in sent if line.strip()]
    if not filled:
        return None
    match kind:
        case "codes":
            return [line for line in filled if line != NONE]
        case "markets":
            parts = (part.strip() for line in filled for part in LIST_SEPARATOR.split(line))
            return [code for part in parts if part for code in market_codes(part)]
        case "truth":
            return TRUTHS.get(filled[0], filled[0])
        case "number" | "integer":
            return number_of(filled[0], lang, whole=kind == "integer", unit=unit)
    return filled[0]


def substance_pairs(
    prefix: str, entries: Mapping[Substance, JsonMapping | None], lang: str
) -> Iterator[tuple[str, str]]:
    """Yield name and text of each input that shows declarations of substances; a part's begin with `prefix`."""
    for substance, entry in entries.items():
        for part, value in (entry or {}).items():
            texts = texts_of(value, lang)
            yield from ((f"{prefix}substances.{substance}.{part}", " ".join(line.splitlines())) for line in texts)


def declarations_of(form: Form, prefix: str, lang: str) -> dict[str, JsonObject]:
    """Return the declarations of substances that a form has; none without a part."""
    declared = {
        name: {
            part: value
            for part, (kind, *_) in SUBSTANCE_PARTS.items()
            if (value := value_sent(form, f"{prefix}substances.{name}.{part}", kind, lang)) is not None
        }
        for name in SUBSTANCES
    }
    return {name: entry for name, entry in declared.items() if entry}


def line_of(form: Form, prefix: str, fields: Iterable[Field], lang: str) -> JsonObject:
    """Return the fields of a part that a form fills in; what is left empty is left out."""
    return {
        field.name: value
        for field in fields
        if field.kind != "substances"
        and (value := value_sent(form, prefix + field.name, field.kind, lang, field.unit)) is not None
    }


def value_sent(form: Form, name: str, kind: str, lang: str, unit: str | None = None) -> object:
    """Return what an input was filled in with (`value_of`); line ends in the form in which texts are stored."""
    sent = [line.replace("\r\n", "\n").replace("\r", "\n") for line in form.getlist(name)]
    return value_of(sent, kind, lang, unit)


def parts_sent(form: Form, truths: Collection[str] = ()) -> dict[str, JsonObject]:
    """Return the filled-in inputs by the part of a record that their names begin with.

    `marks[1].mark` is of the part `marks[1]`, `artwork_state` of the record itself, the empty part.
    """
    parts: dict[str, JsonObject] = {}
    for name in form:
        if typed := form[name].strip():
            part, _, field = name.rpartition(".")
            parts.setdefault(part, {})[field] = TRUTHS.get(typed, typed) if field in truths else typed
    return parts


def lines_sent(parts: Mapping[str, JsonObject], name: str) -> list[JsonObject]:
    """Return the lines of a list that are filled in, in their order."""
    places = (part.removeprefix(f"{name}[").removesuffix("]") for part in parts if part.startswith(f"{name}["))
    return [parts[f"{name}[{place}]"] for place in sorted(filter(str.isdecimal, places), key=int)]


def shown_parts(record: Mapping[str, Any], begin: str = "") -> Iterator[tuple[str, str]]:
    """Yield name and text of each input that shows a record, as `parts_sent` reads them."""
    for name, value in record.items():
        match value:
            case Mapping():
                yield from shown_parts(value, f"{begin}{name}.")
            case [*lines]:
                for place, line in enumerate(lines):
                    yield from shown_parts(line, f"{begin}{name}[{place}].") if isinstance(line, Mapping) else ()
            case bool():
                yield begin + name, next(answer for answer, truth in TRUTHS.items() if truth is value)
            case _ if value is not None:
                yield begin + name, str(value)


def input_of_path(path: str, parts: Sequence[str]) -> str:
    """Return the form's name for a path of the contract.

    `components[0].weight_g` is the first part's weight; `parts` are the beginnings of the names of their inputs.
    A member of another list, such as `markets[1]`, is typed at the list's one input.
    """
    if not path.startswith("components["):
        return path.partition("[")[0]
    place, _, rest = path.removeprefix("components[").partition("]")
    return f"{parts[int(place)]}{rest.partition('[')[0]}" if int(place) < len(parts) else "components"


def path_id(request: Request, name: str = "id") -> UUID:
    """Return an id of the path. Raise `PageRefused` where it is none, as for a record that does not exist."""
    try:
        return UUID(request.path_params[name])
    except ValueError:
        raise NotThere from None


def offset_of(request: Request) -> int:
    """Return the rows to skip; 0 where the address has anything but a number."""
    try:
        return parameters.offset_of(request)
    except Refused:
        return 0


def version_of(sent: str | None) -> int | None:
    """Return the version of an item that a form names; None where it names none."""
    return int(sent) if sent and sent.isascii() and sent.isdigit() and len(sent) < 10 else None


def write_of(request: Request, session: Session, form_key: str | None = None) -> Write:
    """Return a write by the signed-in person, answered in the page's language; `form_key` as in `Write`."""
    user = ("user", str(session.user_id), session.email)
    return Write.by(request, session.company_id, *user, lang=language_of(request), form_key=form_key or None)


def read_as_person(request: Request, session: Session, ask: Callable[[Connection, Actor], T]) -> T:
    """Return what an operation answers to the signed-in person; `api.http.auth.read_as_actor` is the same for a key."""
    with service_of(request).writes.company(session.company_id) as conn:
        return ask(conn, write_of(request, session).actor)


def faults_of(refused: Refused, lang: str) -> list[tuple[str, str]]:
    """Return input and sentence of each issue for which a form was refused."""
    return [(str(issue.field or ""), said(issue.message, lang)) for issue in refused.issues]
