"""Defines the arguments by which an item is changed: fields of the item, and fields of single components by line id."""

import base64
import binascii
import hashlib
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from typing import (  # Any: pydantic's annotations
    Annotated,
    Any,
    Final,  # Any: a literal made from a vocabulary
    Literal,
)
from uuid import UUID

from anyio import to_thread
from mcp.server.elicitation import ElicitationResult
from mcp.server.mcpserver.resolve import Elicit, Resolve
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from uuid_utils import uuid7

from compliance.conformity import offered_languages
from connector.principal import Principal, current_principal
from connector.service import Service
from connector.tools.assistants import Confirmation, Filed, Filing, ToolContext, Unasked, Yes, ask_user, settled
from connector.tools.imports import read_apart
from connector.tools.kit import DRAFTS, ItemId, SkuCode, Tool, item_id, record_names, refusal
from pipelines.readers.requests import detection_request
from pipelines.writing import write
from schemas.actors import Actor
from schemas.fields import COMPONENT_FIELDS, SKU_FIELDS
from schemas.fields import Field as FieldRow
from schemas.files import name_as, own_name, parse_fields
from schemas.json_values import JsonObject
from schemas.normalise import Unfit
from schemas.skus.inputs import Strict, model_of, validator
from schemas.texts import in_quotes
from schemas.vocabularies import TYPES
from schemas.words import market_named
from services.conformity import documents
from services.review import compare, entries
from services.review.compare import Comparison
from services.review.entries import attach, described, facts_of
from services.skus import what_if
from warehouse import review
from warehouse.files import File, key_of
from warehouse.operate.sessions import Connection, after_commit
from warehouse.review import Entry
from warehouse.skus import queries as skus

_Fields: type[Strict] = model_of(
    "SkuChanges",
    tuple(replace(field, required=False) for field in SKU_FIELDS),
    "Fields of a SKU to change: an omitted field stays, null clears.",
)


def _with_market_codes(changes: object) -> object:
    """Return the changes with the codes of markets that are named; what names none is left to the field's own check."""
    if not isinstance(changes, dict) or not isinstance(markets := changes.get("markets"), list):
        return changes
    codes = [market_named(market) if isinstance(market, str) else market for market in markets]
    return {**changes, "markets": codes}


SkuChanges: Any = Annotated[_Fields, BeforeValidator(validator(_with_market_codes))]
"""Fields of a SKU that an assistant changes; markets by name, too (decisions §13)."""
_LINE = FieldRow("id", "uuid", "The line's id.", required=True, nullable=False)
ComponentChange: type[Strict] = model_of(
    "ComponentChange",
    (_LINE, *(replace(field, required=False) for field in COMPONENT_FIELDS if field.name != "component_type")),
    "Fields of one line to change: an omitted field stays, null clears.",
)
_AS_CHANGES: Any = WithJsonSchema({"type": ["object", "null"]})
_AS_LINES: Any = WithJsonSchema({"type": ["array", "null"], "items": {"type": "object"}})
MOST_LINES = 500

FreeChanges = Annotated[
    SkuChanges | None,
    _AS_CHANGES,
    Field(description="Fields of the item, as `changes` of propose_sku_update."),
]
ComponentChanges = Annotated[
    list[ComponentChange] | None,  # type: ignore[valid-type]
    _AS_LINES,
    Field(
        description="Parts by `id`, from get_packaging_item, with the fields to change.",
        max_length=MOST_LINES,
    ),
]


def fields_of(changes: Strict | None) -> JsonObject:
    """Return the fields that a caller sent."""
    return changes.model_dump(mode="json", exclude_unset=True) if changes is not None else {}


def lines_of(changes: list[Strict] | None) -> list[JsonObject]:
    """Return the changes of lines that a caller sent. Raise the tool's refusal where one line is named twice."""
    lines = [fields_of(change) for change in changes or ()]
    if len({change["id"] for change in lines}) < len(lines):
        raise refusal("invalid_body", "component_changes names a line twice; send its fields in one entry.")
    if any(len(change) == 1 for change in lines):
        raise refusal("invalid_body", "component_changes has an entry without a field to change.")
    return lines


def check_together(changes: JsonObject, lines: list[JsonObject]) -> None:
    """Refuse a call that changes nothing, or that replaces the graph and changes lines of it."""
    if not changes and not lines:
        raise refusal("invalid_body", "Nothing is changed: send changes or component_changes with a field to change.")
    if lines and "components" in changes:
        raise refusal(
            "invalid_body", "changes.components replaces the whole graph; send it or component_changes, not both."
        )


_MOST_NAMED = 5


def doc_draft(
    service: Service,
    who: Principal,
    *,
    sku_code: str | None,
    id: str | None,  # noqa: A002
    reference: str | None,
    lang: str,
) -> tuple[Filing, str]:
    """Draft Annex VIII for one item."""
    actor, rulesets = Actor(who.company_id, who.origin, service.clock.now()), service.rulesets
    with service.writes.company(who.company_id) as conn:
        sku_id = item_id(conn, id, sku_code)
        prepared = documents.prepare(conn, actor, sku_id, reference=reference, lang=lang, rulesets=rulesets)
    drafted, code, number = prepared.draft.as_dict(), prepared.sku_code, prepared.draft.reference

    def file(conn: Connection, key: bytes) -> Entry:
        return documents.file(conn, actor, prepared, filing_key=key)

    arguments = {"sku_id": str(sku_id), "reference": reference, "lang": lang}
    would_file = {"kind": "doc_draft", "sku_code": code, **drafted}
    question = (
        f"File a draft EU declaration of conformity {in_quotes(number)} for the packaging item {in_quotes(code)} in "
        "your review queue? "
        f"{len(prepared.draft.missing)} of its points are to be completed. Nothing is issued or signed."
    )
    return Filing("generate_doc_draft", arguments, would_file, file), question


def sku_update(
    service: Service,
    who: Principal,
    sku_code: str | None,
    id: str | None,  # noqa: A002
    *,
    changes: Strict | None,
    component_changes: list[Strict] | None,
) -> tuple[Filing, str]:
    """Propose changes to one item, checked by the write path without writing."""
    fields, lines = fields_of(changes), lines_of(component_changes)
    actor = Actor(who.company_id, who.origin, service.clock.now())
    check_together(fields, lines)
    with service.writes.company(who.company_id) as conn:
        sku_id = item_id(conn, id, sku_code)
        code = str(skus.code_of(conn, sku_id))
        if fields.get("sku_code", code) != code:
            raise refusal(
                "sku_code_mismatch",
                f"This item has the sku_code {in_quotes(code)}. Leave sku_code out: another code is given with "
                "PATCH /skus/{id}, and no proposal renames.",
            )
        entry = what_if.unfiled(actor, sku_id, {**fields, "sku_code": code}, lines)
        compared = compare.compare(conn, actor, entry, rulesets=service.rulesets)
        proposed = effect(compared)
        names = record_names(conn, proposed["changes"])
    if compared.refused is not None:
        raise refusal("invalid_body", compared.refused)

    def file(conn: Connection, key: bytes) -> Entry:
        return entries.file(conn, actor, "sku_update", entry.payload, sku_id=sku_id, filing_key=key)

    arguments = {"sku_id": str(sku_id), "changes": fields, **({"component_changes": lines} if lines else {})}
    would_file = {"kind": "sku_update", "sku_code": code, **proposed, "names": names}
    return Filing("propose_sku_update", arguments, would_file, file), _asking(code, compared)


def effect(compared: Comparison) -> dict[str, object]:
    """Return what changes would do to an item: fields now and then, lines that would go, grade before and after."""
    before, after = compared.before, compared.after
    return {
        "changes": [change._asdict() for change in compared.changes],
        "components_removed": [described(facts_of(line)) for line in compared.removed],
        "grade_before": before and {"grade": before.grade, "score": before.score, "reason": before.reason},
        "grade_after": after and {"grade": after.grade, "score": after.score, "reason": after.reason},
        "flags_after": after.flags if after else [],
        "warnings": [warning.as_dict() for warning in compared.warnings],
    }


def _asking(code: str, compared: Comparison) -> str:
    """Return the question: it names every component that would go or is addressed, and the first of the changes."""
    texts_of_changes = [
        f"{change.field}: {_as_quoted(change.now)} → {_as_quoted(change.then)}"
        for change in compared.changes[:_MOST_NAMED]
    ]
    more = len(compared.changes) - len(texts_of_changes)
    gone = ", ".join(described(facts_of(line)) for line in compared.removed)
    about = ", ".join(described(part.now) for part in compared.asked if part.now)
    grades = f"{compared.before and compared.before.grade} → {compared.after and compared.after.grade}"
    return (
        f"File this proposal for the packaging item {in_quotes(code)} in your review queue? "
        f"{f'It REMOVES {len(compared.removed)} of its components: {gone}. ' if gone else ''}"
        f"{f'It is about {about}. ' if about else ''}"
        f"{'; '.join(texts_of_changes)}{f'; and {more} more fields' if more else ''}. Grade (indicative): {grades}. "
        "The record stays as it is until a person accepts."
    )


def _as_quoted(value: object) -> object:
    """Return a value as a question shows it: a text in quotes that it cannot end."""
    return in_quotes(value) if isinstance(value, str) else value


MOST_BASE64: Final = 2_000_000
"""Characters of 1.5 MB, which fit a message to the connector. Larger files go to `POST /skus/{id}/files`."""
Type: Any = Literal[tuple(TYPES)]
_TEXTS: Final = ("reference", "issuer")
_DAYS: Final = ("issued_on", "expires_on")


class Document(BaseModel):
    """The document and what is known of it."""

    model_config = ConfigDict(extra="forbid")

    type: Annotated[Type, Field(description="What the document is.")]
    filename: Annotated[str, Field(description="Its name with the ending, such as report.pdf.", max_length=255)]
    content_base64: Annotated[
        str,
        Field(
            description="Its bytes in base64, 1.5 MB at most: PDF, PNG, JPEG, WebP, Word or Excel.",
            max_length=MOST_BASE64,
        ),
    ]
    reference: Annotated[str | None, Field(description="The document's own reference.", max_length=2000)] = None
    issuer: Annotated[str | None, Field(description="Who issued it.", max_length=2000)] = None
    issued_on: Annotated[date | None, Field(description="ISO date.")] = None
    expires_on: Annotated[date | None, Field(description="ISO date; its last day.")] = None


async def supplier_document(
    service: Service,
    who: Principal,
    sku_code: str | None,
    id: str | None,  # noqa: A002
    sent: Document,
) -> tuple[Filing, str]:
    """Return the filing of one document and the question for the user."""
    data = await to_thread.run_sync(_bytes, sent)
    sku_id, code = await to_thread.run_sync(_item, service, who, id, sku_code)
    file = await _received(service, who, sent, data)
    about = {
        "type": sent.type,
        "filename": file.filename,
        "media_type": file.media_type,
        "size_bytes": len(data),
        "sha256": file.sha256,
        **{name: getattr(file, name) for name in (*_TEXTS, *_DAYS)},
    }

    object_key = key_of(who.company_id, file.id)

    def filed(conn: Connection, key: bytes) -> Entry:
        actor = Actor(who.company_id, who.origin, service.clock.now())
        entry = entries.file(conn, actor, "supplier_document", about, sku_id=sku_id, filing_key=key)
        if filed_before := review.of_entry(conn, entry.id):
            if all(document.id != file.id for document in filed_before):  # the document of then stays
                after_commit(conn, lambda: service.objects.remove(object_key))
            return entry
        try:
            write.admit(conn, service.objects, who.company_id, new_bytes=len(data), now=actor.now)
        except write.StorageFull as full:
            raise refusal(full.code, str(full)) from None
        attach(conn, actor, file, entry_id=entry.id)
        return entry

    arguments = {"sku_id": str(sku_id), "about": about}
    question = (
        f"File the document {in_quotes(file.filename)} ({sent.type}, {len(data)} bytes, SHA-256 {file.sha256}) for "
        f"the packaging item {in_quotes(code)} in your review queue? It becomes a technical file only if a "
        "person accepts it."
    )
    would_file = {"kind": "supplier_document", "sku_code": code, **about}
    filing = Filing("submit_supplier_document", arguments, would_file, filed, (object_key, data))
    return filing, question


def _bytes(sent: Document) -> bytes:
    try:
        data = base64.b64decode(sent.content_base64, validate=True)
    except binascii.Error:
        raise refusal("invalid_format", "content_base64 is no base64; send the file's bytes in it.") from None
    if not data:
        raise refusal("required", "The document is empty; send its bytes.")
    return data


def _item(service: Service, who: Principal, id: str | None, sku_code: str | None) -> tuple[UUID, str | None]:  # noqa: A002
    with service.writes.company(who.company_id) as conn:
        sku_id = item_id(conn, id, sku_code)
        return sku_id, skus.code_of(conn, sku_id)


async def _received(service: Service, who: Principal, sent: Document, data: bytes) -> File:
    """Return the document as a received file, with its media type checked as for an upload."""
    texts = {name: getattr(sent, name) for name in _TEXTS} | {
        name: value.isoformat() for name in _DAYS if (value := getattr(sent, name)) is not None
    }
    fields, issues = parse_fields({"type": sent.type, **{name: text for name, text in texts.items() if text}})
    if issues:
        raise refusal(issues[0].code, issues[0].message)
    try:
        name = own_name(sent.filename)
        kind = await read_apart(service, who.company_id, detection_request(data, None))
    except Unfit as unfit:
        raise refusal(unfit.code, unfit.message) from None
    sha256 = hashlib.sha256(data).hexdigest()
    return File(UUID(str(uuid7())), name_as(name, kind), kind.media_type, len(data), sha256, **fields)


Language: Any = Annotated[Literal[offered_languages()], Field(description="Language of the draft.")]


def tools(service: Service) -> list[Tool]:
    """Return the tools with their titles."""
    return [
        Tool(_doc_draft(service), "Draft a declaration of conformity", DRAFTS),
        Tool(_sku_update(service), "Propose an update", DRAFTS),
        Tool(_supplier_document(service), "Submit a supplier's document", DRAFTS),
    ]


def _doc_draft(service: Service) -> Callable[..., object]:
    def confirm(
        *,
        ctx: ToolContext,
        sku_code: str | None,
        id: str | None,  # noqa: A002  (the contract's name)
        reference: str | None,
        lang: str,
        confirmation: str | None,
    ) -> Elicit[Yes] | Unasked:
        _, question = doc_draft(service, current_principal(), sku_code=sku_code, id=id, reference=reference, lang=lang)
        return ask_user(ctx, question, confirmation)

    def generate_doc_draft(
        *,
        answer: Annotated[ElicitationResult[Yes], Resolve(confirm)],
        sku_code: SkuCode = None,
        id: ItemId = None,  # noqa: A002
        reference: Annotated[str | None, Field(description="The company's reference for it.", max_length=200)] = None,
        lang: Language = "en",
        confirmation: Confirmation = None,
    ) -> Filed:
        """Draft an EU Declaration of Conformity (PPWR Annex VIII) for one packaging item, for a person to review.

        Points are filled from the records; what is missing is listed. The user is asked first. It waits in the review
        queue: nothing is issued or signed.
        """
        filing, _ = doc_draft(service, current_principal(), sku_code=sku_code, id=id, reference=reference, lang=lang)
        return settled(service, current_principal(), filing, answer, confirmation)

    return generate_doc_draft


def _sku_update(service: Service) -> Callable[..., object]:
    def confirm(
        *,
        ctx: ToolContext,
        changes: Strict | None,
        component_changes: list[Strict] | None,
        sku_code: str | None,
        id: str | None,  # noqa: A002
        confirmation: str | None,
    ) -> Elicit[Yes] | Unasked:
        _, question = sku_update(
            service, current_principal(), sku_code, id, changes=changes, component_changes=component_changes
        )
        return ask_user(ctx, question, confirmation)

    def propose_sku_update(
        *,
        answer: Annotated[ElicitationResult[Yes], Resolve(confirm)],
        changes: Annotated[
            SkuChanges | None,
            Field(
                description="Only the fields to change; null clears, components replaces the whole graph: "
                "to change some use component_changes."
            ),
        ] = None,
        component_changes: ComponentChanges = None,
        sku_code: SkuCode = None,
        id: ItemId = None,  # noqa: A002  (the contract's name)
        confirmation: Confirmation = None,
    ) -> Filed:
        """Propose changes to one packaging item or component: each field now and then, grade before and after.

        The user is asked first. The record changes only if a person accepts it in the review queue. To only try a
        change use what_if.
        """
        filing, _ = sku_update(
            service, current_principal(), sku_code, id, changes=changes, component_changes=component_changes
        )
        return settled(service, current_principal(), filing, answer, confirmation)

    return propose_sku_update


def _supplier_document(service: Service) -> Callable[..., object]:
    async def confirm(
        *,
        ctx: ToolContext,
        document: Document,
        sku_code: str | None,
        id: str | None,  # noqa: A002
        confirmation: str | None,
    ) -> Elicit[Yes] | Unasked:
        _, question = await supplier_document(service, current_principal(), sku_code, id, document)
        return ask_user(ctx, question, confirmation)

    async def submit_supplier_document(
        *,
        answer: Annotated[ElicitationResult[Yes], Resolve(confirm)],
        document: Annotated[Document, Field(description="The document.")],
        sku_code: SkuCode = None,
        id: ItemId = None,  # noqa: A002
        confirmation: Confirmation = None,
    ) -> Filed:
        """File a document that a supplier sent (test report, certificate, declaration) for one packaging item.

        At most 1.5 MB. The user is asked first. It becomes a technical file of the item only if a person accepts it in
        the review queue.
        """
        filing, _ = await supplier_document(service, current_principal(), sku_code, id, document)
        return await to_thread.run_sync(settled, service, current_principal(), filing, answer, confirmation)

    return submit_supplier_document
