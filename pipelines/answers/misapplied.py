"""Finds answers that were written to a part that is another one than the part that was asked about.

Earlier releases matched parts by type and order, so that an id could move to another part between question and answer
(decisions §13). Nothing is changed: whether what was written is true of the part is for a person to say.
"""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from pipelines.answers.parts import facts_of, is_another, named_ids
from schemas.sku import PartFacts
from warehouse.review import applied
from warehouse.sessions import Connection


class Misapplied(NamedTuple):
    """An accepted answer or proposal: the part that it was about, and the one that it was written to.

    `kind` is that of the review entry; `filed_by` the supplier or connection, `decided_by` the person who accepted.
    """

    entry_id: UUID
    kind: str
    sku_id: UUID
    sku_code: str | None
    component_id: str
    asked: PartFacts
    written_to: PartFacts
    filed_by: str | None
    decided_by: str | None
    decided_at: datetime


def find_misapplied(conn: Connection) -> list[Misapplied]:
    """Return them for the session's company, the latest decision first, each part of an answer by itself.

    Decisions of this release are none: the person was shown what differs.
    """
    found: list[Misapplied] = []
    for answer in applied.of_company(conn):
        kept = answer.payload.get("asked") or answer.asked or {}
        then = {line["id"]: facts_of(line) for line in answer.lines_asked}
        met = {line["id"]: facts_of(line) for line in answer.lines_met}
        for part in named_ids(answer.kind, answer.payload):
            asked, written_to = kept.get(part) or then.get(part), met.get(part)
            if asked is None or written_to is None:
                continue
            moved = [facts for line_id, facts in met.items() if line_id != part and then.get(line_id) != facts]
            if is_another(asked, written_to, moved):
                found.append(
                    Misapplied(
                        entry_id=answer.entry_id,
                        kind=answer.kind,
                        sku_id=answer.sku_id,
                        sku_code=answer.sku_code,
                        component_id=part,
                        asked=asked,
                        written_to=written_to,
                        filed_by=answer.filed_by,
                        decided_by=answer.decided_by,
                        decided_at=answer.decided_at,
                    )
                )
    return found
