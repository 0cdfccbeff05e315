"""Page of one packaging item: its facts and parts, the reasons of its grade, missing facts, its versions.

`api.pages.item_words` writes the words; the facts are those of `GET /skus/{id}`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final
from uuid import UUID, uuid4

import orjson
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from api.pages import item_form, item_questions, item_words
from api.pages.advice import said
from api.pages.concurrency import run_limited
from api.pages.edit import changes_since
from api.pages.forms import Form
from api.pages.render import language_of, page
from api.pages.request_values import path_id, version_of
from api.pages.sessions import Session, Viewer
from api.service import Service, service_of
from compliance.flag_texts import translated_reason
from compliance.ruleset import RuleSet
from compliance.standards import unread_parts
from compliance.weights import weight_mismatch
from pipelines.writing import present
from schemas.analytics import IncompleteSku
from schemas.issues import Issue
from schemas.messages import Message
from schemas.refusals import NotThere
from schemas.sku import SkuDetail
from schemas.technical_files import CONTENTS
from services.archiving import what_was_placed
from services.audit import history
from warehouse import analytics
from warehouse.analytics import Now
from warehouse.declarations import docs
from warehouse.declarations import queries as declarations
from warehouse.library import queries as library
from warehouse.sessions import Connection
from warehouse.skus import archive, detail, origins
from warehouse.technical_files import queries as files

router = APIRouter()

_REFERENCES: Final = {
    "brand": ("brand_id",),
    "site": ("manufacturing_site_id", "packing_site_id"),
    "supplier": ("supplier_id",),
    "library_component": ("component_id",),
}
"""The fields that refer to a record of each kind."""
_FILES_SHOWN: Final = 50
_VERSIONS_SHOWN: Final = 10


@dataclass(frozen=True, slots=True)
class _ItemData:
    """The stored data of one SKU; `history` is None where the plan has no audit log.

    `rules` are those of the day; `declared` are the DoCs whose PDF is stored here, `placed` what of the
    SKU was placed, in words.
    """

    item: SkuDetail
    version: int
    names: dict[str, str]
    files: list[dict[str, object]]
    docs: list[dict[str, object]]
    origin: origins.ValueOrigin
    history: list[history.Version] | None
    missing: IncompleteSku | None
    rules: RuleSet
    declared: set[UUID]
    archived_at: str | None
    placed: Message | None
    weights: Issue | None


@router.get("/items/{id}")
async def get_item(request: Request, session: Viewer) -> Response:
    """Show one item of the company; another company's item is answered like one that never existed."""
    return await run_limited(request, "portfolio", item_page, request, session)


def item_page(request: Request, session: Session, refused: Form | None = None) -> Response:
    """Return the page; with the form that was `refused` for a version that has passed, what changed since above it."""
    service, lang, sku_id, conflict = service_of(request), language_of(request), path_id(request), None
    with service.writes.company(session.company_id) as conn:
        data = _load(service, conn, session.company_id, sku_id, lang)
        if refused is not None:
            seen = version_of(refused.get("version")) or data.version
            conflict = changes_since(conn, sku_id, seen, data.version, lang)
    item = data.item
    typed = [] if refused is None else [("reason", refused.get("reason", ""))]
    return page(
        request,
        "item.html",
        session=session,
        status=200 if conflict is None else 409,
        path=f"/items/{sku_id}",
        conflict=conflict,
        item=item,
        gaps=[(gap, item_words.gap_anchor(gap["fields"], item)) for gap in data.missing["gaps"]]
        if data.missing
        else [],
        not_understood=[
            {**each, "name": item_words.path_in_words(each["field"], item, lang)}
            for each in (data.missing["not_understood"] if data.missing else ())
        ],
        facts=item_words.fact_rows(item, data.names, lang),
        parts=item_words.part_rows(item, data.names, lang),
        grade=item_words.grade_words(item, lang),
        questions=item_questions.questions(item, lang),
        given=Form([*item_form.form_of(item, lang).multi_items(), *typed]),
        version=data.version,
        substances=item_words.substance_rows(item["substances"], lang),
        files=data.files,
        types=CONTENTS[lang],
        docs=data.docs,
        declared=data.declared,
        origin=data.origin,
        ban=partial(translated_reason, rules=data.rules, lang=lang),
        standards=unread_parts(item["compliance"]["grade_trace"]["stream"], data.rules),
        archived_at=data.archived_at,
        placed=data.placed and said(data.placed, lang),
        weights=None if data.weights is None else said(data.weights.message, lang),
        once=str(uuid4()),
        saved=request.query_params.get("saved") == "yes",
        history=None if data.history is None else [item_words.version_words(each, lang) for each in data.history],
    )


def _load(service: Service, conn: Connection, company_id: UUID, sku_id: UUID, lang: str) -> _ItemData:
    now = Now.read(conn, service.clock)
    row, archived = detail.of(conn, sku_id, now.today), None
    if row is None:
        archived = archive.of(conn, sku_id, now.today)
        if archived is None:
            raise NotThere
        row = archived.row
    rules = service.rulesets.active(conn)
    earlier = present.version_before(row)
    item = present.sku_detail(
        row,
        present.record(row),
        rules=rules,
        doc_status=row["doc_status"],
        graded_by=service.rulesets.of(conn, row["ruleset_version"]),
        before=None if earlier is None else service.rulesets.of(conn, earlier),
        today=now.today,
        lang=lang,
    )
    missing = analytics.missing_in_one(conn, company_id, sku_id, now, at=service.clock.now(), rules=rules)
    (listed,) = conn.execute(files.page(_FILES_SHOWN, 0), {"sku_id": sku_id}).fetchone() or ('{"data": []}',)
    return _ItemData(
        item,
        row["version"],
        _names(conn, item),
        orjson.loads(listed)["data"],
        docs.of_sku(conn, sku_id, today=now.today),
        origins.of(conn, [item["sku_code"]])[item["sku_code"]],
        history.history_of_sku(conn, sku_id, limit=_VERSIONS_SHOWN),
        missing,
        rules,
        declarations.of_sku(conn, sku_id),
        archived and archived.archived_at,
        what_was_placed(conn, sku_id, rules, now.today) if item["volumes"] and not archived else None,
        weight_mismatch(row["weight_grams"], row["components_weight_g"]),
    )


def _names(conn: Connection, item: SkuDetail) -> dict[str, str]:
    """Return the names of all records that the item and its parts refer to, by id."""
    found: dict[str, str] = {}
    for resource, fields in _REFERENCES.items():
        named: tuple[Mapping[str, object], ...] = (item, *item["components"])
        ids = {UUID(str(value)) for of in named for field in fields if (value := of.get(field))}
        found |= library.names(conn, resource, ids)
    return found
