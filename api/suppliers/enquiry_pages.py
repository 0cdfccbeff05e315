"""The page of an enquiry for its supplier: one table for all items, and the workbook with the same cells. No account.

A row is asked once for all parts that are alike; the names of its inputs begin with its number, `3.weight_g`. A
workbook is read into such a form, so that page and workbook meet the same checks: `read_rows`. What is saved can be
continued by the same link, in any language.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import timedelta
from decimal import Decimal
from functools import cache, partial
from typing import Final
from unicodedata import normalize

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.http.errors import REFUSALS
from api.http.requests import FileForm, form_with_file
from api.http.service import read_apart, service_of
from api.pages.forms import NONE, TRUTHS, Form, faults_with, offset_of, texts_of
from api.pages.refusals import PageRefused
from api.pages.render import language_of, page, redirect, said, text
from api.pages.render import link as address
from api.suppliers.routes import write_of_supplier
from api.suppliers.supplier_pages import (
    CountedEnquiry,
    EnquiryOfLink,
    SupplierForm,
    admit_bytes,
    design_questions,
    file_faults,
    first_questions,
    parse_answer,
    substance_questions,
    take_document,
    unavailable,
)
from compliance.ruleset import RuleSet
from pipelines.readers.requests import Cells, cells_request
from pipelines.reading.values import EMPTY_LIST, LIST_SEPARATOR, code_of_words
from pipelines.reading.words import is_uncertain
from pipelines.suppliers import (
    WORKBOOK_NAME,
    WORKBOOK_TYPE,
    item_token,
    part_title,
    value_at,
    workbook,
    workbook_headers,
)
from schemas import normalise
from schemas.fields import Field
from schemas.issues import Issue
from schemas.json_values import JsonObject
from schemas.messages import (
    Message,
    as_typed,
    code_of_supplier_word,
    contents,
    header,
    plain,
    supplier_languages,
)
from schemas.refusals import NotThere, Refused
from schemas.suppliers import CELLS, answer_of, parse_submission
from schemas.texts import as_cell
from schemas.vocabularies import TAKEN
from services import suppliers as operations
from services.review.entries import attach_to_rows
from warehouse import enquiries, review, suppliers
from warehouse.enquiries import Row, Saved
from warehouse.files import File
from warehouse.operate.sessions import Connection
from warehouse.suppliers import Linked

router = APIRouter(prefix="/supplier-enquiries/{token}")

ROWS: Final = 20
"""Rows of the table on a page."""
_ITEMS: Final = 200
"""Items whose own forms a page names."""
_MOST_FAULTS: Final = 100
"""Faults that a page names; a workbook may have thousands."""
_CONFIRMED: Final = "confirmed"
_ARTICLE: Final = "article"
_LONGEST: Final = 100
"""Longest article number of a supplier, in characters."""
_AFTER_LATIN: Final = "\u2e80"
"""The first character of the scripts of East Asia."""
_SHOWN: Final = re.compile(r"(?P<number>[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)(?P<words>.*)", re.DOTALL)
"""A number cell as its format shows it: `0.0215 kg`, `30 %`."""
Fault = tuple[str, str]
"""The name of an input, and a sentence."""


@router.get("")
def get_enquiry(request: Request, link: EnquiryOfLink) -> Response:
    """Show the table; a token that is unknown, withdrawn or expired gets the same refusal."""
    return _enquiry_page(request, link)


@router.post("")
def post_rows(request: Request, link: CountedEnquiry, form: SupplierForm) -> Response:
    """Save the rows of the page, and with `send` hand over every item whose rows are all confirmed.

    Rows with a fault are shown again as they were typed; the others are saved.
    """
    lang = language_of(request)
    numbers = [number for typed in form.getlist("row") if (number := _row_number(typed)) is not None][:ROWS]
    saved, faults = read_rows(form, numbers, lang, _rules(request, link))
    beside: JsonObject = {name: form[name] for name in ("contact", "comment") if form.get(name, "").strip()}
    sending = form.get("do") == "send"
    if sending and form.get("consent") != "yes":
        faults.append(("consent", text("supplier.no_consent", lang)))
    try:
        beside = dict(parse_submission({"consent": True, "response": beside}))
    except Refused as invalid:
        faults += [((issue.field or "").removeprefix("response."), issue.message) for issue in invalid.issues]
    write = write_of_supplier(request, link)

    def keep(conn: Connection) -> int | None:
        enquiries.save_rows(conn, link.id, saved, at=write.actor.now)
        if form.get("do") == "confirm" and not faults:
            operations.confirm_rows(conn, write.actor, link.id)
        if not sending or faults:
            return None
        return operations.answer_rows(conn, write.actor, link.id, **beside)

    try:
        sent = write.do(keep)
    except NotThere:
        raise PageRefused(404, "supplier.gone") from None
    if faults:
        return _enquiry_page(request, link, form=form, faults=faults)
    saved_only = 1 if sent is None else None
    return redirect(_path(request, offset=offset_of(request) or None, saved=saved_only, sent=sent))


@router.get("/workbook")
def get_workbook(request: Request, link: EnquiryOfLink) -> Response:
    """Return the table as a workbook, with what is filled in so far."""
    with service_of(request).writes.company(link.company_id) as conn:
        rows = enquiries.rows_of(conn, link.id)
    headers = {"Content-Disposition": f'attachment; filename="{WORKBOOK_NAME}"', "Cache-Control": "no-store"}
    return Response(workbook(rows, language_of(request)), media_type=WORKBOOK_TYPE, headers=headers)


@router.post("/workbook")
async def post_workbook(request: Request, link: CountedEnquiry) -> Response:
    """Save the rows of a workbook as if they had been typed; rows with a fault are named, and not saved."""
    lang = language_of(request)
    try:
        _, upload = await form_with_file(request, ("file",))
        if upload is None or not upload.data:
            raise Refused([Issue("required", Message("Choose the workbook first."), "file")])
        cells = await read_apart(
            request, link.company_id, "supplier", cells_request(upload.data, text_titles=_text_titles()), field="file"
        )
        form, numbers, unread = form_of_workbook(cells, lang)
    except REFUSALS as fault:
        issues = [issue.message for issue in fault.issues] if isinstance(fault, Refused) else [str(fault)]
        faults = [("file", sentence) for sentence in issues]
        return await run_in_threadpool(_enquiry_page, request, link, faults=faults)
    return await run_in_threadpool(_save_workbook, request, link, form, numbers, unread)


@router.post("/files")
async def post_certificate(request: Request, link: CountedEnquiry) -> Response:
    """Attach a document to the parts of the chosen rows, or of all; it is recorded with each item that is accepted."""
    form = FileForm(request, answering=True)
    if fault := await take_document(request, link.company_id, form, partial(_attach, request, link, form)):
        faults = [("certificate", sentence) for _, sentence in file_faults(fault, form, language_of(request))]
        given = Form([*form.typed, *form.beside])
        return unavailable(await run_in_threadpool(_enquiry_page, request, link, faults=faults, given=given), fault)
    return redirect(_path(request, offset=offset_of(request) or None) + "#certificates")


def _attach(request: Request, link: Linked, form: FileForm, file: File) -> bool:
    write = write_of_supplier(request, link)
    chosen = {value for name, value in form.beside if name == "of" and value.isascii() and value.isdecimal()}

    def attach(conn: Connection) -> bool:
        operations.load_enquiry(conn, link.id, write.actor.now, locking=True)
        every = range(1, enquiries.progress_of(conn, link.id).rows + 1)
        numbers = [number for number in every if not chosen or str(number) in chosen]
        admit_bytes(write, conn, file)
        return attach_to_rows(conn, write.actor, file, enquiry_id=link.id, row_numbers=numbers)

    return write.do(attach)


def _save_workbook(
    request: Request, link: Linked, form: Form, numbers: Sequence[int], unread: Sequence[Fault]
) -> Response:
    """Save the rows that have no fault; `unread` are the faults of cells that belong to no row's input."""
    saved, faults = read_rows(form, numbers, language_of(request), _rules(request, link))
    write = write_of_supplier(request, link)

    def save(conn: Connection) -> int:
        enquiries.save_rows(conn, link.id, saved, at=write.actor.now)
        return enquiries.progress_of(conn, link.id).rows

    rows = write.do(save)
    strange = [number for number in numbers if not 0 < number <= rows]
    faults = [
        *unread,
        *_changed_parts(request, link, form),
        *[("file", Message("The table has no row {number}: that line was not read.", number=str(n))) for n in strange],
        *faults,
    ]
    if faults:
        return _enquiry_page(request, link, faults=faults)
    return redirect(_path(request, saved=1))


_PARTS: Final = ("part", "parts")
"""Columns that tell which parts a row is about. A supplier may write there, and changes nothing by it."""


def _changed_parts(request: Request, link: Linked, form: Form) -> list[Fault]:
    """Return the fault of a workbook that says something else of its parts than its rows are about."""
    with service_of(request).writes.company(link.company_id) as conn:
        rows = enquiries.rows_of(conn, link.id)
    languages = (language_of(request), *supplier_languages())
    changed = [
        (row.number, typed)
        for row in rows
        for name in _PARTS
        if (typed := form.get(f"{row.number}.{name}"))
        and not any(as_typed(typed) == as_typed(told) for told in _told(row, name, languages))
    ]
    return _not_read(f"{number}: {normalise.quote(typed)}" for number, typed in changed[:_MOST_FAULTS])


def _told(row: Row, name: str, languages: Sequence[str]) -> Iterator[str]:
    """Yield what the workbook tells in a column of a row's parts: in each language, as it may come in any."""
    return iter([str(row.parts)]) if name == "parts" else (part_title(row.part, lang) for lang in languages)


def _not_read(places: Iterable[str]) -> list[Fault]:
    """Return the fault of what stands beside the cells that the table asks for; none where nothing does."""
    what = ", ".join(places)
    sentence = Message(
        "This is no part of the table and was not read: {what}. Write in the comment what it says.", what=what
    )
    return [("file", sentence)] if what else []


def _rules(request: Request, link: Linked) -> RuleSet:
    with service_of(request).writes.company(link.company_id) as conn:
        return service_of(request).rulesets.active(conn)


def read_rows(form: Form, numbers: Sequence[int], lang: str, rules: RuleSet) -> tuple[list[Saved], list[Fault]]:
    """Return what is said of each row that has no fault, and the faults of the others, each at its cell."""
    saved: list[Saved] = []
    faults: list[Fault] = []
    pairs: dict[str, list[tuple[str, str]]] = {}
    for name, typed in form.multi_items():  # a form looks through all that it has for each name
        pairs.setdefault(name.partition(".")[0], []).append((name, typed))
    for number in numbers:
        row = Form(pairs.get(str(number), []))
        body = {"consent": True, "response": {"components": [parse_answer(row, number, lang)]}}
        try:
            if unread := faults_with(body, parse_submission):
                raise Refused(unread)
            answer = (parse_submission(body)["components"] or [])[0]
            if against := operations.contradictions(answer, rules):
                raise Refused(against)
            article = normalise.text(row.get(f"{number}.{_ARTICLE}", ""), min_length=None, max_length=_LONGEST)
            confirmed = row.get(f"{number}.{_CONFIRMED}", "")
            if confirmed not in ("", "yes"):
                sentence = Message("{word} is neither yes nor no.", word=normalise.quote(confirmed))
                raise Refused([Issue("invalid_format", sentence, _CONFIRMED)])
        except normalise.Unfit as unfit:
            faults.append((f"{number}.{_ARTICLE}", unfit.message))
        except Refused as invalid:
            for issue in invalid.issues:
                path = (issue.field or "").removeprefix("response.components[0].").partition("[")[0]
                faults.append((f"{number}.{path}", issue.message))
        else:
            saved.append(Saved(number, answer, confirmed == "yes", article.strip() or None))
    return saved, faults


def form_of_rows(rows: Sequence[Row], lang: str) -> Form:
    """Return the form of the rows: what was saved, else what is known, for the supplier to confirm."""
    pairs: list[tuple[str, str]] = []
    for row in rows:
        answer = row.answer if row.answer is not None else answer_of(row.part)
        for cell in CELLS:
            texts = texts_of(value_at(answer, cell.path), lang)
            pairs += [(f"{row.number}.{cell.path}", " ".join(line.splitlines())) for line in texts]
        if row.article:
            pairs.append((f"{row.number}.{_ARTICLE}", row.article))
        if row.is_confirmed:
            pairs.append((f"{row.number}.{_CONFIRMED}", "yes"))
    return Form(pairs)


@cache
def _titles() -> Mapping[str, str]:
    """Return what each column is by its title in any language."""
    return {as_typed(title): name for lang in supplier_languages() for title, name in workbook_headers(lang).items()}


@cache
def _text_titles() -> tuple[str, ...]:
    """Return the titles of columns of texts: a number there is what its cell shows, such as `00123`."""
    texts = {cell.path for cell in CELLS if cell.field.kind == "text"} | {_ARTICLE}
    return tuple(title for title, name in _titles().items() if name in texts)


def form_of_workbook(cells: Cells, lang: str) -> tuple[Form, list[int], list[Fault]]:
    """Return the form that says what a workbook says, the numbers of its rows, and a fault for what says nothing.

    Columns are known by their title and rows by their number, in whatever order they stand. Raise `Refused`.
    """
    names = [_titles().get(as_typed(title or "")) for title in (cells.texts[0] if cells.texts else [])]
    if "number" not in names:
        sentence = Message("This is not the workbook of this page. Download it here, fill it in, and upload it again.")
        raise Refused([Issue("invalid_format", sentence, "file")])
    for title, name in zip(cells.texts[0], names, strict=True):
        if name and names.count(name) > 1:
            sentence = Message(
                "Two columns of the workbook are {title}. Keep one of them, and upload it again.",
                title=normalise.quote(title or ""),
            )
            raise Refused([Issue("ambiguous_column", sentence, "file")])
    fields = {cell.path: cell.field for cell in CELLS}
    pairs: list[tuple[str, str]] = []
    numbers: dict[int, None] = {}
    for texts, are_numbers in zip(cells.texts[1:], cells.numbers[1:], strict=True):
        line = {
            name: (filled, is_number)
            for name, filled, is_number in zip(names, texts, are_numbers, strict=True)
            if name and filled
        }
        typed, _ = line.get("number", ("", False))
        number = _row_number(typed.removesuffix(".0"))
        if number is None or number in numbers:
            sentence = Message("Each line of the workbook has the number of its row, once: {cell}.", cell=typed or "–")
            raise Refused([Issue("duplicate_row", sentence, "file")])
        numbers[number] = None
        if _ARTICLE in line:
            pairs.append((f"{number}.{_ARTICLE}", _plain_text(line[_ARTICLE][0])))
        pairs += [(f"{number}.{name}", line[name][0].removesuffix(".0")) for name in _PARTS if name in line]
        if _CONFIRMED in line:
            filled, _ = line[_CONFIRMED]
            answer = {"true": "yes", "false": ""}.get(_code(filled, "truth") or "", filled)
            pairs.append((f"{number}.{_CONFIRMED}", answer))
        for path in fields.keys() & line.keys():
            filled, is_number = line[path]
            pairs += [(f"{number}.{path}", value) for value in _typed(filled, fields[path], lang, is_number=is_number)]
    filled_columns = (any(column) for column in zip(*cells.texts[1:], strict=True))
    unknown = [
        title or "–"
        for title, name, is_filled in zip(cells.texts[0], names, filled_columns, strict=False)
        if is_filled and name is None
    ]
    faults = _not_read(map(normalise.quote, cells.further))
    if unknown:
        sentence = Message(
            "Columns that this table does not have were not read: {titles}. Write what they say in the comment.",
            titles=", ".join(map(normalise.quote, unknown)),
        )
        faults.append(("file", sentence))
    return Form(pairs), list(numbers), faults


def _row_number(typed: str) -> int | None:
    return int(typed) if typed.isascii() and typed.isdecimal() and len(typed) < 8 else None


def _code(filled: str, vocabulary: str) -> str | None:
    """Return the code of a word in any language of suppliers' pages.

    The tables of imports are of Latin words and read `不符合EuPIA` as `EuPIA`: words of other scripts are none of them.
    """
    if is_uncertain(filled):
        return None
    if code := code_of_supplier_word(filled, vocabulary):
        return code
    return code_of_words(filled, vocabulary) if max(filled, default="") < _AFTER_LATIN else None


def _typed(filled: str, field: Field, lang: str, *, is_number: bool) -> list[str]:
    """Return what a person would have typed or chosen for a cell; a word that is none stays, and is refused."""
    if field.kind == "truth":
        code = _code(filled, "truth")
        return [next((answer for answer, truth in TRUTHS.items() if code == str(truth).lower()), filled)]
    if field.kind == "codes":
        parts = [part.strip() for part in LIST_SEPARATOR.split(normalize("NFKC", filled).replace("、", ";"))]
        codes = [_code(part, field.vocabulary or "") or part for part in parts]
        return [NONE] if filled == EMPTY_LIST else codes
    if field.vocabulary:
        return [_code(filled, field.vocabulary) or filled]
    if is_number and (shown := _SHOWN.match(filled)):
        return [plain(Decimal(shown["number"]), lang) + shown["words"]]
    return [_plain_text(filled)]


def _plain_text(filled: str) -> str:
    """Return a text without the mark that keeps a program from reading it as a formula."""
    return filled[1:] if filled.startswith("'") and as_cell(filled[1:]) == filled else filled


def _enquiry_page(
    request: Request,
    link: Linked,
    *,
    form: Form | None = None,
    given: Form | None = None,
    faults: Sequence[Fault] = (),
) -> Response:
    lang, offset, now = language_of(request), offset_of(request), service_of(request).clock.now()
    with service_of(request).writes.company(link.company_id) as conn:
        enquiry = suppliers.find_enquiry(conn, link.id, now, limit=_ITEMS)
        if enquiry is None:
            raise PageRefused(404, "supplier.gone")
        sender = suppliers.sender_of(conn, link.id)
        enquiries.open_for_supplier(conn, link.id, at=now)
        progress = enquiries.progress_of(conn, link.id)
        rows = enquiries.rows_of(conn, link.id, limit=ROWS, offset=offset)
        attached = review.of_enquiry(conn, link.id)
    token, shown = request.path_params["token"], [_shown(row, lang) for row in rows]
    labels, types = {cell.path: header("component", cell.name, lang) for cell in CELLS}, contents(lang)
    labels[_ARTICLE] = text("enquiry.article", lang)
    return page(
        request,
        "supplier_enquiry.html",
        enquiry=enquiry,
        company=sender.company_name,
        rows=shown,
        progress=progress,
        offset=offset,
        size=ROWS,
        given=form or Form([*form_of_rows(rows, lang).multi_items(), *(given or Form()).multi_items()]),
        attached=[
            (file, types[file.type], f"1–{numbers[-1]}" if len(numbers) == progress.rows else numbers)
            for file, numbers in attached
        ],
        types=types,
        taken=TAKEN,
        files_path=_path(request, "/files", offset=offset or None),
        faults=[
            (_on_page(name, rows), _sentence(name, said(fault, lang), labels, lang))
            for name, fault in faults[:_MOST_FAULTS]
        ],
        own_path=_path(request, offset=offset or None),
        workbook_path=_path(request, "/workbook"),
        is_saved=request.query_params.get("saved") == "1",
        sent=request.query_params.get("sent", ""),
        listed=[
            (item, None if item["state"] in ("accepted", "closed", "ended") else item_token(token, item["id"]))
            for item in enquiry["items"]
        ],
        last_day=(enquiry["expires_at"] - timedelta(days=1)).date(),
        overdue=enquiry["due_on"] is not None and enquiry["due_on"] < now.date(),
    )


def _shown(row: Row, lang: str) -> JsonObject:
    """Return a row with its questions."""
    return {
        **asdict(row),
        "title": part_title(row.part, lang),
        "first": first_questions(row.number, lang),
        "declarations": substance_questions(row.number, lang),
        "design": design_questions(row.number, lang),
    }


def _on_page(name: str, rows: Sequence[Row]) -> str:
    """Return the name of a fault's input; empty where it is on another page of the table."""
    number, is_of_row, _ = name.partition(".")
    return name if not is_of_row or number in {str(row.number) for row in rows} else ""


def _sentence(name: str, sentence: str, labels: Mapping[str, str], lang: str) -> str:
    number, is_of_row, path = name.partition(".")
    return (
        text("enquiry.fault", lang, row=number, field=labels.get(path, path), why=sentence) if is_of_row else sentence
    )


def _path(request: Request, more: str = "", **parameters: object) -> str:
    """Return the address of one of these pages in the language of this one."""
    return address(request, f"/supplier-enquiries/{request.path_params['token']}{more}", **parameters)
