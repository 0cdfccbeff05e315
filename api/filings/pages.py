"""Pages on which people make a declaration: choose, see it checked, keep it, download it, correct it; what is due when.

The form is the body of POST /declarations: checking is its dry run, keeping sends the SHA-256 of what was shown.
"""

import csv
from collections.abc import Iterator, Sequence
from datetime import timedelta
from functools import partial
from typing import Final
from uuid import UUID, uuid4

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.audit.words import fact_in_words
from api.http.answers import file_answer
from api.http.errors import HttpRefusal, http_refusal
from api.http.requests import fingerprint
from api.http.service import service_of
from api.pages.concurrency import limited, run_limited
from api.pages.forms import Form, SentForm, market_code, offset_of, path_id, unread_values, write_of
from api.pages.render import language_of, link, page, redirect, said, text
from api.pages.sessions import Approver, Session, Viewer
from pipelines.filings import NEXT_DAYS, calendar, deadlines
from schemas.filings import FORMATS, RATINGS, UK_FORMAT, UNION_FORMAT, Declaration, DeclarationInput, parse_declaration
from schemas.json_values import JsonObject
from schemas.messages import word
from schemas.refusals import NotThere, Refused
from schemas.vocabularies import CONTENTS
from services.filings import filing
from services.filings.files import Questions
from warehouse import files, filings
from warehouse.figures import stored as stored_figures
from warehouse.figures.stored import periods
from warehouse.filings import PARTS
from warehouse.operate.sessions import Connection

router = APIRouter(prefix="/declarations")

PAGE_SIZE: Final = 50
_CHOICES: Final = {
    "organisation_size": ("size", ("L", "S")),
    "activity": ("activity", ("SO", "PF", "IM", "SE", "HL", "OM")),
    "household_type": ("type", ("HH", "NH")),
}
"""Fields of a UK producer with a list: the beginning of their words' keys, and the codes."""
_UK_FIELDS: Final = ("organisation_id", *_CHOICES, "subsidiary_id")
FIELDS: Final = ("market", "year", "half", "format", *_UK_FIELDS, "proposals", "ratings", "drinks", "corrects")
"""The fields of the form, which the page of a checked declaration sends again."""
MOST_LISTED: Final = 200
"""The most parts, and SKUs that may hold drinks, whose statements are changed in the table; lines state any."""
_RATING_OF, _DRINKS_OF = "rating", "drink"
"""The beginning of the fields of the tables: `rating:body:JAR` is a part's rating, `drink:CAN` a SKU's answer."""
_RATING: Final = ("sku_code", "component_type", "rating")
_DRINKS: Final = ("sku_code", "drinks_container")
_ANSWERS: Final = {"Y": True, "N": False}


@router.get("")
def get_declarations(request: Request, session: Viewer) -> Response:
    """Show the form, what is due, and what is kept; with `corrects` the form is filled in from that declaration."""
    return _list_page(request, session)


@router.get("/due")
@limited("portfolio")
def get_due(request: Request, session: Viewer) -> Response:
    """Show what is due by day: overdue, next and later; and the periods for which no source states a day."""
    service = service_of(request)
    stored, today = stored_figures.current(service.settings.data_dir, session.company_id), service.clock.today()
    with service.writes.company(session.company_id) as conn:
        listed = deadlines(conn, stored, today)
        undated = [row for row in calendar(conn, stored, today) if not row.days and row.state != "kept"]
        evidence = files.ending(conn, today - timedelta(days=NEXT_DAYS), today + timedelta(days=NEXT_DAYS))
    return page(
        request,
        "due.html",
        session=session,
        deadlines=listed,
        undated=undated,
        evidence=[(file, (file.expires_on - today).days) for file in evidence],
        types=CONTENTS[language_of(request)],
        most_days=NEXT_DAYS,
    )


@router.post("")
async def post_declaration(request: Request, session: Approver, form: SentForm) -> Response:
    """Check what the form wants and show it, or keep it where it was checked."""
    is_kept = form.get("step") == "keep"
    body = _body_of(form) | ({"sha256": form.get("sha256", "")} if is_kept else {})
    write, service = await run_in_threadpool(write_of, request, session, form.get("once")), service_of(request)
    questions = Questions()
    try:
        if unread := unread_values(body):
            raise Refused(unread)
        kept_id = await run_in_threadpool(write.made_before, fingerprint(body)) if is_kept else None
        if kept_id is not None:
            return redirect(link(request, f"/declarations/kept/{kept_id}"))
        wanted = parse_declaration(body)
        prepare = partial(filing.prepare, data_dir=service.settings.data_dir, rulesets=service.rulesets)
        prepared = await run_in_threadpool(prepare, service.writes, write.actor, wanted)
        wanted, questions = await run_limited(
            request, "portfolio", _with_statements, request, session, form, prepared, wanted
        )
        made = await run_limited(request, "portfolio", filing.make, prepared.inputs, wanted)
        if is_kept:

            def keep(conn: Connection) -> UUID:
                return filing.keep(conn, write.actor, made)

            kept_id = await run_in_threadpool(write.made_once, fingerprint(body), keep)
            return redirect(link(request, f"/declarations/kept/{kept_id}"))
    except Refused as refused:
        faults = list(_faults(http_refusal(refused), form, language_of(request)))
        if questions.parts or questions.drinks:
            return _checked_page(request, session, form, wanted, questions, faults=faults)
        first = next((issue.stored_id for issue in refused.issues if issue.stored_id), None)
        return await run_in_threadpool(_list_page, request, session, form=form, faults=faults, first=first)
    made_as = filing.declaration_of(made, None, write.actor)
    return _checked_page(
        request, session, form, wanted, questions, made=made, record=made_as, newer_writes=prepared.newer_writes
    )


def _with_statements(
    request: Request, session: Session, form: Form, prepared: filing.Prepared, wanted: DeclarationInput
) -> tuple[DeclarationInput, Questions]:
    """Return the declaration with what its producer stated before, and with the proposals where they are taken.

    What the form states comes first; a part whose choice is empty has no rating.
    """
    if wanted.uk is None:
        return wanted, Questions()
    left_open = {key for key, chosen in _ratings_in(form) if not chosen}
    with service_of(request).writes.company(session.company_id) as conn:
        wanted = filing.complete(wanted, filing.earlier_statements(conn, wanted.corrects), left_open=left_open)
        questions = filing.questions(conn, prepared.inputs, wanted)
    if form.get("proposals") == "yes":
        proposed = {(part.sku_code, part.component_type): part.rating for part in questions.parts if part.rating}
        wanted = filing.complete(wanted, (proposed, {}), left_open=left_open)
    return wanted, questions


def _checked_page(
    request: Request,
    session: Session,
    form: Form,
    wanted: DeclarationInput,
    questions: Questions,
    *,
    faults: Sequence[tuple[str, str]] = (),
    made: filing.Made | None = None,
    record: Declaration | None = None,
    newer_writes: int = 0,
) -> Response:
    """Return the page on which a person decides; without `made` it asks for what the file was refused for."""
    lang, uk = language_of(request), wanted.uk
    chosen = {(row.sku_code, row.component_type): row.rating for row in uk.ratings} if uk else {}
    return page(
        request,
        "declaration_check.html",
        session=session,
        status=400 if faults else 200,
        faults=faults,
        record=record,
        made=made,
        newer_writes=newer_writes,
        fact=partial(fact_in_words, lang=lang),
        questions=questions,
        most=MOST_LISTED,
        ratings=[(code, text(f"declarations.rating.{code}", lang)) for code in RATINGS],
        chosen=chosen,
        open=sum((part.sku_code, part.component_type) not in chosen for part in questions.parts),
        answers={row.sku_code: row.drinks_container for row in uk.drinks} if uk else {},
        once=str(uuid4()),
        sent=[(name, form[name]) for name in FIELDS if form.get(name)],
    )


@router.get("/kept/{id}")
def get_kept(request: Request, session: Viewer) -> Response:
    """Show one kept declaration. Raise `NotThere` where the company has none of this id."""
    declaration = _kept(request, session, path_id(request))
    beside = [part for part in PARTS if part == "declaration" or declaration["format"] in {"csv", UNION_FORMAT}]
    if declaration["format"] == UK_FORMAT:
        beside = ["declaration", "uncounted"]
    fact = partial(fact_in_words, lang=language_of(request))
    return page(request, "declaration.html", session=session, found=declaration, parts=beside, fact=fact)


@router.get("/kept/{id}/content")
def get_kept_content(request: Request, session: Viewer) -> Response:
    """Return the bytes as they were kept. Raise `NotThere` where there are none."""
    part = next((part for part in PARTS if part == request.query_params.get("part", "declaration")), None)
    with service_of(request).writes.company(session.company_id) as conn:
        content = filings.content(conn, path_id(request), part) if part else None
    if content is None:
        raise NotThere
    answer = file_answer(*content)
    answer.headers["X-Content-Type-Options"] = "nosniff"
    return answer


def _kept(request: Request, session: Session, declaration_id: UUID) -> Declaration:
    with service_of(request).writes.company(session.company_id) as conn:
        declaration = filings.by_id(conn, declaration_id)
    if declaration is None:
        raise NotThere
    return declaration


def _list_page(
    request: Request,
    session: Session,
    *,
    form: Form | None = None,
    faults: Sequence[tuple[str, str]] = (),
    first: str | None = None,
) -> Response:
    """Return the page; `first` is the declaration that is kept already, where the form wants an equal one."""
    service, lang, offset = service_of(request), language_of(request), offset_of(request)
    values = form or _prefilled_form(request, session)
    stored = stored_figures.current(service.settings.data_dir, session.company_id)
    placed = {(market, year) for market, year, _ in periods(stored)} if stored else set()
    markets = sorted({market for market, _ in placed})
    with service.writes.company(session.company_id) as conn:
        listed = filings.page(PAGE_SIZE, offset).read(conn)
    return page(
        request,
        "declarations.html",
        session=session,
        status=400 if faults else 200,
        faults=faults,
        first=first,
        given=values,
        markets=[(code, word("market", code, lang)) for code in markets],
        halves=[(str(half), text(f"figures.half.{half}", lang)) for half in range(3)],
        formats=[(name, text(f"declarations.format.{name}", lang)) for name in reversed(FORMATS)],
        choices={
            name: [(code, text(f"declarations.{key}.{code}", lang)) for code in codes]
            for name, (key, codes) in _CHOICES.items()
        },
        found=listed["data"],
        total=listed["pagination"]["total"],
        offset=offset,
        size=PAGE_SIZE,
    )


def _prefilled_form(request: Request, session: Session) -> Form:
    """Return the form filled in from the first declaration of the one that `corrects` names; else as the address says.

    A row of the calendar leads here with its market, year and half, one of Great Britain with the UK file.
    """
    wanted = request.query_params.get("corrects")
    if not wanted:
        query = request.query_params
        named = {name: query[name] for name in ("market", "year", "half", "format") if query.get(name)}
        return Form({"proposals": "yes", **named})
    try:
        declaration = _kept(request, session, UUID(wanted))
    except ValueError:
        raise NotThere from None
    period = {"market": declaration["market"], "year": str(declaration["year"]), "half": str(declaration["half"])}
    first = {"format": declaration["format"], "corrects": str(declaration["corrects"] or declaration["id"])}
    return Form(
        {
            "proposals": "yes",
            **period,
            **first,
            **{name: str(value) for name, value in (declaration["producer"] or {}).items()},
        }
    )


def _body_of(form: Form) -> JsonObject:
    """Return the body of POST /declarations; what is no number stays text, which the body's model refuses."""
    sent = {name: form.get(name, "").strip() for name in FIELDS}
    body: JsonObject = {"market": market_code(sent["market"]), "format": sent["format"]}
    body |= {name: _number(sent[name]) for name in ("year", "half") if sent[name]}
    if sent["corrects"]:
        body["corrects"] = sent["corrects"]
    if sent["format"] == UK_FORMAT:
        uk: JsonObject = {name: sent[name] for name in _UK_FIELDS if sent[name]}
        in_table, answers = dict(_ratings_in(form)), _by_place(form, _DRINKS_OF)
        lines = (row for row in _lines(sent["drinks"], _DRINKS) if row.get("sku_code") not in answers)
        drinks = [*lines, *({"sku_code": code, "drinks_container": said} for code, said in answers.items() if said)]
        for row in drinks:
            row["drinks_container"] = _ANSWERS.get(row.get("drinks_container", ""), row.get("drinks_container"))
        typed = _lines(sent["ratings"], _RATING)
        ratings = [row for row in typed if (row.get("sku_code"), row.get("component_type")) not in in_table]
        ratings += [dict(zip(_RATING, (*key, chosen), strict=True)) for key, chosen in in_table.items() if chosen]
        body["uk"] = uk | {"ratings": ratings, "drinks": drinks}
    return body


def _ratings_in(form: Form) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield SKU code, component type and rating of each row of the table, empty where none is chosen."""
    for name, chosen in _by_place(form, _RATING_OF).items():
        component_type, _, sku_code = name.partition(":")
        yield (sku_code, component_type), chosen


def _by_place(form: Form, table: str) -> dict[str, str]:
    """Return the fields of a table of the form by what stands behind its name."""
    return {name.partition(":")[2]: value for name, value in form.items() if name.startswith(f"{table}:")}


def _number(sent: str) -> int | str:
    return int(sent) if sent.isascii() and sent.isdigit() and len(sent) <= len("2026") else sent


def _lines(sent: str, names: Sequence[str]) -> Iterator[JsonObject]:
    """Yield each line that is not empty, its cells by the names of the columns; cells behind them by their place."""
    for cells in csv.reader(sent.splitlines(), delimiter=";"):
        if cells:
            columns = (*names, *(f"column {place}" for place in range(len(names) + 1, len(cells) + 1)))
            yield {name: cell.strip() for name, cell in zip(columns, cells, strict=False)}


def _faults(refused: HttpRefusal, form: Form, lang: str) -> Iterator[tuple[str, str]]:
    """Yield each fault at its field of the form."""
    for issue in refused.details or ():
        field = str(issue.get("field") or "").removeprefix("uk.").partition("[")[0]
        sentence = said(issue["message"], lang) if "message" in issue else ""
        if "id" in issue:
            field, sentence = "", text("declarations.already", lang)
        if field in ("market", "year") and not form.get(field, "").strip():
            sentence = text(f"declarations.choose.{field}", lang)
        elif field in _UK_FIELDS or field in ("ratings", "drinks"):
            sentence = f"{text(f'declarations.{field}', lang)}: {sentence}"
        yield field if field in FIELDS else "organisation_id" if field == "uk" else "", sentence
