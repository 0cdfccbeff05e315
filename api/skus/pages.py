"""Pages of packaging items: the list, searched and sorted by its address; one item; what is archived.

An item is archived and brought back for the version that the page showed: whoever presses a button after somebody
else's change is shown it first.
"""

from collections.abc import Callable, Mapping, Set
from functools import partial
from typing import Any, Final, TypeAlias, cast  # Any: what a template takes
from uuid import UUID, uuid4

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import ImmutableMultiDict
from starlette.requests import Request
from starlette.responses import Response

from api.conformity.pages import draft_language, languages
from api.http.errors import SHOWN_IN_FORM, HttpRefusal, VersionConflict, http_refusal
from api.http.service import Service, service_of
from api.http.writing import Precondition, Write
from api.imports.pages import answer_with_id, to_import
from api.pages.concurrency import limited, run_limited
from api.pages.forms import (
    TRUTHS,
    Form,
    SentForm,
    faults_with,
    offset_of,
    path_id,
    value_sent,
    version_of,
    write_of,
)
from api.pages.refusals import PageRefused
from api.pages.render import PANELS, language_of, link, page, redirect, said, text
from api.pages.sessions import Editor, Session, Viewer
from api.skus import form as form_skus
from api.skus import words
from api.skus.batch import change
from api.skus.edit import changes_since
from api.skus.listing import MOST_CHARACTERS, READ, Filters, file_answer, place_of, read_filters
from api.skus.writing import answer_archive, answer_free_code, answer_return
from compliance.annex_v import in_words, translated_reason
from compliance.conformity import offered_languages
from compliance.grading.trace import rule_text
from compliance.ruleset import RuleSet, unread_parts
from compliance.weights import weight_mismatch
from pipelines.writing.workbooks import Cell
from schemas.issues import Issue
from schemas.json_values import Json, JsonObject
from schemas.messages import header, translate, word
from schemas.pages import Page
from schemas.refusals import Refused, require
from schemas.skus.inputs import CHANGED_FIELDS, SkuChangesInput, parse_body
from schemas.skus.types import ExportedSku, SkuDetail, SkuListItem
from schemas.vocabularies import CONTENTS, VOCABULARIES
from services import audit
from services.conformity import documents
from services.skus import detail as detail_skus
from services.skus import listing
from services.skus.archive import what_was_placed
from services.skus.listing import ALWAYS, COLUMNS, FORMS, Table
from services.skus.write import write_flag_fact
from warehouse import conformity, files, library, suppliers
from warehouse.figures import gaps, snapshots
from warehouse.figures.gaps import GAPS
from warehouse.figures.reader import Now
from warehouse.library import first_names, names
from warehouse.operate.sessions import Connection
from warehouse.skus import archive, queries
from warehouse.skus import queries as skus
from warehouse.skus.history import current_origins

router = APIRouter()

PAGE_SIZE: Final = 50
_MOST_NAMES: Final = 200
"""The most brands, and suppliers, that are offered in a list."""

Choices = dict[str, list[tuple[str, str]]]


@router.get("/items")
@limited("portfolio")
def get_items(request: Request, session: Viewer) -> Response:
    """Show a page of items. A filter that cannot be read is named at its field, and nothing is listed."""
    service, lang = service_of(request), language_of(request)
    filters, faults = read_filters(request, session.company_id)
    columns, offset = words.chosen(request), offset_of(request)
    items_page: Page[SkuListItem] | None = None
    if not faults:
        place = place_of(request, session.company_id)
        try:
            items_page = listing.page(place, filters.search(), filters.finding(), limit=PAGE_SIZE, offset=offset)
        except Refused as refused:
            faults = list(refused.issues)
    with service.writes.company(session.company_id) as conn:
        now, rules = Now.read(conn, service.clock), service.rulesets.active(conn)
        choices = _choices(conn, {*now.jurisdictions, *_listed_market(filters)}, lang)
        items = items_page["data"] if items_page else []
        brands = names(conn, "brand", {item["brand_id"] for item in items if item["brand_id"]})
        provisional = skus.provisional(conn, [item["id"] for item in items])
    ban, rule = _finding_in_words(filters, rules, lang)
    snapshot = snapshots.current(service.settings.data_dir, session.company_id)
    return page(
        request,
        "items.html",
        session=session,
        found=items_page,
        rows=words.rows_in_words(items, columns, brands, lang),
        provisional=provisional,
        newer=now.head(snapshot)["newer_writes"] if snapshot else 0,
        faults=[_fault_of(request, fault, lang) for fault in faults],
        given=_form_values(request, filters, columns),
        address=_address(request),
        choices=choices,
        columns=[(column, words.name_of(column, lang), words.can_sort(column)) for column in columns],
        all_columns=words.choices(lang),
        sort=filters.values.get("sort", "-created_at"),
        offset=offset,
        size=PAGE_SIZE,
        ban=ban,
        rule=rule,
    )


def _form_values(request: Request, filters: Filters, columns: tuple[str, ...]) -> ImmutableMultiDict[str, str]:
    """Return the form as it was sent, with the market's code as it is listed and the columns that are shown."""
    sent = [(name, value) for name, value in request.query_params.multi_items() if name != "columns"]
    markets = [("market", market) for market in _listed_market(filters)]
    return ImmutableMultiDict([*sent, *markets, *(("columns", column) for column in columns)])


def _listed_market(filters: Filters) -> tuple[str, ...]:
    """Return the market that the list is narrowed to, which need not be one of the catalogue."""
    return (filters.values["market"],) if "market" in filters.values else ()


def _address(request: Request) -> dict[str, object]:
    """Return the parameters of the list's address, for links to another page, order or form of it."""
    kept = {name: value for name, value in request.query_params.items() if name in READ and value}
    columns = [column for column in request.query_params.getlist("columns") if column in COLUMNS]
    return {**kept, **({"columns": columns} if columns else {})}


def _choices(conn: Connection, jurisdictions: Set[str], lang: str) -> Choices:
    """Return the codes of each filter with their words, in the order of the form."""
    markets = sorted(((code, word("market", code, lang)) for code in jurisdictions), key=lambda pair: pair[1])
    choices_by_filter = {
        "market": [(code, name if name == code else f"{name} ({code})") for code, name in markets],
        "grade": _codes("grade", VOCABULARIES["recyclability_grade"], lang),
        "doc_status": _codes("doc_status", VOCABULARIES["doc_status"], lang),
        "material": [(code, word("material", code, lang)) for code in VOCABULARIES["material"]],
        "gap": _codes("gap", GAPS, lang),
        "brand_id": first_names(conn, "brand", _MOST_NAMES),
        "supplier_id": first_names(conn, "supplier", _MOST_NAMES),
    }
    return {name: choices for name, choices in choices_by_filter.items() if choices}


def _codes(group: str, codes: tuple[str, ...], lang: str) -> list[tuple[str, str]]:
    return [(code, text(f"{group}.{code}", lang)) for code in codes]


def _fault_of(request: Request, fault: Issue, lang: str) -> tuple[str, str]:
    """Return what is wrong with a filter; those that are only chosen are never typed, but in an address."""
    name = fault.field or ""
    if name in ("q", "market", "brand_id", "supplier_id"):
        return name, said(fault.message, lang)
    return name, text("items.no_choice", lang, value=request.query_params.get(name, "")[:MOST_CHARACTERS])


def _finding_in_words(filters: Filters, rules: RuleSet, lang: str) -> tuple[str | None, str | None]:
    """Return the words for the ban and for the design rule that the list is narrowed to."""
    flag, rule = filters.values.get("flag"), rules.rules.get(filters.values.get("rule", ""))
    bans = [translated_reason(ban.code, ban.flag_text, rules, lang) for ban in rules.bans if ban.code == flag]
    feature = f"{rule_text(rule.rule_id, rule.feature, (rules,), lang)} ({rule.rule_id})" if rule else None
    return bans[0] if bans else flag, feature


_RECORDS: Final = {"brands": "brand", "suppliers": "supplier"}
"""The resource of each table that a change may refer to."""
_MOST_RECORDS: Final = 500


@router.get("/items/change")
@limited("portfolio")
def get_change(request: Request, session: Editor) -> Response:
    """Show what can be set of the items that the address chooses: those that are ticked, else those of the filter."""
    return _change_page(request, session, Form([]))


@router.post("/items/change")
async def post_change(request: Request, session: Editor, form: SentForm) -> Response:
    """Try the change as a dry run of its import, whose page shows what would follow and imports it."""
    write = await run_in_threadpool(write_of, request, session, form_key=form.get("once"))
    try:
        changes, wanted = await run_in_threadpool(_changes, request, session, form)
        return to_import(request, await change(request, write, wanted, changes, answer_with_id, dry_run=True))
    except SHOWN_IN_FORM as refused:
        return await run_in_threadpool(_change_page, request, session, form, refusal=http_refusal(refused))


@router.post("/items/change/drafts")
def post_drafts(request: Request, session: Editor, form: SentForm) -> Response:
    """Draft declarations of the items that the address chooses, as `file_many` does, and lead to the drafts."""
    write, lang, form_key = write_of(request, session), language_of(request), f"{session.user_id}/{form.get('once')}"
    try:
        chosen, wanted = _changes(request, session, Form([]))
        is_chosen = chosen.ids or chosen.all or wanted.values.keys() - {"sort"}
        search = wanted.search(ids=f"{{{','.join(chosen.ids)}}}" if chosen.ids else None if is_chosen else "{}")
        place, most = place_of(request, session.company_id), documents.MOST_DRAFTED + 1
        items = listing.page(place, search, wanted.finding(), limit=most, offset=0)["data"]
        drafted = write.do(
            lambda conn: documents.file_many(
                conn, write.actor, items, form_key, lang=draft_language(form, lang), rulesets=write.service.rulesets
            )
        )
    except SHOWN_IN_FORM as refused:
        return _change_page(request, session, Form([]), refusal=http_refusal(refused))
    return redirect(link(request, "/documents", show="drafts", drafted=str(drafted), left=str(len(items) - drafted)))


def _changes(request: Request, session: Session, form: Form) -> tuple[SkuChangesInput, Filters]:
    """Return what the form asks for. Raise `Refused`, also for a filter of the address that cannot be read."""
    lang, ids = language_of(request), request.query_params.getlist("id")
    sent = {field.name: value_sent(form, field.name, field.kind, lang) for field in CHANGED_FIELDS}
    body = {"fields": {name: value for name, value in sent.items() if value not in (None, [])}}
    filters, faults = read_filters(request, session.company_id)
    if faults := [*faults, *faults_with(body, partial(parse_body, SkuChangesInput))]:
        raise Refused(faults)
    which: JsonObject = (
        {"ids": ids} if ids else {"all": "all" in request.query_params and not filters.values.keys() - {"sort"}}
    )
    return parse_body(SkuChangesInput, body | which), Filters({}) if ids else filters


def _change_page(request: Request, session: Session, form: Form, *, refusal: HttpRefusal | None = None) -> Response:
    service, lang, ids = service_of(request), language_of(request), request.query_params.getlist("id")
    filters, faults = read_filters(request, session.company_id)
    if faults:
        raise PageRefused(400, "items.no_such_filter")
    count = len(ids)
    is_all = "all" in request.query_params and not ids and not filters.values.keys() - {"sort"}
    if not ids and (is_all or filters.values.keys() - {"sort"}):
        place = place_of(request, session.company_id)
        count = listing.page(place, filters.search(), filters.finding(), limit=1, offset=0)["pagination"]["total"]
    with service.writes.company(session.company_id) as conn:
        records = {table: first_names(conn, resource, _MOST_RECORDS) for table, resource in _RECORDS.items()}
    return page(
        request,
        "change.html",
        session=session,
        status=200 if refusal is None else refusal.response("").status_code,
        faults=_faults_of_change(refusal, lang),
        given=form,
        once=str(uuid4()),
        count=count,
        address={**_address(request), **({"id": ids} if ids else {"all": "1"} if is_all else {})},
        most_drafted=documents.MOST_DRAFTED,
        languages_to_draft=languages(lang, offered_languages()),
        inputs=[form_skus.change_input(field, lang, records) for field in CHANGED_FIELDS],
    )


def _faults_of_change(refusal: HttpRefusal | None, lang: str) -> list[tuple[str, str]]:
    """Return what is wrong at each input; what is about no field alone stands above the form."""
    names = {field.name for field in CHANGED_FIELDS}
    faults = []
    for issue in (refusal.details or ()) if refusal else ():
        name = str(issue.get("field") or "").removeprefix("fields.").partition("[")[0]
        faults.append((name if name in names else "", said(issue["message"], lang)))
    return faults or ([("", said(str(refusal), lang))] if refusal else [])


item_router = APIRouter()

_REFERENCES: Final = {
    "brand": ("brand_id",),
    "site": ("manufacturing_site_id", "packing_site_id"),
    "supplier": ("supplier_id",),
    "library_component": ("component_id",),
}
"""The fields that refer to a record of each kind."""
_FILES_SHOWN: Final = 50
_VERSIONS_SHOWN: Final = 10


@item_router.get("/items/{id}")
@limited("portfolio")
def get_item(request: Request, session: Viewer) -> Response:
    """Show one item of the company; another company's item is answered like one that never existed."""
    return item_page(request, session)


def item_page(request: Request, session: Session, refused: Form | None = None) -> Response:
    """Return the page; with the form that was `refused` for a version that has passed, what changed since above it."""
    service, lang, sku_id, conflict = service_of(request), language_of(request), path_id(request), None
    with service.writes.company(session.company_id) as conn:
        values = _item_values(service, conn, session.company_id, sku_id, lang)
        actor = write_of(request, session).actor
        shown = () if values["archived_at"] else PANELS["item"]
        panels = [(template, fill(conn, actor, sku_id)) for template, fill in shown]
        if refused is not None:
            seen = version_of(refused.get("version")) or values["version"]
            conflict = changes_since(conn, sku_id, seen, values["version"], lang)
    typed = [] if refused is None else [("reason", refused.get("reason", ""))]
    return page(
        request,
        "item.html",
        session=session,
        status=200 if conflict is None else 409,
        path=f"/items/{sku_id}",
        conflict=conflict,
        given=Form([*form_skus.form_of(values["item"], lang).multi_items(), *typed]),
        once=str(uuid4()),
        saved=request.query_params.get("saved") == "yes",
        is_instead=request.query_params.get("instead") == "yes",
        panels=panels,
        **values,
    )


def _item_values(service: Service, conn: Connection, company_id: UUID, sku_id: UUID, lang: str) -> dict[str, Any]:
    """Return what the page shows of a stored SKU, archived or not, by the rules of the day. Raise `NotThere`.

    `history` is None where the plan has no audit log; `declared` are the DoCs whose PDF is stored here.
    """
    now, archived_at = Now.read(conn, service.clock), None
    row = queries.find_sku(conn, sku_id, now.today)
    if row is None:
        row, archived_at = require(archive.find_archived(conn, sku_id, now.today))
    graded = detail_skus.rulesets_of(conn, service.rulesets, row)
    rules, item = graded[0], detail_skus.sku_detail(row, graded, today=now.today, lang=lang)
    missing = gaps.missing_in_one(conn, company_id, sku_id, now, at=service.clock.now(), rules=rules)
    history = audit.history_of_sku(conn, sku_id, limit=_VERSIONS_SHOWN)
    placed = what_was_placed(conn, sku_id, rules, now.today) if item["volumes"] and not archived_at else None
    weights, names = weight_mismatch(row["weight_grams"], row["components_weight_g"]), _names(conn, item)
    sold = suppliers.sold_parts(conn, [line["id"] for line in item["components"]]) if item["components"] else ()
    return {
        "item": item,
        "version": row["version"],
        "gaps": [(gap, words.gap_anchor(gap["fields"], item)) for gap in missing["gaps"]] if missing else [],
        "not_understood": [
            {**text_part, "name": words.path_in_words(text_part["field"], item, lang)}
            for text_part in (missing["not_understood"] if missing else ())
        ],
        "facts": words.fact_rows(item, names, lang),
        "parts": words.part_rows(item, names, sold, lang),
        "grade": words.grade_words(item, lang),
        "questions": form_skus.questions(item, lang),
        "substances": words.substance_rows(item["substances"], lang),
        "files": files.page(sku_id, _FILES_SHOWN, 0).read(conn)["data"],
        "types": CONTENTS[lang],
        "docs": conformity.of_sku(conn, sku_id, today=now.today),
        "declared": conformity.declarations_of_sku(conn, sku_id),
        "origin": current_origins(conn, [item["sku_code"]])[item["sku_code"]],
        "ban": partial(translated_reason, rules=rules, lang=lang),
        "undecided": [
            header("component" if fact in ("polymer_or_grade", "thickness_um") else "sku", fact, lang)
            for fact in item["compliance"]["annex_v_undecided"]
        ],
        "fact_words": lambda fact: translate(in_words(fact), lang),
        "standards": unread_parts(item["compliance"]["grade_trace"]["stream"], rules),
        "archived_at": archived_at,
        "former": queries.former_codes_of(conn, sku_id),
        "placed": placed and said(placed, lang),
        "weights": None if weights is None else said(weights.message, lang),
        "history": None if history is None else [words.version_words(version, lang) for version in history],
    }


def _names(conn: Connection, item: SkuDetail) -> dict[str, str]:
    """Return the names of all records that the item and its parts refer to, by id."""
    names_by_id: dict[str, str] = {}
    for resource, fields in _REFERENCES.items():
        records: tuple[Mapping[str, object], ...] = (item, *item["components"])
        ids = {UUID(str(value)) for of in records for field in fields if (value := of.get(field))}
        names_by_id |= library.names(conn, resource, ids)
    return names_by_id


@router.get("/items/export")
@limited("portfolio")
def get_export(request: Request, session: Viewer) -> Response:
    """Return the file. Raise `PageRefused` for an address that our page never makes."""
    form, lang = request.query_params.get("format", "csv"), language_of(request)
    filters, faults = read_filters(request, session.company_id)
    if faults or form not in FORMS:
        raise PageRefused(400, "items.no_such_filter")
    columns = words.chosen(request)
    headers = [words.name_of(column, lang) for column in (*ALWAYS, *columns)]

    def cells(item: ExportedSku) -> list[Cell]:
        return [item["sku_code"], item["name"], *(_cell(item, column, lang) for column in columns)]

    try:
        return file_answer(place_of(request, session.company_id), filters, form, Table(headers, cells, lang))
    except Refused:
        raise PageRefused(400, "items.no_such_filter") from None


def _cell(item: ExportedSku, column: str, lang: str) -> Cell:
    """Return a value as a cell: numbers as numbers, nothing where nothing is stored, else the words of the page."""
    value = cast(Mapping[str, object], item)[column]
    if value is None or value == []:
        return None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    return words.in_words(item, column, {str(item["brand_id"]): str(item["brand"])}, lang)


archive_router = APIRouter(prefix="/items")

_Answer: TypeAlias = Callable[[Write, Json, UUID, Precondition], Response]


@archive_router.get("/archived")
def get_archived(request: Request, session: Viewer) -> Response:
    """List the archived items, the last archived first."""
    offset = offset_of(request)
    with service_of(request).writes.company(session.company_id) as conn:
        listed = archive.page(PAGE_SIZE, offset).read(conn)
    return page(request, "archived.html", session=session, found=listed, offset=offset, size=PAGE_SIZE)


@archive_router.post("/{id}/archive")
async def post_archive(request: Request, session: Editor, form: SentForm) -> Response:
    """Archive an item, as `POST /skus/{id}/archive` does."""
    return await _do(request, session, form, answer_archive)


@archive_router.post("/{id}/return")
async def post_return(request: Request, session: Editor, form: SentForm) -> Response:
    """Bring an archived item back, as `POST /skus/{id}/return` does."""
    return await _do(request, session, form, answer_return)


async def _do(request: Request, session: Session, form: Form, answer: _Answer) -> Response:
    """Do it as the person who is signed in, and lead back to the item; show what changed where it has."""
    sku_id = path_id(request)

    def done() -> Response:
        seen = Precondition.of_version(version_of(form.get("version")))
        write = write_of(request, session, form.get("once"))
        return answer(write, {"reason": form.get("reason", "").strip() or None}, sku_id, seen)

    try:
        await run_in_threadpool(done)
    except VersionConflict:
        return await run_limited(request, "portfolio", item_page, request, session, form)
    return redirect(link(request, f"/items/{sku_id}"))


@archive_router.post("/{id}/free-code")
def post_free_code(request: Request, session: Editor, form: SentForm) -> Response:
    """Free a former code of an item, as `POST /skus/{id}/free-code` does."""
    write, sku_id = write_of(request, session, form.get("once")), path_id(request)
    answer_free_code(write, {"sku_code": form.get("sku_code", "")}, sku_id, dry_run=False)
    return redirect(link(request, f"/items/{sku_id}"))


@archive_router.post("/{id}/facts")
def post_fact(request: Request, session: Editor, form: SentForm) -> Response:
    """Store the person's answer to a fact on which format bans depend, or take an answer back.

    Raise `PageRefused` for a form that no page of ours has.
    """
    write, sku_id = write_of(request, session), path_id(request)
    fact, sent = form.get("fact", ""), form.get("answer", "")
    if sent not in (*TRUTHS, "open"):
        raise PageRefused(400, "refused.unreadable")

    def store(conn: Connection) -> None:
        write_flag_fact(conn, write.actor, sku_id, fact, TRUTHS.get(sent), rulesets=write.service.rulesets)

    write.do(store)
    return redirect(link(request, f"/items/{path_id(request)}", saved="yes"))
