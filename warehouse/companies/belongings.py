"""Finds everything that Postgres has of one company, by the database's own catalogue: its rows in our tables.

A table belongs to companies if it has forced row-level security, which every table with a company's rows has (a test
compares). So a new table is exported and removed without being named here. All connections are the owner's, with the
company set.
"""

import gzip
import re
from pathlib import Path
from typing import IO, Final, NamedTuple
from uuid import UUID

from psycopg import sql

from warehouse.backup import tables
from warehouse.backup.held import OURS
from warehouse.sessions import Connection

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
    columns = tables.columns_of(owner, OURS)
    names = [name for (name,) in owner.execute(_SECURED, (OURS,)).fetchall()]
    found = {}
    for name in names:
        withheld = [each for each in columns[name] if _CREDENTIAL.search(each) or (name, each) in _ANSWERS]
        kept = [each for each in columns[name] if each not in withheld]
        found[name] = Belonging(name, "company_id" if "company_id" in columns[name] else "id", kept, withheld)
    return [found[name] for name in _in_order(names, owner.execute(_KEYS, (OURS,)).fetchall())]


def _in_order(names: list[str], keys: list[tuple[str, str]]) -> list[str]:
    """Return the names so that a table stands before the tables that its foreign keys lead to."""
    ordered: list[str] = []
    left = list(names)
    while left:
        named = {to for by, to in keys if by in left}
        free = [name for name in left if name not in named]
        assert free, "foreign keys of companies' tables lead in a circle"
        ordered += free
        left = [name for name in left if name in named]
    return ordered


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
        columns = sql.SQL(", ").join(sql.Identifier(each.strip('"')) for each in header)
        with owner.cursor().copy(
            sql.SQL("COPY pg_temp.{} ({}) FROM STDIN (FORMAT csv)").format(target, columns)
        ) as copy:
            while block := rows.read(1 << 18):
                copy.write(block)
