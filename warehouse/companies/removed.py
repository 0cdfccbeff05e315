"""Stores what stays of a removed company: the hashes of its audit chain, its certificate, and how far the removal is.

No name, address or value of the company is among it. The application's role may not read it; all connections are the
owner's. A row without `ended_at` is a removal that was cut off.
"""

from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

from psycopg.types.json import Json

from warehouse.sessions import Connection

_HEAD: Final = """
SELECT slug, links, audit_entries, chain_hash, sandbox_of
FROM company_counters JOIN companies ON companies.id = company_id WHERE company_id = %s
"""
_LOCK: Final = f"{_HEAD} FOR UPDATE OF company_counters"
_LOADED: Final = """
SELECT count(*), min(loaded.first_entry) FILTER (WHERE kept.hash IS DISTINCT FROM loaded.hash)
FROM pg_temp.audit_transactions AS loaded
LEFT JOIN removed_links AS kept ON kept.company = loaded.company_id AND kept.number = loaded.number
WHERE loaded.company_id = %s
"""
_CLOSE: Final = (
    "UPDATE api_keys SET revoked_at = %(at)s WHERE company_id = %(id)s AND revoked_at IS NULL",
    "UPDATE connections SET revoked_at = %(at)s WHERE company_id = %(id)s AND revoked_at IS NULL",
    "DELETE FROM user_sessions WHERE company_id = %(id)s",
    "DELETE FROM bearer_tokens WHERE company_id = %(id)s",
)
_KEEP_LINKS: Final = """
INSERT INTO removed_links (company, number, entries, hash)
SELECT company_id, number, entries, hash FROM audit_transactions WHERE company_id = %s
"""
_BEGIN: Final = """
INSERT INTO removed_companies (company, slug, sandbox_of, begun_at, rows, links, entries, chain_hash, hashes)
SELECT %(id)s, %(slug)s, %(sandbox_of)s, %(at)s, %(rows)s, %(links)s, %(entries)s, %(head)s,
    (SELECT sha256(coalesce(string_agg(hash, ''::bytea ORDER BY number), '')) FROM removed_links WHERE company = %(id)s)
"""
_OF: Final = """
SELECT company, slug, begun_at, ended_at, rows, links, entries, chain_hash, hashes, certificate
FROM removed_companies WHERE company = %s
"""
_END: Final = "UPDATE removed_companies SET slug = NULL, ended_at = %s, certificate = %s WHERE company = %s"
_DIFFERS: Final = """
SELECT count(*) = %(links)s AND coalesce(sum(entries), 0) = %(entries)s
    AND sha256(coalesce(string_agg(hash, ''::bytea ORDER BY number), '')) = %(hashes)s
    AND coalesce((array_agg(hash ORDER BY number DESC))[1] = %(head)s, %(links)s = 0)
FROM removed_links WHERE company = %(id)s
"""


class Chain(NamedTuple):
    """The head of a company's audit chain, the slug by which Dagster knows it, and whose sandbox the company is."""

    slug: str
    links: int
    entries: int
    head: bytes | None
    sandbox_of: UUID | None


class Removed(NamedTuple):
    """What stays of a company; `slug` until the removal has ended, `rows` the number removed from each table."""

    company: UUID
    slug: str | None
    begun_at: datetime
    ended_at: datetime | None
    rows: dict[str, int]
    links: int
    entries: int
    head: bytes | None
    hashes: bytes
    certificate: dict[str, object] | None


def close(owner: Connection, company_id: UUID, at: datetime) -> None:
    """End every credential of a company, so that nobody begins a write."""
    for statement in _CLOSE:
        owner.execute(statement, {"id": company_id, "at": at})


def head(owner: Connection, company_id: UUID) -> Chain | None:
    """Return the head of the chain as the transaction sees it; None where there is no such company."""
    row = owner.execute(_HEAD, [company_id]).fetchone()
    return None if row is None else Chain(*row)


def lock(owner: Connection, company_id: UUID) -> Chain | None:
    """Return the same, and let no write move it until the commit."""
    row = owner.execute(_LOCK, [company_id]).fetchone()
    return None if row is None else Chain(*row)


def keep_links(owner: Connection, company_id: UUID) -> None:
    """Keep the hash of every link, before the ledger is erased."""
    owner.execute(_KEEP_LINKS, [company_id])


def begin(owner: Connection, company_id: UUID, chain: Chain, rows: dict[str, int], at: datetime) -> None:
    """Note that the rows are erased, in the transaction that erases them."""
    owner.execute(_BEGIN, {**chain._asdict(), "id": company_id, "at": at, "rows": Json(rows)})
    owner.execute("DELETE FROM launches WHERE company = %s", [chain.slug])


def of(owner: Connection, company_id: UUID) -> Removed | None:
    """Return what stays of a removed company; None where none of that id was removed."""
    row = owner.execute(_OF, [company_id]).fetchone()
    return None if row is None else Removed(*row)


def end(owner: Connection, company_id: UUID, certificate: dict[str, object], at: datetime) -> None:
    """Note the certificate of a removal that is complete; the slug, made from the company's name, goes."""
    owner.execute(_END, [at, Json(certificate), company_id])


def agrees(owner: Connection, removed: Removed) -> bool:
    """Return whether the kept hashes are those that the removal noted."""
    given = {"links": removed.links, "entries": removed.entries, "hashes": removed.hashes, "head": removed.head}
    return owner.execute(_DIFFERS, {**given, "id": removed.company}).fetchone() == (True,)


class Loaded(NamedTuple):
    """How many links an export has, and the first entry of the first whose hash is not the one that stayed."""

    links: int
    differs: int | None


def loaded(owner: Connection, company_id: UUID) -> Loaded:
    """Return how the chain of an export, in temporary tables (`belongings.load_apart`), agrees with what stayed."""
    row = owner.execute(_LOADED, [company_id]).fetchone()
    return Loaded(*(row or (0, None)))
