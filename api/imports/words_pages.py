"""The page of what imports remember: the company's own words, added, changed and removed here, and kept mappings.

A form asks for the value as the edit form does, so the field is chosen first. It writes what `PUT /words` writes.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import Final
from uuid import UUID

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from api.http.service import service_of
from api.pages.forms import NONE, Form, Input, SentForm, input_of, offset_of, texts_of, value_of, write_of
from api.pages.render import language_of, link, name_of_field, page, redirect, said, text
from api.pages.sessions import Editor, Session, Viewer
from pipelines.reading.columns import field_column
from pipelines.reading.grid import Column, Table, fields_of
from schemas.imports.inputs import OwnWordsInput
from schemas.imports.types import KeptMapping
from schemas.refusals import NotThere, Refused
from schemas.skus.inputs import parse_body
from schemas.words import fold
from services.imports.words import change_words, remove_mapping
from warehouse.imports import words
from warehouse.operate.sessions import Connection

router = APIRouter(prefix="/words")

PAGE_SIZE: Final = 100
_MOST_MAPPINGS: Final = 100
_SEPARATOR: Final = ": "


@router.get("")
def get_words(request: Request, session: Viewer) -> Response:
    """List the company's own words; with `field` there is a form for one of that field, with `text` for this one."""
    return _list_page(request, session)


def _list_page(
    request: Request, session: Session, *, sent: Form | None = None, faults: Sequence[tuple[str, str]] = ()
) -> Response:
    """Return the list, with the form that was `sent` and its `faults`, or with the one that the address asks for."""
    offset, lang = offset_of(request), language_of(request)
    with service_of(request).writes.company(session.company_id) as conn:
        every, kept = words.load(conn), words.page_of_mappings(_MOST_MAPPINGS).read(conn)["data"]
    listed = [(field, word, value) for field, texts in every.items() for word, value in texts.items()]
    form = sent or _form_of_word(
        request.query_params.get("field", ""), request.query_params.get("text", ""), every, lang
    )
    field = form.get("field", "")
    return page(
        request,
        "words.html",
        session=session,
        faults=faults,
        given=form,
        fields=sorted(((name, _name(name, lang)) for name in _columns()), key=lambda pair: pair[1].casefold()),
        asked=_input(field, lang) if field in _columns() else None,
        field_name=_name(field, lang),
        words=[_word_row(*row, lang) for row in listed[offset : offset + PAGE_SIZE]],
        offset=offset,
        size=PAGE_SIZE,
        total=len(listed),
        kept=[(mapping, list(_mapped(mapping, lang))) for mapping in kept],
    )


def _form_of_word(field: str, word: str, every: Mapping[str, Mapping[str, object]], lang: str) -> Form:
    """Return the form of a field's word; it names the stored one of that text, whose place the new one takes."""
    by_text = {fold(own_text): (own_text, value) for own_text, value in every.get(field, {}).items()}
    if not word or fold(word) not in by_text:
        return Form([("field", field), ("text", word)])
    stored, value = by_text[fold(word)]
    filled = [("empty", "yes")] if value is None else [("value", part) for part in texts_of(value, lang)]
    return Form([("field", field), ("text", stored), ("word", _key(field, stored)), *filled])


def _word_row(field: str, word: str, value: object, lang: str) -> dict[str, object]:
    """Return a word as it is listed; `name` is its field, empty where the page has no form for it."""
    choices = dict(_input(field, lang).choices) if field in _columns() else {}
    means = None if value is None else ", ".join(choices.get(part, part) for part in texts_of(value, lang))
    name = field if field in _columns() else ""
    return {"key": _key(field, word), "name": name, "field": _name(field, lang), "text": word, "value": means}


def _key(field: str, word: str) -> str:
    return f"{field}{_SEPARATOR}{word}"


def _mapped(kept: KeptMapping, lang: str) -> Iterator[tuple[str, str | None]]:
    """Yield each field that a mapping names with its headers in the file; None where no column is read as it."""
    for part in (kept["mapping"], kept["mapping"].get("components")):
        columns = part.get("columns") if isinstance(part, Mapping) else None
        for field, headers in columns.items() if isinstance(columns, Mapping) else ():
            names = headers if isinstance(headers, list) else [headers]
            yield _name(field, lang), None if headers is None else " / ".join(map(str, names))


@cache
def _columns() -> Mapping[str, Column]:
    """Return the fields that a word may be of, as a file names them; a reference is an id, of which no word is made."""
    tables: tuple[Table, ...] = ("sku", "component")
    columns = ((name, field_column(name, table)) for table in reversed(tables) for name in fields_of(table))
    return {
        name: column
        for name, column in columns
        if column is not None and not column.field.references and not column.field.deprecated
    }


def _name(field: str, lang: str) -> str:
    column = _columns().get(field)
    return name_of_field("sku" if column is None else column.table, field, lang)


def _input(field: str, lang: str) -> Input:
    """Return the input of what a word of the field means."""
    column = _columns()[field]
    field_input = input_of("value", column.table, column.field, lang, {})
    choices = tuple(choice for choice in field_input.choices if choice[0] != NONE)
    return replace(field_input, label=text("imports.values.means", lang), choices=choices)


@router.post("")
def post_words(request: Request, session: Editor, form: SentForm) -> Response:
    """Store the word of the form, and remove those that it names; show it again where it is refused."""
    lang, write = language_of(request), write_of(request, session)
    try:
        chosen = [UUID(mapping_id) for mapping_id in form.getlist("mapping")]
    except ValueError:
        raise NotThere from None
    if "field" in form and "empty" not in form and not form.get("value", "").strip():
        return _list_page(request, session, sent=form, faults=[("value", text("words.value.missing", lang))])

    def change(conn: Connection) -> None:
        change_words(conn, write.actor, _input_of(form, lang))
        for mapping_id in chosen:
            with suppress(NotThere):  # gone already
                remove_mapping(conn, write.actor, mapping_id)

    try:
        write.do(change)
    except Refused as refused:
        inputs = [str(issue.field or "").rpartition(".")[2].replace("words", "") for issue in refused.issues]
        faults = [(name, said(issue.message, lang)) for name, issue in zip(inputs, refused.issues, strict=True)]
        return _list_page(request, session, sent=form, faults=faults)
    return redirect(link(request, "/words"))


def _input_of(form: Form, lang: str) -> OwnWordsInput:
    """Return what the form asks for. Raise `Refused`."""
    chosen = [key.partition(_SEPARATOR) for key in form.getlist("word") if _SEPARATOR in key]
    gone = [{"field": field, "text": word} for field, _, word in chosen]
    if "field" not in form:
        return parse_body(OwnWordsInput, {"remove": gone})
    column = _columns().get(form["field"])
    value = None if "empty" in form else value_of(form.getlist("value"), column.field.kind if column else "text", lang)
    word = {"field": form["field"], "text": form.get("text", ""), "value": value}
    return parse_body(OwnWordsInput, {"words": [word], "remove": gone})
