"""Prepares the filings about a packaging item: a draft declaration, or changes with their effect.

Each function returns the filing and the question for the user. Only `Filing.file` writes.
"""

from dataclasses import replace
from datetime import datetime
from typing import Literal
from uuid import UUID

from connector.principal import Principal
from connector.service import Service
from connector.tools.answer import refusal
from connector.tools.arguments import item_id
from connector.tools.asking import Filing
from schemas.fields import SKU_FIELDS
from schemas.models import Strict, model_of
from services import documents, review
from services.review import Comparison, Entry
from warehouse.sessions import Connection
from warehouse.skus import queries as skus

SkuChanges: type[Strict] = model_of(
    "SkuChanges",
    tuple(replace(field, required=False) for field in SKU_FIELDS),
    "Fields of a SKU to change: an omitted field stays, null clears.",
)
_MOST_NAMED = 5


def doc_draft(
    service: Service,
    who: Principal,
    *,
    sku_code: str | None,
    id: str | None,  # noqa: A002
    reference: str | None,
    lang: Literal["en", "fr", "de"],
) -> tuple[Filing, str]:
    """Draft Annex VIII for one item."""
    now = service.clock.now()
    with service.writes.company(who.company_id) as conn:
        sku_id = item_id(conn, id, sku_code)
        prepared = documents.prepare(conn, sku_id, reference=reference, lang=lang, now=now, rulesets=service.rulesets)
    drafted, code, named = prepared.draft.as_dict(), prepared.sku_code, prepared.draft.reference

    def file(conn: Connection, key: bytes) -> Entry:
        return documents.file(conn, who.company_id, prepared, origin=who.origin, now=now, filing_key=key)

    arguments = {"sku_id": str(sku_id), "reference": reference, "lang": lang}
    would_file = {"kind": "doc_draft", "sku_code": code, **drafted}
    question = (
        f"File a draft EU declaration of conformity “{named}” for the packaging item “{code}” in your review queue? "
        f"{len(prepared.draft.missing)} of its points are to be completed. Nothing is issued or signed."
    )
    return Filing("generate_doc_draft", arguments, would_file, file), question


def sku_update(
    service: Service,
    who: Principal,
    sku_code: str | None,
    id: str | None,  # noqa: A002
    changes: Strict,
) -> tuple[Filing, str]:
    """Propose changes to one item, checked by the write path without writing."""
    given, now = changes.model_dump(mode="json", exclude_unset=True), service.clock.now()
    if not given:
        raise refusal("invalid_body", "changes is empty; send at least one field to change.")
    with service.writes.company(who.company_id) as conn:
        sku_id = item_id(conn, id, sku_code)
        code = str(skus.code_of(conn, sku_id))
        if given.get("sku_code", code) != code:
            raise refusal("sku_code_mismatch", f"This item has the sku_code “{code}”; a code never changes.")
        payload: dict[str, object] = {"changes": {**given, "sku_code": code}}
        entry = _unfiled(sku_id, payload, who, now)
        compared = review.compare(conn, who.company_id, entry, now=now, rulesets=service.rulesets)
    if compared.refused is not None:
        raise refusal("invalid_body", compared.refused)

    def file(conn: Connection, key: bytes) -> Entry:
        return review.file(
            conn, who.company_id, "sku_update", payload, origin=who.origin, now=now, sku_id=sku_id, filing_key=key
        )

    arguments = {"sku_id": str(sku_id), "changes": given}
    would_file = {"kind": "sku_update", "sku_code": code, **_effect(compared)}
    return Filing("propose_sku_update", arguments, would_file, file), _asking(code, compared)


def _unfiled(sku_id: UUID, payload: dict[str, object], who: Principal, now: datetime) -> Entry:
    """Return the entry before it is filed, for the comparison that a reviewer will see."""
    return Entry(
        id=sku_id,
        kind="sku_update",
        state="open",
        sku_id=sku_id,
        request_id=None,
        payload=payload,
        filed_by_type="connection",
        filed_by_id=str(who.connection_id),
        filed_by_name=who.client_name,
        filed_at=now,
        decided_by_name=None,
        decided_at=None,
        reason=None,
        sku_code=None,
        sku_name=None,
    )


def _effect(compared: Comparison) -> dict[str, object]:
    before, after = compared.before, compared.after
    return {
        "changes": [change._asdict() for change in compared.changes],
        "grade_before": before and {"grade": before.grade, "score": before.score, "reason": before.reason},
        "grade_after": after and {"grade": after.grade, "score": after.score, "reason": after.reason},
        "flags_after": after.flags if after else [],
        "warnings": [warning.as_dict() for warning in compared.warnings],
    }


def _asking(code: str, compared: Comparison) -> str:
    named = [f"{change.field}: {change.now} → {change.then}" for change in compared.changes[:_MOST_NAMED]]
    more = len(compared.changes) - len(named)
    grades = f"{compared.before and compared.before.grade} → {compared.after and compared.after.grade}"
    return (
        f"File this proposal for the packaging item “{code}” in your review queue? {'; '.join(named)}"
        f"{f'; and {more} more' if more else ''}. Grade (indicative): {grades}. The record stays as it is until a "
        "person accepts."
    )
