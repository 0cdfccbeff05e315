"""Supplier pages: the form for the components asked about, its documents, and thanks. No account, no cookie.

The token of the path is the whole authentication, so that a form needs no token of its own. `api.suppliers.routes`
handles the answer; documents are handled as technical files and wait with the answer. The form is converted to the JSON
body that a program sends: a field's name in it is its position, `0.weight_g`, `0.substances.pfas.status`, and an empty
field is not answered.
"""

import asyncio
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from http import HTTPStatus
from types import MappingProxyType
from typing import Annotated, Final, Literal, NamedTuple, Self
from uuid import UUID

from fastapi import APIRouter, Depends
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from uuid_utils import uuid7

from api.http.errors import REFUSALS, RateLimited, http_refusal
from api.http.requests import FileForm, judge_file
from api.http.service import service_of
from api.http.writing import Write
from api.pages.forms import (
    NONE,
    TRUTHS,
    Form,
    Input,
    declarations_of,
    faults_with,
    input_of_path,
    line_of,
    read_unchecked_form,
    substance_pairs,
    texts_of,
)
from api.pages.refusals import PageRefused
from api.pages.render import language_of, page, redirect, said, text
from api.suppliers.routes import admit_supplier, file_answer, write_of_supplier
from compliance.grading.trace import translated_question
from compliance.ruleset import RuleSet
from pipelines.writing import write as writing
from schemas.fields import COMPONENT, Field
from schemas.figures import Questions
from schemas.files import name_as
from schemas.issues import Issue
from schemas.json_values import JsonMapping, JsonObject
from schemas.messages import Message, contents, header, meaning, word
from schemas.refusals import NotThere, Refused
from schemas.skus.types import Component
from schemas.suppliers import DESIGN, FIRST, parse_submission
from schemas.vocabularies import SUBSTANCES, TAKEN, VOCABULARIES
from services import suppliers as operations
from services.review.entries import attach, remembered_parts
from warehouse import review, suppliers
from warehouse.figures import overview
from warehouse.files import File, key_of
from warehouse.operate.objects import AGAIN_SECONDS, AWAY
from warehouse.operate.sessions import Connection
from warehouse.suppliers import Linked
from warehouse.suppliers import Request as SupplierRequest

router = APIRouter()

_STORAGE_FULL: Final = Message(
    "The company that asks you cannot store more documents now. Tell it, and send your answer without this one."
)
"""The sentence for a full plan: a supplier does not learn how much the company stores."""
_SLOWEST_SECONDS: Final = 1800.0
"""Longest time for a document, as for technical files (`api.files.routes`)."""


async def _find(request: Request, kind: Literal["request", "enquiry"]) -> Linked:
    """Return what the token of the path leads to; raise `PageRefused` where it leads to nothing any more."""
    service, token = service_of(request), request.path_params["token"]
    link = await service.reads.run(partial(suppliers.find, kind=kind, token=token, at=service.clock.now()))
    if link is None:
        raise PageRefused(404, "supplier.gone")
    return link


async def _find_request(request: Request) -> Linked:
    return await _find(request, "request")


async def _find_enquiry(request: Request) -> Linked:
    return await _find(request, "enquiry")


async def _admit(request: Request, kind: Literal["supplier", "enquiry"]) -> Linked:
    """Return what the token leads to, and count the use; raise `PageRefused` also over the limits."""
    try:
        return await admit_supplier(request, request.path_params["token"], kind)
    except RateLimited as limited:
        raise PageRefused(429, "supplier.wait", headers=limited.headers) from None
    except NotThere:
        raise PageRefused(404, "supplier.gone") from None


async def _admit_request(request: Request) -> Linked:
    return await _admit(request, "supplier")


async def _admit_enquiry(request: Request) -> Linked:
    return await _admit(request, "enquiry")


async def _read_form(request: Request) -> Form:
    return await read_unchecked_form(request)


RequestLink = Annotated[Linked, Depends(_find_request)]
EnquiryOfLink = Annotated[Linked, Depends(_find_enquiry)]
CountedLink = Annotated[Linked, Depends(_admit_request)]
CountedEnquiry = Annotated[Linked, Depends(_admit_enquiry)]
SupplierForm = Annotated[Form, Depends(_read_form)]
"""What the token of the path leads to, as a handler's parameter; the counted ones count the use."""


@router.get("/supplier-data/{token}")
def get_form(request: Request, link: RequestLink) -> Response:
    """Show the form, with the documents attached so far."""
    return _form_page(request, link)


@router.post("/supplier-data/{token}")
def post_form(request: Request, link: CountedLink, form: SupplierForm) -> Response:
    """Send the answer; where it is invalid, show the filled-in form with its faults."""
    write = write_of_supplier(request, link)
    with write.service.writes.company(link.company_id) as conn:
        supplier_request = suppliers.find_request(conn, link.id)
    components = _places(supplier_request) if supplier_request else []
    try:
        body = body_of_form(form, components, language_of(request))
        if unread := faults_with(body, parse_submission):
            raise Refused(unread)
        filing = partial(file_answer, write, link, parse_submission(body))
        write.do(filing)
        return redirect(_path(request, "/thanks"))
    except Refused as invalid:
        issues: Sequence[Mapping[str, object]] = http_refusal(invalid).details or ()
    except NotThere:
        raise PageRefused(404, "supplier.gone") from None
    lang = language_of(request)
    places = [str(place) for place in range(len(components)) if parse_answer(form, place, lang)]
    faults = [
        (input_of_path(str(issue["field"] or "").removeprefix("response."), places), str(issue["message"]))
        for issue in issues
        if "message" in issue  # the last of very many only counts the others
    ]
    if form.get("consent") != "yes":  # the sentence for programs means nothing to a person
        no_consent = ("consent", text("supplier.no_consent", language_of(request)))
        faults = [*(fault for fault in faults if fault[0] != "consent"), no_consent]
    return _form_page(request, link, form=form, faults=faults)


@router.get("/supplier-data/{token}/thanks")
def get_thanks(request: Request, _: RequestLink) -> Response:
    """Show what happens next."""
    return page(request, "supplier_thanks.html", form_path=_path(request))


@router.post("/supplier-data/{token}/files")
async def post_document(request: Request, link: CountedLink) -> Response:
    """Attach one document and check its bytes; it is sent with the next answer, whose typed fields stay."""
    form = FileForm(request, answering=True)
    if fault := await take_document(request, link.company_id, form, partial(_attach, request, link)):
        faults = file_faults(fault, form, language_of(request))
        answer = await run_in_threadpool(_form_page, request, link, form=Form(form.beside), faults=faults)
        return unavailable(answer, fault)
    if any(value.strip() for _, value in form.beside):
        return await run_in_threadpool(_form_page, request, link, form=Form(form.beside))
    return redirect(f"{_path(request)}#documents")


async def take_document(
    request: Request, company_id: UUID, form: FileForm, attach_file: Callable[[File], bool]
) -> Exception | None:
    """Store a document, check its bytes, and attach it; return why it was not.

    `attach_file` says False where the same document is already attached, as when a page that attached it is reloaded.
    """
    file_id = UUID(str(uuid7()))
    objects, object_key = service_of(request).objects, key_of(company_id, file_id)
    try:
        async with asyncio.timeout(_SLOWEST_SECONDS):
            await objects.put_stream(object_key, form.file())
        kind = await judge_file(request, company_id, "supplier", object_key, form)
        name = name_as(form.filename, kind)
        file = File(file_id, name, kind.media_type, form.size_bytes, form.sha256, **form.fields)
        if not await run_in_threadpool(attach_file, file):
            await run_in_threadpool(objects.remove, object_key)
    except (*REFUSALS, TimeoutError, ConnectionError) as fault:
        await run_in_threadpool(objects.remove, object_key)
        return fault
    return None


def unavailable(answer: Response, fault: Exception) -> Response:
    """Return the page that says why a document was not taken; where the store is away, a program may come again."""
    if isinstance(fault, ConnectionError):
        answer.status_code, answer.headers["Retry-After"] = HTTPStatus.SERVICE_UNAVAILABLE, str(AGAIN_SECONDS)
    return answer


def file_faults(fault: Exception, form: FileForm, lang: str) -> list[tuple[str, str]]:
    """Return why a document was not taken, at its input."""
    if isinstance(fault, ConnectionError):
        return [("file", AWAY)]
    if not form.filename and not form.size_bytes:
        return [("file", text("supplier.no_file", lang))]
    sentences = [issue.message for issue in fault.issues] if isinstance(fault, Refused) else [str(fault)]
    return [("file", sentence) for sentence in sentences]


def admit_bytes(write: Write, conn: Connection, file: File) -> None:
    """Raise `Refused` where the plan of the company has no room for a document of a supplier."""
    try:
        objects, actor = write.service.objects, write.actor
        writing.admit(conn, objects, actor.company_id, new_bytes=file.size_bytes, now=actor.now)
    except writing.StorageFull as full:
        raise Refused([Issue(full.code, _STORAGE_FULL, "file")]) from None


def _attach(request: Request, link: Linked, file: File) -> bool:
    write = write_of_supplier(request, link)

    def attach_document(conn: Connection) -> bool:
        operations.open_request(conn, link.id)
        same = (file.sha256, file.filename, file.type)
        if same in {(other.sha256, other.filename, other.type) for other in review.of_request(conn, link.id)}:
            return False
        admit_bytes(write, conn, file)
        attach(conn, write.actor, file, request_id=link.id)
        return True

    return write.do(attach_document)


def _form_page(
    request: Request, link: Linked, *, form: Form | None = None, faults: Sequence[tuple[str, str]] = ()
) -> Response:
    lang = language_of(request)
    with service_of(request).writes.company(link.company_id) as conn:
        supplier_request = suppliers.find_request(conn, link.id)
        if supplier_request is None:
            raise PageRefused(404, "supplier.gone")
        lines = operations.requested_lines(conn, supplier_request)
        asked = remembered_parts(conn, supplier_request)
        attached = review.of_request(conn, link.id)
        last_answer = review.answer_to(conn, link.id)
        rulesets = service_of(request).rulesets
        rules = rulesets.active(conn)
        [of_sku] = overview.questions(conn, [supplier_request.sku_code], rulesets, lang).values()
    if form is None:
        payload: JsonMapping = last_answer.payload if last_answer else {}
        answers = form_of_answer(payload, _places(supplier_request), lang)
    else:
        answers = form
    is_rejected = last_answer and last_answer.state == "rejected" and supplier_request.state == "open"
    places = _places(supplier_request)
    placed = [(places.index(line["id"]), line) for line in lines]
    parts = _parts(placed, of_sku, rules, lang, answers=answers, faulty={name for name, _ in faults})
    labels = _input_labels(placed, lang)
    return page(
        request,
        "supplier_form.html",
        supplier_request=supplier_request,
        parts=parts,
        gone=[asked.get(str(part["component_id"])) for part in supplier_request.gone_parts],
        attached=attached,
        given=answers,
        rejected=last_answer if is_rejected else None,
        faults=[
            (name, f"{labels[name]}: {said(sentence, lang)}" if name in labels else said(sentence, lang))
            for name, sentence in faults
        ],
        types=contents(lang),
        taken=TAKEN,
        form_path=_path(request),
        files_path=_path(request, "/files"),
    )


def _places(supplier_request: SupplierRequest) -> list[str]:
    """Return the asked parts in the order of their inputs, which stays whatever becomes of the graph meanwhile."""
    return list(map(str, supplier_request.component_ids))


def _parts(
    lines: Sequence[tuple[int, Component]],
    of_sku: Questions,
    rules: RuleSet,
    lang: str,
    *,
    answers: Form,
    faulty: Collection[str],
) -> list[JsonObject]:
    """Return each part with its questions; those of the design are open where one has a text or a fault."""
    return [
        {
            "line": line,
            "is_faulty": any(name.startswith(f"{place}.") for name in faulty),
            "first": first_questions(place, lang, (of_line := ComponentQuestions.for_line(line, of_sku, rules, lang))),
            "design": (design := design_questions(place, lang, of_line)),
            "declarations": substance_questions(place, lang),
            "design_is_open": any(question.name in faulty or answers.get(question.name) for question in design),
        }
        for place, line in lines
    ]


def _input_labels(lines: Sequence[tuple[int, Component]], lang: str) -> dict[str, str]:
    """Return each input's name in the list of faults: with its part, as many parts may be alike."""
    labels = {name: text(f"supplier.{name}", lang) for name in ("file", "contact", "comment")}
    for number, (place, line) in enumerate(lines, 1):
        kind = word("component_type", line["component_type"], lang)
        title = text("supplier.part", lang, number=number, total=len(lines), type=kind)
        labels |= input_labels(place, title, lang)
    return labels


def _path(request: Request, more: str = "") -> str:
    """Return the address of one of these pages in the language of this one."""
    return f"/supplier-data/{request.path_params['token']}{more}?lang={language_of(request)}"


class ComponentQuestions(NamedTuple):
    """The tables' questions for one component, by field, and the fields that its grade needs."""

    questions: Mapping[str, str] = MappingProxyType({})
    needed: tuple[str, ...] = ()

    @classmethod
    def for_line(cls, line: Component, of_sku: Questions, rules: RuleSet, lang: str) -> Self:
        """Return the questions of a line of the graph; `of_sku` are those of its SKU's grade, in the same language."""
        by_name = {name: rules.question(name, line["component_type"]) for name in (*FIRST, *DESIGN)}
        questions = {
            name: translated_question(question.en, [rules], lang) for name, question in by_name.items() if question
        }
        of_line = {fact["field"]: fact["ask"] for fact in of_sku["open"] if fact["component_id"] == line["id"]}
        return cls(questions | of_line, tuple(of_line))


_NO_QUESTIONS: Final = ComponentQuestions()


def first_questions(place: int, lang: str, of_component: ComponentQuestions = _NO_QUESTIONS) -> list[Input]:
    """Return the questions for every component, and those that this one's grade needs."""
    names = (*FIRST, *(name for name in DESIGN if name in of_component.needed))
    return [_question_of(place, COMPONENT[name], lang, of_component) for name in names]


def design_questions(place: int, lang: str, of_component: ComponentQuestions = _NO_QUESTIONS) -> list[Input]:
    """Return the further questions of the design rules."""
    return [
        _question_of(place, COMPONENT[name], lang, of_component) for name in DESIGN if name not in of_component.needed
    ]


def substance_questions(place: int, lang: str) -> list[tuple[str, list[Input]]]:
    """Return the questions for each substance: status, measured value with its unit, evidence."""
    return [(text(f"substance.{name}", lang), list(_questions_of_substance(place, name, lang))) for name in SUBSTANCES]


def body_of_form(form: Form, components: Sequence[str], lang: str) -> dict[str, object]:
    """Return the body that a program would send for this form; text that is no number stays text, and is refused."""
    answers = [
        {"component_id": component, **answer}
        for place, component in enumerate(components)
        if (answer := parse_answer(form, place, lang))
    ]
    contact_and_comment = {name: form[name] for name in ("contact", "comment") if form.get(name, "").strip()}
    return {"consent": form.get("consent") == "yes", "response": {"components": answers, **contact_and_comment}}


def form_of_answer(payload: JsonMapping, components: Sequence[str], lang: str) -> Form:  # stored JSON
    """Return the form filled in with an answer, so that editing begins there. Consent is given anew each time."""
    answers = {answer["component_id"]: answer for answer in payload.get("components") or ()}
    fields = [
        (f"{place}.{path}", line)
        for place, component in enumerate(components)
        for path, value in answers.get(component, {}).items()
        if path != "substances"
        for line in texts_of(value, lang)
    ]
    for place, component in enumerate(components):
        fields += substance_pairs(f"{place}.", answers.get(component, {}).get("substances") or {}, lang)
    contact_and_comment = [(name, payload[name]) for name in ("contact", "comment") if payload.get(name)]
    return Form([*fields, *contact_and_comment])


def input_labels(place: int, title: str, lang: str) -> dict[str, str]:
    """Return the full name of each input of a component: its part, then itself."""
    questions = {
        question.name: question.label for question in (*first_questions(place, lang), *design_questions(place, lang))
    }
    for substance, questions_of in substance_questions(place, lang):
        questions |= {question.name: f"{substance}, {text(question.label, lang)}" for question in questions_of}
    return {name: f"{title}, {label}" for name, label in questions.items()}


def _question_of(place: int, field: Field, lang: str, of_component: ComponentQuestions) -> Input:
    choices: tuple[tuple[str, str], ...] = ()
    if field.vocabulary:
        choices = tuple((code, word(field.vocabulary, code, lang)) for code in VOCABULARIES[field.vocabulary])
    if field.kind == "truth":
        choices = tuple((answer, text(f"supplier.{answer}", lang)) for answer in TRUTHS)
    if field.kind == "codes":
        choices = ((NONE, text("supplier.none", lang)), *choices)
    label = header("component", field.name, lang)
    own = text(f"supplier.hint.{field.name}", lang) if field.name in FIRST else meaning("component", field, lang)
    hint = of_component.questions.get(field.name, own)
    unit = text(f"unit.{field.unit}", lang) if field.unit else None
    return Input(f"{place}.{field.name}", label, hint, field.kind, choices, unit)


def _questions_of_substance(place: int, name: str, lang: str) -> Iterator[Input]:
    at = f"{place}.substances.{name}"
    statuses = tuple((code, word("substance_status", code, lang)) for code in VOCABULARIES["substance_status"])
    units = tuple((code, text(f"unit.{code}", lang)) for code in VOCABULARIES["substance_unit"])
    yield Input(f"{at}.status", "supplier.status", "", "code", statuses)
    yield Input(f"{at}.value", "supplier.value", "", "number")
    yield Input(f"{at}.unit", "supplier.unit", "", "code", units)
    yield Input(f"{at}.evidence", "supplier.evidence", "", "text")


def parse_answer(form: Form, place: int, lang: str) -> JsonObject:
    """Return what the inputs of a part were filled in with; what cannot be read stays as it was typed."""
    prefix = f"{place}."
    answer = line_of(form, prefix, (COMPONENT[name] for name in (*FIRST, *DESIGN)), lang)
    declared = declarations_of(form, prefix, lang)
    for entry in declared.values():
        if "value" not in entry:
            entry.pop("unit", None)
    declared = {name: entry for name, entry in declared.items() if entry}
    return {**answer, **({"substances": declared} if declared else {})}
