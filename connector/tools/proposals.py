"""Prepares the filings about a packaging item: a draft declaration, or changes with their effect.

Each function returns the filing and the question for the user. Only `Filing.file` writes.
"""

from typing import Literal

from connector.principal import Principal
from connector.service import Service
from connector.tools.answer import refusal
from connector.tools.arguments import item_id
from connector.tools.asking import Filing
from connector.tools.changes import check_together, given, given_lines
from pipelines.answers.parts import described, facts_of
from schemas.models import Strict
from services import documents, review, what_if
from services.review import Comparison, Entry
from warehouse.sessions import Connection
from warehouse.skus import queries as skus

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
    *,
    changes: Strict | None,
    component_changes: list[Strict] | None,
) -> tuple[Filing, str]:
    """Propose changes to one item, checked by the write path without writing."""
    fields, lines, now = given(changes), given_lines(component_changes), service.clock.now()
    check_together(fields, lines)
    with service.writes.company(who.company_id) as conn:
        sku_id = item_id(conn, id, sku_code)
        code = str(skus.code_of(conn, sku_id))
        if fields.get("sku_code", code) != code:
            raise refusal("sku_code_mismatch", f"This item has the sku_code “{code}”; a code never changes.")
        named = {**fields, "sku_code": code}
        entry = what_if.unfiled(sku_id, named, lines, by=(str(who.connection_id), who.client_name), now=now)
        compared = review.compare(conn, who.company_id, entry, now=now, rulesets=service.rulesets)
    if compared.refused is not None:
        raise refusal("invalid_body", compared.refused)

    def file(conn: Connection, key: bytes) -> Entry:
        return review.file(
            conn, who.company_id, "sku_update", entry.payload, origin=who.origin, now=now, sku_id=sku_id, filing_key=key
        )

    arguments = {"sku_id": str(sku_id), "changes": fields, **({"component_changes": lines} if lines else {})}
    would_file = {"kind": "sku_update", "sku_code": code, **effect(compared)}
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
    named = [f"{change.field}: {change.now} → {change.then}" for change in compared.changes[:_MOST_NAMED]]
    more = len(compared.changes) - len(named)
    gone = ", ".join(described(facts_of(line)) for line in compared.removed)
    about = ", ".join(described(part.now) for part in compared.asked if part.now)
    grades = f"{compared.before and compared.before.grade} → {compared.after and compared.after.grade}"
    return (
        f"File this proposal for the packaging item “{code}” in your review queue? "
        f"{f'It REMOVES {len(compared.removed)} of its components: {gone}. ' if gone else ''}"
        f"{f'It is about {about}. ' if about else ''}"
        f"{'; '.join(named)}{f'; and {more} more fields' if more else ''}. Grade (indicative): {grades}. "
        "The record stays as it is until a person accepts."
    )
