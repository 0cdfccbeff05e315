"""Writes what the rows of an import say beside their SKUs, what is printed on packs and who is who, and takes it back.

A cell that is not given leaves what is recorded. A SKU that has no record of its own begins with what its brand says,
so that one cell does not hide the rest.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final  # Any: what is recorded, whose types the field tables say
from uuid import UUID

import orjson
import polars as pl
from psycopg.errors import SerializationFailure

from compliance import marks as rules
from pipelines.reading.grid import BESIDE
from pipelines.reading.values import EMPTY_LIST
from schemas.actors import Actor
from schemas.words import fold
from warehouse import beside as stored
from warehouse.beside import MARKS, ROLES, Beside, Change, Held
from warehouse.operate.sessions import Connection

_TABLES: Final[dict[str, Beside]] = {"printed": MARKS, "roles": ROLES}
_NOTHING: Final[dict[str, dict[str, Any]]] = {"printed": rules.NOTHING, "roles": {}}
_ARTWORK: Final = {
    "artwork_reference": "artwork_reference",
    "artwork_state": "artwork_state",
    "artwork_changes_on": "changes_on",
}
"""Columns of the artwork, and what is recorded of it."""


def write(conn: Connection, actor: Actor, values: pl.DataFrame, rejected: Iterable[int], *, dry_run: bool) -> set[str]:
    """Store what typed rows say, except the rejected ones; return the codes of the SKUs that are held and change."""
    changed: set[str] = set()
    for name in BESIDE:
        if name not in values.columns:
            continue
        given = values.filter(pl.col(name).is_not_null() & ~pl.col("row").is_in(list(rejected)))
        said = dict(given.select("sku_code", name).iter_rows())
        held = stored.held(conn, _TABLES[name], list(said), lock=not dry_run) if said else []
        wanted = ((each, _with_said(name, each, orjson.loads(said[each.sku_code]))) for each in held)
        changes = [change for each, after in wanted if (change := _change(name, each, after))]
        ids = {change.record_id for change in changes}
        changed.update(each.sku_code for each in held if each.sku_id in ids)
        if not dry_run:
            _store(conn, actor, _TABLES[name], changes)
    return changed


def _store(conn: Connection, actor: Actor, of: Beside, changes: Sequence[Change]) -> None:
    """Store changes. Raise `SerializationFailure` where somebody was first: the transaction is tried again."""
    if changes and not stored.write(conn, actor, of, changes):
        raise SerializationFailure


def _with_said(name: str, held: Held, said: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is to be recorded of a SKU where its row says something: as now where that changes nothing."""
    if name == "roles":
        return {**(held.own or {}), **{field.removeprefix("role_"): value for field, value in said.items()}}
    base = held.own or held.of_brand or rules.NOTHING
    after = _printed(base, said)
    return (held.own or rules.NOTHING) if after == base else after


def _printed(base: Mapping[str, Any], said: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is printed where a row says it: its marks in place of the printed ones, digital ones stay.

    What the company has answered of a mark of the same name stays, unless the row answers anew.
    """
    marks = base["marks"]
    if "printed_marks" in said:
        answered = {fold(mark["mark"]): mark["of_epr"] for mark in marks or ()}
        digital = [mark for mark in marks or () if mark["carrier"] == "digital"]
        names = said["printed_marks"]
        printed = [] if names in (None, EMPTY_LIST) else names.split(";")
        marks = [{"mark": one, "carrier": "printed", "of_epr": answered.get(fold(one))} for one in printed] + digital
        marks = marks if marks or names is not None else None
    if "marks_of_epr" in said:
        marks = marks and [
            mark | {"of_epr": said["marks_of_epr"]} if rules.is_doubtful(mark["mark"]) else mark for mark in marks
        ]
    return {**base, "marks": marks, **{own: said[name] for name, own in _ARTWORK.items() if name in said}}


def _change(name: str, held: Held, after: Mapping[str, Any]) -> Change | None:
    """Return the change from what is recorded to what is to be; None where they are equal."""
    answered = {field: value for field, value in after.items() if value is not None}
    body = answered if name == "roles" else None if after == rules.NOTHING else after
    return stored.change(held.sku_id, held.version, body, held.own or _NOTHING[name], after)


def take_back(conn: Connection, actor: Actor, import_id: UUID, *, dry_run: bool) -> tuple[set[UUID], dict[UUID, str]]:
    """Put back what an import changed beside SKUs; return their ids, and the codes of those changed since, by id."""
    restored: set[UUID] = set()
    kept: dict[UUID, str] = {}
    for name, of in _TABLES.items():
        entries = {sku_id: (before, after) for sku_id, before, after in stored.changed_by(conn, of, import_id)}
        changes = []
        for held in stored.held(conn, of, list(entries), lock=not dry_run) if entries else ():
            (before, after), own = entries[held.sku_id], held.own or _NOTHING[name]
            if all(own.get(field) == value for field, value in after.items()):
                changes.append(_change(name, held, {**own, **before}))
            elif any(own.get(field) != value for field, value in before.items()):
                kept[held.sku_id] = held.sku_code
        found = [change for change in changes if change]
        restored.update(change.record_id for change in found)
        if not dry_run:
            _store(conn, actor, of, found)
    return restored, kept
