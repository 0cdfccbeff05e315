"""Stores rule-sets that operators added, and the active version. Versions never change; the last activation counts."""

import hashlib
from collections.abc import Mapping
from datetime import datetime
from typing import Final, NamedTuple

import orjson
from psycopg.types.json import Json

from warehouse.sessions import Connection

_ACTIVE: Final = "SELECT version FROM ruleset_activations ORDER BY number DESC LIMIT 1"


class Added(NamedTuple):
    """An added version: its tables as CSV texts by file name."""

    content_hash: str
    rules: int
    tables: dict[str, str]


def active(conn: Connection) -> str | None:
    """Return the version that was activated last; None where none ever was, so that the release's newest grades."""
    row = conn.execute(_ACTIVE).fetchone()
    return None if row is None else str(row[0])


def find_added(conn: Connection, version: str) -> Added | None:
    """Return an added version; None where there is none of that name."""
    row = conn.execute("SELECT content_hash, rules, tables FROM rulesets WHERE version = %s", [version]).fetchone()
    return None if row is None else Added(*row)


def sizes(conn: Connection) -> dict[str, int]:
    """Count the design rules of each added version."""
    return dict(conn.execute("SELECT version, rules FROM rulesets").fetchall())


def add(conn: Connection, version: str, tables: Mapping[str, str], *, rules: int, at: datetime) -> None:
    """Store a version for good. The connection is the owner's."""
    conn.execute(
        "INSERT INTO rulesets (version, content_hash, rules, tables, added_at) VALUES (%s, %s, %s, %s, %s)",
        [version, content_hash(tables), rules, Json(dict(tables)), at],
    )


def lock(conn: Connection) -> None:
    """Let no other transaction add a version before this one ends; all may read."""
    conn.execute("LOCK TABLE rulesets IN SHARE ROW EXCLUSIVE MODE")


def lock_activations(conn: Connection) -> None:
    """Let no other activation and no new company commit before this transaction ends; all may read."""
    conn.execute("LOCK TABLE ruleset_activations, companies IN SHARE ROW EXCLUSIVE MODE")


def activate(conn: Connection, version: str, at: datetime) -> None:
    """Make a version grade from the commit on. The connection is the owner's."""
    conn.execute("INSERT INTO ruleset_activations (version, activated_at) VALUES (%s, %s)", [version, at])


def content_hash(tables: Mapping[str, str]) -> str:
    """Return the SHA-256 over names and texts of the tables, as hexadecimal digits."""
    return hashlib.sha256(orjson.dumps(dict(tables), option=orjson.OPT_SORT_KEYS)).hexdigest()
