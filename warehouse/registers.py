"""Stores what a company holds in the registers of each market: a row for a market, replaced as a whole."""

from datetime import datetime
from typing import Any, Final, NamedTuple  # Any: the JSON of a row
from uuid import UUID

import orjson
from sqlalchemy import JSON, Column, Integer, Table, Text, Uuid

from warehouse.base import instant, metadata
from warehouse.operate.sessions import Connection

registers = Table(
    "registers",
    metadata,
    Column("company_id", Uuid, primary_key=True),
    Column("market", Text, primary_key=True, comment="in the Union the Member State"),
    Column(
        "held", JSON, nullable=False, comment="registrations, representative and certification of schemas.registers"
    ),
    Column("version", Integer, nullable=False, comment="1 at the first entry, one more at each change"),
    instant("updated_at"),
)

_READ: Final = "SELECT market, held::text, version, updated_at FROM registers"
_WRITE: Final = """
INSERT INTO registers (company_id, market, held, version, updated_at)
VALUES (%(company_id)s, %(market)s, %(held)s::json, %(version)s + 1, %(at)s)
ON CONFLICT (company_id, market) DO UPDATE
SET (held, version, updated_at) = (excluded.held, excluded.version, excluded.updated_at)
WHERE registers.version = %(version)s"""
_FILES: Final = "SELECT DISTINCT id::text, filename FROM technical_files"
_SHOWN: Final = 200
"""The most files that a form offers."""


class StoredRegisters(NamedTuple):
    """What is held in a market; version 0 before the first entry."""

    held: dict[str, Any]
    version: int = 0
    updated_at: datetime | None = None


def read(conn: Connection) -> dict[str, StoredRegisters]:
    """Return what the session's company holds, by market."""
    rows = conn.execute(_READ).fetchall()
    return {market: StoredRegisters(orjson.loads(held), version, at) for market, held, version, at in rows}


def write(conn: Connection, company_id: UUID, market: str, held: dict[str, Any], *, version: int, at: datetime) -> bool:
    """Store what is held in place of that of a version; return False where another version is stored by now."""
    values = {"company_id": company_id, "market": market, "version": version, "at": at}
    return conn.execute(_WRITE, {**values, "held": orjson.dumps(held).decode()}).rowcount == 1


def proofs(conn: Connection, ids: set[str]) -> dict[str, str]:
    """Return the names of the technical files of the session's company that have one of these ids."""
    return dict(conn.execute(f"{_FILES} WHERE id = ANY(%s::uuid[])", [sorted(ids)]).fetchall())


def newest_files(conn: Connection) -> list[tuple[str, str]]:
    """Return ids and names of the company's newest technical files, the newest first."""
    return conn.execute(f"{_FILES} ORDER BY id::text DESC LIMIT {_SHOWN}").fetchall()
