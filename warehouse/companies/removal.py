"""Stores what stays of a removed company: the hashes of its audit chain, its certificate, and how far the removal is.

No name, address or value of the company is among it. The application's role may not read it; all connections are the
owner's. A row without `ended_at` is a removal that was cut off.
"""

import gzip
import re
from datetime import datetime
from graphlib import TopologicalSorter
from pathlib import Path
from typing import IO, Final, NamedTuple
from uuid import UUID

from psycopg import sql
from psycopg.types.json import Json

from warehouse.operate.backup import take
from warehouse.operate.backup.take import OURS
from warehouse.operate.sessions import Connection

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


def find_removal(owner: Connection, company_id: UUID) -> Removed | None:
    """Return what stays of a removed company; None where none of that id was removed."""
    row = owner.execute(_OF, [company_id]).fetchone()
    return None if row is None else Removed(*row)


def end(owner: Connection, company_id: UUID, certificate: dict[str, object], at: datetime) -> None:
    """Note the certificate of a removal that is complete; the slug, made from the company's name, goes."""
    owner.execute(_END, [at, Json(certificate), company_id])


def agrees(owner: Connection, removed: Removed) -> bool:
    """Return whether the kept hashes are those that the removal noted."""
    counts = {"links": removed.links, "entries": removed.entries, "hashes": removed.hashes, "head": removed.head}
    return owner.execute(_DIFFERS, {**counts, "id": removed.company}).fetchone() == (True,)


class Loaded(NamedTuple):
    """How many links an export has, and the first entry of the first whose hash is not the one that stayed."""

    links: int
    differs: int | None


def loaded(owner: Connection, company_id: UUID) -> Loaded:
    """Return how the chain of an export, in temporary tables (`load_apart`), agrees with what stayed."""
    row = owner.execute(_LOADED, [company_id]).fetchone()
    return Loaded(*(row or (0, None)))


_SECURED: Final = """
SELECT relname FROM pg_class
WHERE relnamespace = to_regnamespace(%s) AND relkind = 'r' AND relrowsecurity AND relforcerowsecurity ORDER BY relname
"""
_KEYS: Final = """
SELECT from_table.relname, to_table.relname FROM pg_constraint
JOIN pg_class AS from_table ON from_table.oid = conrelid JOIN pg_class AS to_table ON to_table.oid = confrelid
WHERE contype = 'f' AND connamespace = to_regnamespace(%s) AND conrelid <> confrelid
"""
_CREDENTIAL: Final = re.compile(r"(token|key|code|password)_hash$|secret")
_ANSWERS: Final = {("kept_answers", "body"), ("confirmations", "meaning")}
"""Columns that may repeat a link or a key which was shown once."""


class Belonging(NamedTuple):
    """A table with rows of companies: the column that names the company, and the columns that may leave the service."""

    name: str
    company: str
    columns: list[str]
    withheld: list[str]


def of_companies(owner: Connection) -> list[Belonging]:
    """Return every table with rows of companies, those that name rows of others before those others."""
    columns = take.columns_of(owner, OURS)
    names = [name for (name,) in owner.execute(_SECURED, (OURS,)).fetchall()]
    tables = {}
    for name in names:
        withheld = [column for column in columns[name] if _CREDENTIAL.search(column) or (name, column) in _ANSWERS]
        kept = [column for column in columns[name] if column not in withheld]
        tables[name] = Belonging(name, "company_id" if "company_id" in columns[name] else "id", kept, withheld)
    order = TopologicalSorter[str](dict.fromkeys(names, ()))
    for by, to in owner.execute(_KEYS, (OURS,)).fetchall():
        order.add(to, by)
    return [tables[name] for name in order.static_order() if name in tables]


def copy_out(owner: Connection, table: Belonging, company_id: UUID, path: Path) -> int:
    """Write the company's rows into a compressed CSV file with a header; return how many."""
    query = sql.SQL("COPY (SELECT {} FROM {} WHERE {} = {}) TO STDOUT (FORMAT csv, HEADER)").format(
        sql.SQL(", ").join(map(sql.Identifier, table.columns)),
        sql.Identifier(OURS, table.name),
        sql.Identifier(table.company),
        sql.Literal(company_id),
    )
    cursor = owner.cursor()
    with gzip.open(path, "wb", compresslevel=1) as file, cursor.copy(query) as copy:
        for block in copy:
            file.write(block)
    return cursor.rowcount


def erase(owner: Connection, table: Belonging, company_id: UUID) -> int:
    """Remove the company's rows of a table; return how many."""
    where = sql.SQL("DELETE FROM {} WHERE {} = {}").format(
        sql.Identifier(OURS, table.name), sql.Identifier(table.company), sql.Literal(company_id)
    )
    return owner.execute(where).rowcount


def load_apart(owner: Connection, name: str, file: IO[bytes]) -> None:
    """Read an exported file into a temporary table of the same name, which queries find first until the commit."""
    target, ours = sql.Identifier(name), sql.Identifier(OURS, name)
    owner.execute(sql.SQL("CREATE TEMP TABLE {} (LIKE {}) ON COMMIT DROP").format(target, ours))
    with gzip.open(file) as rows:
        header = rows.readline().decode().strip().split(",")
        columns = sql.SQL(", ").join(sql.Identifier(name.strip('"')) for name in header)
        with owner.cursor().copy(
            sql.SQL("COPY pg_temp.{} ({}) FROM STDIN (FORMAT csv)").format(target, columns)
        ) as copy:
            while block := rows.read(1 << 18):
                copy.write(block)


_SCHEMA: Final = "dagster"
_RUNS: Final = "SELECT DISTINCT run_id FROM run_tags WHERE key = 'dagster/partition' AND value = %s"
_COLUMNS: Final = """
SELECT table_name, array_agg(column_name::text) FROM information_schema.columns
WHERE table_schema = %s AND column_name IN ('run_id', 'partition') GROUP BY table_name ORDER BY table_name = 'runs'
"""
_EVENT_TAGS: Final = """
DELETE FROM asset_event_tags WHERE event_id IN (SELECT id FROM event_logs WHERE run_id = ANY(%s) OR partition = %s)
"""


def of_company(conn: Connection, slug: str) -> list[str]:
    """Return the ids of the runs of a company's partition; none where Dagster has made no tables."""
    if conn.execute("SELECT to_regclass('dagster.run_tags')").fetchone() == (None,):
        return []
    return [run_id for (run_id,) in conn.execute(_RUNS, (slug,)).fetchall()]


def copy_out_runs(conn: Connection, runs: list[str], path: Path) -> None:
    """Write the rows of runs, as Dagster stores them, into a compressed CSV file with a header."""
    query = sql.SQL("COPY (SELECT * FROM runs WHERE run_id = ANY({})) TO STDOUT (FORMAT csv, HEADER)")
    with gzip.open(path, "wb", compresslevel=1) as file, conn.cursor().copy(query.format(sql.Literal(runs))) as copy:
        for block in copy:
            file.write(block)


def erase_runs(conn: Connection, runs: list[str], slug: str) -> int:
    """Remove every row of these runs and of the partition; return how many."""
    rows = conn.execute(_COLUMNS, (_SCHEMA,)).fetchall()
    if not rows:
        return 0
    removed = conn.execute(_EVENT_TAGS, (runs, slug)).rowcount
    for table, columns in rows:
        terms = []
        if "run_id" in columns:
            terms.append(sql.SQL("run_id = ANY({})").format(sql.Literal(runs)))
        if "partition" in columns:
            terms.append(sql.SQL("partition = {}").format(sql.Literal(slug)))
        query = sql.SQL("DELETE FROM {} WHERE {}").format(sql.Identifier(_SCHEMA, table), sql.SQL(" OR ").join(terms))
        removed += conn.execute(query).rowcount
    return removed
