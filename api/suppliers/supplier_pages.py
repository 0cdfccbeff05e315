"""Supplier pages: the form for the components asked about, its documents, and thanks. No account, no cookie.

The token of the path is the whole authentication, so that a form needs no token of its own. `api.suppliers.answers`
handles the answer; documents are handled as technical files and wait with the answer.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from functools import partial
from http import HTTPStatus
from typing import Final, Literal
from uuid import UUID

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from uuid_utils import uuid7

from api.http.errors import REFUSALS, RateLimited, http_refusal
from api.http.requests import FileForm, judge_file
from api.http.service import service_of
from api.pages import forms
from api.pages.forms import faults_with
from api.pages.refusals import PageRefused
from api.pages.render import language_of, page, redirect, said, text
from api.suppliers import form as form_suppliers
from api.suppliers.answers import admit_supplier, file_answer, write_of_supplier
from compliance.ruleset import RuleSet
from pipelines.writing import write as writing
from schemas.figures import Questions
from schemas.files import name_as
from schemas.issues import Issue
from schemas.json_values import JsonMapping, JsonObject
from schemas.messages import Message, word
from schemas.refusals import NotThere, Refused
from schemas.skus.types import Component
from schemas.suppliers import parse_submission
from schemas.vocabularies import CONTENTS, TAKEN, MediaType
from services import suppliers as operations
from services.files import key_of
from services.review.entries import attach
from services.run import run
from warehouse import review, suppliers
from warehouse.figures import overview
from warehouse.files import File
from warehouse.operate.objects import AGAIN_SECONDS, AWAY
from warehouse.operate.sessions import Connection
from warehouse.suppliers import Linked

router = APIRouter(prefix="/supplier-data")

_STORAGE_FULL: Final = Message(
    "The company that asks you cannot store more documents now. Tell it, and send your answer without this one."
)
"""The sentence for a full plan: a supplier does not learn how much the company stores."""
_SLOWEST_SECONDS: Final = 1800.0
"""Longest time for a document, as for technical files (`api.files.routes`)."""


@router.get("/{token}")
async def get_form(request: Request) -> Response:
    """Show the form, with the documents attached so far."""
    return await run_in_threadpool(_form_page, request, await _find(request, "request"))


@router.post("/{token}")
async def post_form(request: Request) -> Response:
    """Send the answer; where it is invalid, show the filled-in form with its faults."""
    link = await _admit(request)
    form = await forms.read_unchecked_form(request)
    return await run_in_threadpool(_submit, request, link, form)


@router.get("/{token}/thanks")
async def get_thanks(request: Request) -> Response:
    """Show what happens next."""
    await _find(request, "request")
    return page(request, "supplier_thanks.html", form_path=_path(request))


@router.post("/{token}/files")
async def post_document(request: Request) -> Response:
    """Attach one document and check its bytes; it is sent with the next answer, whose typed fields stay."""
    link = await _admit(request)
    file_id, form = UUID(str(uuid7())), FileForm(request, answering=True)
    objects, object_key = service_of(request).objects, key_of(link.company_id, file_id)
    try:
        async with asyncio.timeout(_SLOWEST_SECONDS):
            await objects.put_stream(object_key, form.file())
        kind = await judge_file(request, link.company_id, "supplier", object_key, form)
        if not await run_in_threadpool(_attach, request, link, file_id, form, kind=kind):
            await run_in_threadpool(objects.remove, object_key)
    except (*REFUSALS, TimeoutError, ConnectionError) as fault:
        await run_in_threadpool(objects.remove, object_key)
        faults = [("file", sentence) for sentence in _file_faults(fault, form, language_of(request))]
        answer = await run_in_threadpool(_form_page, request, link, form=_typed_fields(form), faults=faults)
        if isinstance(fault, ConnectionError):
            answer.status_code, answer.headers["Retry-After"] = HTTPStatus.SERVICE_UNAVAILABLE, str(AGAIN_SECONDS)
        return answer
    if any(value.strip() for _, value in form.beside):
        return await run_in_threadpool(_form_page, request, link, form=_typed_fields(form))
    return redirect(f"{_path(request)}#documents")


def _typed_fields(form: FileForm) -> forms.Form:
    return forms.Form(form.beside)


def _file_faults(fault: Exception, form: FileForm, lang: str) -> list[str]:
    if isinstance(fault, ConnectionError):
        return [AWAY]
    if not form.filename and not form.size_bytes:
        return [text("supplier.no_file", lang)]
    return [issue.message for issue in fault.issues] if isinstance(fault, Refused) else [str(fault)]


def _attach(request: Request, link: Linked, file_id: UUID, form: FileForm, *, kind: MediaType) -> bool:
    """Record an arrived document with the request. Raise `Refused`.

    Return False where the same document is already attached, as when a page that attached it is reloaded.
    """
    write = write_of_supplier(request, link)

    def work(conn: Connection) -> bool:
        operations.open_request(conn, link.id)
        name = name_as(form.filename, kind)
        same = (form.sha256, name, form.fields["type"])
        if same in {(file.sha256, file.filename, file.type) for file in review.of_request(conn, link.id)}:
            return False
        file = File(file_id, name, kind.media_type, form.size_bytes, form.sha256, **form.fields)
        objects = write.service.objects
        writing.admit(conn, objects, link.company_id, new_bytes=file.size_bytes, now=write.actor.now)
        attach(conn, write.actor, file, request_id=link.id)
        return True

    try:
        return run(write.service.writes, write.actor, work, bool)
    except writing.StorageFull as full:
        raise Refused([Issue(full.code, _STORAGE_FULL, "file")]) from None


def _submit(request: Request, link: Linked, form: forms.Form) -> Response:
    write = write_of_supplier(request, link)
    with write.service.writes.company(link.company_id) as conn:
        supplier_request = suppliers.find_request(conn, link.id)
        lines = operations.requested_lines(conn, supplier_request) if supplier_request else []
    components = [line["id"] for line in lines]
    try:
        body = form_suppliers.body_of_form(form, components, language_of(request))
        if unread := faults_with(body, parse_submission):
            raise Refused(unread)
        filing = partial(file_answer, write, link, parse_submission(body))
        return run(write.service.writes, write.actor, filing, lambda _: redirect(_path(request, "/thanks")))
    except Refused as invalid:
        issues: Sequence[Mapping[str, object]] = http_refusal(invalid).details or ()
    except NotThere:
        raise PageRefused(404, "supplier.gone") from None
    places = form_suppliers.answered_places(form, components, language_of(request))
    faults = [
        (form_suppliers.input_of_path(str(issue["field"] or ""), places), str(issue["message"]))
        for issue in issues
        if "message" in issue  # the last of very many only counts the others
    ]
    if form.get("consent") != "yes":  # the sentence for programs means nothing to a person
        no_consent = ("consent", text("supplier.no_consent", language_of(request)))
        faults = [*(fault for fault in faults if fault[0] != "consent"), no_consent]
    return _form_page(request, link, form=form, faults=faults)


def _form_page(
    request: Request, link: Linked, *, form: forms.Form | None = None, faults: list[tuple[str, str]] | None = None
) -> Response:
    lang = language_of(request)
    with service_of(request).writes.company(link.company_id) as conn:
        supplier_request = suppliers.find_request(conn, link.id)
        if supplier_request is None:
            raise PageRefused(404, "supplier.gone")
        lines = operations.requested_lines(conn, supplier_request)
        attached = review.of_request(conn, link.id)
        last_answer = review.answer_to(conn, link.id)
        offer = None if last_answer else operations.offer_of(conn, supplier_request)
        rulesets = service_of(request).rulesets
        rules = rulesets.active(conn)
        [of_sku] = overview.questions(conn, [supplier_request.sku_code], rulesets, lang).values()
    if form is None:
        payload: JsonMapping = last_answer.payload if last_answer else {}
        if offer and request.query_params.get("fill") == "1":
            payload, offer = offer.response, None
        given = form_suppliers.form_of_answer(payload, [line["id"] for line in lines], lang)
    else:
        given, offer = form, None
    is_rejected = last_answer and last_answer.state == "rejected" and supplier_request.state == "open"
    parts = _parts(lines, of_sku, rules, lang, given=given, faulty={name for name, _ in faults or ()})
    labels = _input_labels(lines, lang)
    return page(
        request,
        "supplier_form.html",
        status=400 if faults else 200,
        supplier_request=supplier_request,
        parts=parts,
        offer=offer,
        attached=attached,
        given=given,
        rejected=last_answer if is_rejected else None,
        faults=[
            (name, f"{labels[name]}: {said(sentence, lang)}" if name in labels else said(sentence, lang))
            for name, sentence in faults or ()
        ],
        types=CONTENTS[lang],
        taken=TAKEN,
        form_path=_path(request),
        files_path=_path(request, "/files"),
    )


def _parts(
    lines: Sequence[Component],
    of_sku: Questions,
    rules: RuleSet,
    lang: str,
    *,
    given: forms.Form,
    faulty: Collection[str],
) -> list[JsonObject]:
    """Return each part with its questions; those of the design are open where one has a text or a fault."""
    return [
        {
            "line": line,
            "is_faulty": any(name.startswith(f"{place}.") for name in faulty),
            "first": form_suppliers.first_questions(
                place, lang, (of_line := form_suppliers.ComponentQuestions.of(line, of_sku, rules, lang))
            ),
            "design": (design := form_suppliers.design_questions(place, lang, of_line)),
            "declarations": form_suppliers.substance_questions(place, lang),
            "design_is_open": any(question.name in faulty or given.get(question.name) for question in design),
        }
        for place, line in enumerate(lines)
    ]


def _input_labels(lines: Sequence[Component], lang: str) -> dict[str, str]:
    """Return each input's name in the list of faults: with its part, as many parts may be alike."""
    found = {name: text(f"supplier.{name}", lang) for name in ("file", "contact", "comment")}
    for place, line in enumerate(lines):
        kind = word("component_type", line["component_type"], lang)
        title = text("supplier.part", lang, number=place + 1, total=len(lines), type=kind)
        found |= form_suppliers.input_labels(place, title, lang)
    return found


def _path(request: Request, more: str = "") -> str:
    """Return the address of one of these pages in the language of this one."""
    return f"/supplier-data/{request.path_params['token']}{more}?lang={language_of(request)}"


async def _find(request: Request, kind: Literal["request", "enquiry"]) -> Linked:
    """Return what the token of the path leads to; raise `PageRefused` where it leads to nothing any more."""
    service, token = service_of(request), request.path_params["token"]
    link = await service.reading(partial(suppliers.find, kind=kind, token=token, at=service.clock.now()))
    if link is None:
        raise PageRefused(404, "supplier.gone")
    return link


async def _admit(request: Request) -> Linked:
    """Return the request of the token, and count the use; raise `PageRefused` also over the limits."""
    try:
        return await admit_supplier(request, request.path_params["token"])
    except RateLimited as limited:
        raise PageRefused(429, "supplier.wait", headers=limited.headers) from None
    except NotThere:
        raise PageRefused(404, "supplier.gone") from None


supplier_enquiry_router = APIRouter(prefix="/supplier-enquiries")


@supplier_enquiry_router.get("/{token}")
async def get_enquiry(request: Request) -> Response:
    """Show what is asked; a token that is unknown, withdrawn or expired gets the same refusal."""
    return await run_in_threadpool(_enquiry_page, request, await _find(request, "enquiry"))


def _enquiry_page(request: Request, link: Linked) -> Response:
    now, token = service_of(request).clock.now(), request.path_params["token"]
    with service_of(request).writes.company(link.company_id) as conn:
        enquiry = suppliers.find_enquiry(conn, link.id, now)
        if enquiry is None:
            raise PageRefused(404, "supplier.gone")
        sender = suppliers.sender_of(conn, link.id)
    return page(
        request,
        "supplier_enquiry.html",
        enquiry=enquiry,
        company=sender.company_name,
        listed=[
            (item, None if item["state"] in ("accepted", "closed") else operations.item_token(token, item["id"]))
            for item in enquiry["items"]
        ],
        last_day=(enquiry["expires_at"] - timedelta(days=1)).date(),
        overdue=enquiry["due_on"] is not None and enquiry["due_on"] < now.date(),
    )
