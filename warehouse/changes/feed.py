"""Reads a company's changes in the order of their commits, from a place in its ledger on.

Entries have numbers without gaps in the order of the commits (decision 0009), so a page is a range of numbers. It ends
before the first ledger transaction that nobody has stamped as visible yet (decision 0033): a stamp is stored by a
transaction that waits for the disk, so that what a page shows survives a crash, and its numbers are never given to
other entries. What belongs here: the one query. What does not: records (`services.changes`).
"""

from base64 import urlsafe_b64decode
from binascii import Error
from collections.abc import Sequence
from typing import Any, Final, NamedTuple  # Any: a page, and what the statement answers beside its rows

from schemas.changes import CHANGE_TYPES, Change, ChangeListResponse
from warehouse.operate.sessions import Connection
from warehouse.pages import Listing
from warehouse.skus import queries as skus

_MARK_BYTES: Final = 8
_NUMBER_BYTES: Final = 8
_TEXT_LENGTH: Final = 22
"""Characters of both in Base64 without its padding."""

MARK: Final = f"substr({{hash}}, 1, {_MARK_BYTES})"
"""The part of a link's hash, an SQL expression, that a cursor has."""


class Place(NamedTuple):
    """A place in a ledger: behind the entry of this number, 0 for its beginning."""

    number: int
    mark: bytes


BEGINNING: Final = Place(0, b"")


def sql(number: str, link_hash: str) -> str:
    """Return SQL for the cursor behind an entry, from expressions for its number and for the hash of its link."""
    content = f"int8send({number}) || {MARK.format(hash=link_hash)}"
    return f"rtrim(translate(encode({content}, 'base64'), '+/', '-_'), '=')"


def read_cursor(text: str) -> Place | None:
    """Return the place of a cursor; None for a text that is none."""
    if len(text) != _TEXT_LENGTH or not text.isascii():
        return None
    try:
        content = urlsafe_b64decode(text + "==")
    except (Error, ValueError):
        return None
    if len(content) != _NUMBER_BYTES + _MARK_BYTES or content[0] >= 0x80:
        return None
    return Place(int.from_bytes(content[:_NUMBER_BYTES]), content[_NUMBER_BYTES:])


_HORIZON: Final = """
unstamped AS MATERIALIZED (
    SELECT number FROM audit_transactions WHERE visible_at IS NULL
), horizon AS MATERIALIZED (
    SELECT first_entry + entries - 1 AS upto, hash FROM audit_transactions
    WHERE number = coalesce((SELECT min(number) - 1 FROM unstamped), (SELECT links FROM company_counters))
)"""
_UPTO: Final = "coalesce((SELECT upto FROM horizon), 0)"
_BEGINNING: Final = sql("0::bigint", r"'\x0000000000000000'::bytea")
_KNOWN: Final = f"""(%(number)s::bigint = 0 OR EXISTS (
    SELECT FROM audit_entries AS e JOIN audit_transactions AS t ON t.id = e.transaction_id
    WHERE e.id = %(number)s::bigint AND {MARK.format(hash="t.hash")} = %(mark)s::bytea))"""
"""Whether the place is one of this ledger."""

_OF_SKU: Final = """CASE
    WHEN chosen.version IS NOT NULL THEN chosen.resource_id::uuid
    WHEN chosen.action LIKE 'doc.%%' THEN (SELECT docs.sku_id FROM docs WHERE docs.id = chosen.resource_id::uuid)
    WHEN chosen.action LIKE 'technical_file.%%'
        THEN (SELECT (entry.after ->> 'sku_id')::uuid FROM audit_entries AS entry WHERE entry.id = chosen.id) END"""
_CHANGE: Final = f"""
SELECT chosen.transaction_id || '.' || chosen.id AS id, {sql("chosen.id", "t.hash")} AS cursor,
       t.at, chosen.action AS type, split_part(chosen.action, '.', 1) AS resource_type,
       chosen.resource_id, of_sku.id AS sku_id, sku.sku_code, chosen.version, t.actor_type
FROM chosen
CROSS JOIN LATERAL (SELECT * FROM audit_transactions AS t WHERE t.id = chosen.transaction_id OFFSET 0) AS t
CROSS JOIN LATERAL (SELECT {_OF_SKU} AS id) AS of_sku
LEFT JOIN LATERAL {skus.name_query("of_sku.id")} AS sku ON true"""


def page(place: Place, limit: int, types: Sequence[str] | None = None, *, from_now: bool = False) -> Listing[Change]:
    """Return the question for the changes behind a place, of these types or of all; `changes_of` reads its answer.

    With `from_now` the page is empty and its cursor is the ledger's end.
    """
    first = _UPTO if from_now else "%(number)s::bigint"
    sql_of_page = f"""
WITH {_HORIZON}, found AS MATERIALIZED (
    SELECT e.id, e.transaction_id, e.action, e.resource_id, e.version FROM audit_entries AS e
    WHERE e.id > {first} AND e.id <= {_UPTO} AND e.action = ANY(%(types)s::text[])
    ORDER BY e.id LIMIT {limit + 1:d}
), chosen AS MATERIALIZED (
    SELECT * FROM found ORDER BY id LIMIT {limit:d}
), change AS MATERIALIZED ({_CHANGE} ORDER BY chosen.id)
SELECT whole.*, change.* FROM (
    SELECT (SELECT count(*) FROM found) AS total, {_KNOWN} AS is_known,
           coalesce((SELECT {sql("horizon.upto", "horizon.hash")} FROM horizon), {_BEGINNING}) AS horizon
) AS whole LEFT JOIN (SELECT true AS is_item, * FROM change) AS change ON true"""
    return Listing(sql_of_page, limit, 0, ("is_known", "horizon"), parameters(place, types))


def parameters(place: Place, types: Sequence[str] | None = None) -> dict[str, object]:
    """Return the parameters of `page`; without `types` it has the changes of every type."""
    return {"number": place.number, "mark": place.mark, "types": list(CHANGE_TYPES if types is None else types)}


def changes_of(page: Any, *, is_known: bool = False) -> ChangeListResponse | None:
    """Return the changes of a `page`; None where the company's ledger has no such place, unless it `is_known`.

    The cursor is another company's then, or a backup was restored since. The next one is behind the changes of other
    types too, up to the next one of these.
    """
    if not (is_known or page["is_known"]):
        return None
    data, has_more = page["data"], page["pagination"]["total"] > page["pagination"]["limit"]
    return {"data": data, "next_cursor": data[-1]["cursor"] if has_more else page["horizon"], "has_more": has_more}


def read(connection: Connection, place: Place, limit: int) -> ChangeListResponse | None:
    """Return the page behind a place of the session's company; None where its ledger has no such place."""
    return changes_of(page(place, limit).read(connection))


def behind(connection: Connection, number: int, limit: int, types: Sequence[str] | None) -> ChangeListResponse:
    """Return the page, of these types, behind an entry whose number the service stored, of the session's company."""
    changes = changes_of(page(Place(number, b""), limit, types).read(connection), is_known=True)
    assert changes is not None, "a place that is known has a page"
    return changes


def is_known(connection: Connection, place: Place) -> bool:
    """Return whether a place is one of the ledger of the session's company."""
    return connection.execute(f"SELECT {_KNOWN}", parameters(place)).fetchone() == (True,)


def end(connection: Connection) -> int:
    """Return the number of the last entry of the session's company."""
    row = connection.execute("SELECT audit_entries FROM company_counters").fetchone()
    return int(row[0]) if row else 0
