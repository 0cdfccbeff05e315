"""Writes rows of an import with what they say beside their SKUs, and takes that back.

That is what is printed on packs, who is who, and under which numbers suppliers sell the parts.

A cell that is not given leaves what is recorded. A SKU that has no record of its own begins with what its brand says,
so that one cell does not hide the rest.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, Final, NamedTuple  # Any: what is recorded, whose types the field tables say
from uuid import UUID

import orjson
import polars as pl
from psycopg.errors import SerializationFailure

from compliance import marks as rules
from compliance.ruleset import RuleSet
from pipelines.imports.report import Work, make_records
from pipelines.reading.grid import BESIDE
from pipelines.reading.values import EMPTY_LIST
from pipelines.writing.patch import Patch, Prepared, RowIssue
from pipelines.writing.write import write_patch
from schemas.actors import Actor
from schemas.issues import Issue
from schemas.messages import Message
from schemas.words import fold
from warehouse import beside as stored
from warehouse import library, suppliers
from warehouse.audit import ledger
from warehouse.beside import MARKS, ROLES, Beside, Change, Held
from warehouse.operate.sessions import Connection, savepoint
from warehouse.suppliers import Sold

_TABLES: Final[dict[str, Beside]] = {"printed": MARKS, "roles": ROLES}
_NOTHING: Final[dict[str, dict[str, Any]]] = {"printed": rules.NOTHING, "roles": {}}
_ARTWORK: Final = {
    "artwork_reference": "artwork_reference",
    "artwork_state": "artwork_state",
    "artwork_changes_on": "changes_on",
}
"""Columns of the artwork, and what is recorded of it."""


class WrittenRows(NamedTuple):
    """What rows became: the write of their SKUs, the accepted SKUs by outcome, and warnings of what stands beside."""

    outcome: Prepared
    counts: Counter[str]
    unkept: list[RowIssue]


def write_rows(
    conn: Connection,
    work: Work,
    writer: Actor,
    patch: Patch,
    values: pl.DataFrame,
    *,
    rule_set: RuleSet,
    unfit: Sequence[RowIssue] = (),
    ahead: Prepared | None = None,
) -> WrittenRows:
    """Write the typed rows `values`, of which `patch` has those to write and `unfit` the faults of others.

    A dry run does all of it and takes it back. `ahead` is that of `write_patch`. Raises `PlanLimitReached`.
    """
    source = values.select("row", import_sheet="sheet", import_line="line")
    tried = savepoint(conn) if work.dry_run and work.makes_records else nullcontext()  # takes new records back
    with tried:
        if work.makes_records:
            make_records(conn, work, patch, writer.now)
        outcome = write_patch(
            conn,
            writer,
            patch,
            rules=rule_set,
            dry_run=work.dry_run,
            source=source,
            import_id=work.id,
            ahead=ahead,
            keep_archived=work.keep_archived,
        )
        renumbered, unkept = write_articles(conn, writer, values, outcome, dry_run=work.dry_run)
        rejected = {issue.row for issue in (*unfit, *outcome.errors)}
        changed = renumbered | write(conn, writer, values, rejected, dry_run=work.dry_run)
    counts = outcome.counts
    counts.update(_counted_beside(changed, outcome))
    return WrittenRows(outcome, counts, unkept)


def _counted_beside(changed: set[str], outcome: Prepared) -> dict[str, int]:
    """Return what the SKUs beside which something changed add to the counts of rows by outcome.

    A row that changes nothing of its SKU is an update all the same where it changes what stands beside it.
    """
    written = outcome.merged.rows(("sku_code", "outcome")) if changed else ()
    more = changed - {code for code, of_sku in written if of_sku != "unchanged"}
    return {"updated": len(more), "unchanged": -len(more)} if more else {}


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
        if sorted(marks, key=_as_text) == sorted(base["marks"] or (), key=_as_text):
            marks = base["marks"] or []  # their order says nothing
        marks = marks if marks or names is not None else None
    if "marks_of_epr" in said:
        marks = marks and [
            mark | {"of_epr": said["marks_of_epr"]} if rules.is_doubtful(mark["mark"]) else mark for mark in marks
        ]
    return {**base, "marks": marks, **{own: said[name] for name, own in _ARTWORK.items() if name in said}}


def _as_text(mark: Mapping[str, Any]) -> bytes:
    return orjson.dumps(mark, option=orjson.OPT_SORT_KEYS)


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
        entries = {sku_id: (before, after) for sku_id, before, after in stored.changed_by(conn, of.action, import_id)}
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
    renumbered, left = _take_back_articles(conn, actor, import_id, dry_run=dry_run)
    return restored | renumbered, kept | left


_RENUMBERED: Final = "supplier.updated"
"""The action under which the ledger has the numbers of a SKU's parts: they are what the supplier calls them."""
_WHOSE: Final = Message(
    "The number is not kept: the part names no supplier. Write its supplier beside it, and send the line again."
)


def write_articles(
    conn: Connection, actor: Actor, values: pl.DataFrame, written: Prepared, *, dry_run: bool
) -> tuple[set[str], list[RowIssue]]:
    """Keep the suppliers' article numbers of the rows whose SKUs were written, with their entries in the ledger.

    Return the codes of the SKUs whose numbers change, and a warning for each number of a part that names no supplier.
    `articles` are in the order of the parts, as the parts are stored in the order of the file.
    """
    if "articles" not in values.columns:
        return set(), []
    given = dict(values.select("row", "articles").drop_nulls().iter_rows())
    sold: list[tuple[str, UUID, Sold]] = []
    warned: list[RowIssue] = []
    for row, code, sku_id, graph in written.merged.rows(("row", "sku_code", "id", "components")):
        for place, (line_id, supplier_id, article) in enumerate(_numbers(given.get(row), graph)):
            if supplier_id is None and article:
                warned.append(RowIssue(row, Issue("required", _WHOSE, f"components[{place}].supplier_id")))
            elif supplier_id is not None and article is not None:
                sold.append((code, sku_id, Sold(line_id, supplier_id, article)))
    return _renumber(conn, actor, sold, dry_run=dry_run), warned


def _numbers(articles: str | None, graph: str | None) -> Iterator[tuple[str, str | None, str | None]]:
    """Yield id, supplier and article number of each part of a SKU of which numbers are given."""
    numbers = orjson.loads(articles) if articles else []
    for line, number in zip(orjson.loads(graph or "[]"), numbers, strict=False):
        yield line["id"], line.get("supplier_id"), number


def _renumber(conn: Connection, actor: Actor, wanted: Sequence[tuple[str, UUID, Sold]], *, dry_run: bool) -> set[str]:
    """Store numbers, of parts by code and id of their SKU, and return the codes of the SKUs of which some change.

    The suppliers are ids here. The ledger has one entry for each SKU and supplier.
    """
    if not wanted:
        return set()
    names = library.names(conn, "supplier", {UUID(sold.supplier) for _, _, sold in wanted})
    named = [sold._replace(supplier=names[sold.supplier]) for _, _, sold in wanted]
    before = suppliers.numbers_of(conn, named)
    changes: defaultdict[tuple[str, str, str], dict[str, tuple[str | None, str | None]]] = defaultdict(dict)
    for (code, sku_id, sold), old in zip(wanted, before, strict=True):
        if old != (sold.article or None):
            changes[code, str(sku_id), sold.supplier][sold.component_id] = old, sold.article or None
    if changes and not dry_run:
        suppliers.keep_articles(conn, actor.company_id, named)
        ledger.enter_many(conn, actor, _RENUMBERED, [_entry(*key, parts) for key, parts in changes.items()])
    return {code for code, _, _ in changes}


def _entry(
    code: str, sku_id: str, supplier_id: str, parts: Mapping[str, tuple[str | None, str | None]]
) -> tuple[UUID, Mapping[str, object], Mapping[str, object]]:
    """Return a supplier's entry of the ledger: the numbers of parts of a SKU, by their ids, before and after."""
    before, after = (  # the code names the entry
        {"sku_code": code, "sku_id": sku_id, "articles": {part: numbers[at] for part, numbers in parts.items()}}
        for at in (0, 1)
    )
    return UUID(supplier_id), before, after


def _take_back_articles(
    conn: Connection, actor: Actor, import_id: UUID, *, dry_run: bool
) -> tuple[set[UUID], dict[UUID, str]]:
    """Put back the numbers that an import changed, where they are still its own; return as `take_back`."""
    entries = stored.changed_by(conn, _RENUMBERED, import_id)
    names = library.names(conn, "supplier", {supplier_id for supplier_id, _, _ in entries})
    changed = [
        (supplier_id, after["sku_code"], UUID(after["sku_id"]), part, before["articles"][part], new)
        for supplier_id, before, after in entries
        for part, new in after["articles"].items()
    ]
    own = suppliers.numbers_of(conn, [Sold(part, names[str(whose)], "") for whose, _, _, part, _, _ in changed])
    restored: list[tuple[str, UUID, Sold]] = []
    kept: dict[UUID, str] = {}
    for (supplier_id, code, sku_id, part, old, new), now in zip(changed, own, strict=True):
        if now == new:
            restored.append((code, sku_id, Sold(part, str(supplier_id), old or "")))
        elif now != old:
            kept[sku_id] = code
    _renumber(conn, actor, restored, dry_run=dry_run)
    return {sku_id for _, sku_id, _ in restored}, kept
