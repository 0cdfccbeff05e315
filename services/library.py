"""Adds and changes what SKUs refer to: a brand, a site, a supplier, a shared component; merges all but the last.

A record that is there with the same values is answered as it is. A change of a shared component changes no SKU: those
that were written with it have taken its values over already.
"""

from difflib import get_close_matches
from typing import Final, NamedTuple
from uuid import UUID

from uuid_utils import uuid7

from schemas.actors import Actor
from schemas.issues import Issue
from schemas.json_values import JsonMapping, JsonObject
from schemas.messages import Message
from schemas.normalise import Unfit, none_named, quote, several_named
from schemas.refusals import Refused, require
from schemas.words import fold
from warehouse import library, suppliers
from warehouse.audit import ledger
from warehouse.operate.sessions import Connection
from warehouse.skus import archive


class Added(NamedTuple):
    """The record as the API shows it; `outcome` is created, updated, or unchanged where it was there so."""

    outcome: str
    record: JsonObject


def add(
    conn: Connection, actor: Actor, resource: str, values: JsonMapping, *, dry_run: bool = False, upsert: bool = False
) -> Added:
    """Add a record in the caller's transaction, with an entry in the ledger; with `dry_run` none is stored.

    With `upsert` one of its name or code is changed to the values, and keeps those that are left out. Raise `Refused`
    where the company has such a one and it is not to be changed, where another one's name differs in case, accents or
    punctuation alone, or where it names a supplier of nobody.
    """
    unique = library.unique_field(resource)
    values = _with_kept_supplier(conn, values)
    if (held := library.find_by_name(conn, resource, values[unique])) is not None:
        if all(_comparable(held[name]) == value for name, value in values.items()):
            return Added("unchanged", require(library.find(conn, resource, UUID(str(held["id"])))))
        if upsert:  # its name may be that of one which was merged away
            others = {name: value for name, value in values.items() if name != unique}
            return change(conn, actor, resource, UUID(str(held["id"])), others)
        sentence = Message("{value} is there already, with other values; it keeps them.", value=quote(values[unique]))
        raise Refused([Issue("invalid_format", sentence, unique)])
    if resource != "library_component":
        refuse_name(conn, resource, values[unique])
    if dry_run:
        whole: JsonObject = {**dict.fromkeys(library.fields(resource)), **values}
        return Added("created", {"id": None, **whole, "created_at": actor.now, "updated_at": actor.now})
    record_id = UUID(str(uuid7()))
    record = library.add(conn, resource, actor.company_id, record_id, values=values, at=actor.now)
    after = {name: value for name, value in values.items() if value is not None}
    ledger.enter(conn, actor, f"{resource}.created", record_id, before=None, after=after)
    return Added("created", record)


def _with_kept_supplier(conn: Connection, values: JsonMapping) -> JsonMapping:
    """Return the values with the id of the supplier that stays. Raise `Refused` where nobody has the id."""
    if not (supplier := values.get("supplier_id")):
        return values
    kept = library.resolved(conn, "supplier", UUID(supplier))
    if kept is None:
        sentence = Message("No supplier of the company has this id.")
        raise Refused([Issue("unknown_reference", sentence, "supplier_id")])
    return {**values, "supplier_id": str(kept)}


def change(conn: Connection, actor: Actor, resource: str, record_id: UUID, values: JsonMapping) -> Added:
    """Change some values of a record in the caller's transaction, with an entry in the ledger.

    Nothing is stored where nothing differs. Raise `NotThere`, and `Refused` where another record has its name or code,
    or where it names a supplier of nobody.
    """
    before = require(library.find(conn, resource, record_id))
    record_id, unique = UUID(str(before["id"])), library.unique_field(resource)
    values = _with_kept_supplier(conn, values)
    changed = {name: value for name, value in values.items() if _comparable(before[name]) != value}
    if not changed:
        return Added("unchanged", before)
    if unique in changed:
        refuse_name(conn, resource, changed[unique], but=record_id)
    record = library.change(conn, resource, record_id, changed, actor.now)
    if resource == "supplier" and "name" in changed:
        suppliers.rename_seller(conn, str(before["name"]), str(record["name"]))
    was = {name: _comparable(before[name]) for name in changed}
    ledger.enter(conn, actor, f"{resource}.updated", record_id, before=was, after=changed)
    return Added("updated", record)


NOT_ITSELF: Final = Message("Choose another record than this one.")


def merge(conn: Connection, actor: Actor, resource: str, record_id: UUID, into: UUID) -> JsonObject:
    """Merge a brand, a site or a supplier into another one in the caller's transaction; return the one that stays.

    What names it names the other one then, in versions and entries of its own; so do its id and its name from now on.
    A repeat changes nothing. Raise `NotThere`, and `Refused` where both are one, or it is merged elsewhere by now.
    """
    gone, kept = (library.find(conn, resource, each, merging=True) for each in (record_id, into))
    gone_id = UUID(str(require(gone)["id"]))
    if kept is None:
        sentence = library.not_held(str(into), library.TABLES[resource].name)
        raise Refused([Issue("unknown_reference", sentence, "into")])
    kept_id = UUID(str(kept["id"]))
    if kept_id == record_id or gone_id not in (record_id, kept_id):
        raise Refused([Issue("invalid_format", NOT_ITSELF, "into")])
    if gone_id != kept_id:
        library.merge(conn, resource, gone_id, kept_id, actor.now)
        archive.rename(conn, actor, resource, gone_id, kept_id)
        if resource == "supplier":
            suppliers.rename_seller(conn, str(require(gone)["name"]), str(kept["name"]))
        after = {"merged_into": str(kept_id)}
        ledger.enter(conn, actor, f"{resource}.updated", gone_id, before={"merged_into": None}, after=after)
    return kept


def refuse_name(conn: Connection, resource: str, name: str, *, but: UUID | None = None) -> None:
    """Raise `Refused` where a record beside `but` has the name, as imports compare names: files could name neither.

    Shared components are told apart by their codes, which are compared exactly.
    """
    if resource == "library_component":
        held = library.find_by_name(conn, resource, name)
        if held is not None and held["id"] != but:
            sentence = Message("{name} is there already.", name=quote(name))
            raise Refused([Issue("code_taken", sentence, "code")], "code_taken")
        return
    for id_, label, names in library.labels(conn, resource):
        if fold(name) in map(fold, names) and id_ != str(but):
            sentence = Message("{name} is there already.", name=quote(label))
            raise Refused([Issue("name_taken", sentence, "name")], "name_taken")


def _comparable(value: object) -> object:
    return str(value) if isinstance(value, UUID) else value


_NEAREST: Final = 3
_LONGEST: Final = 255
"""Characters of a text that are compared with the names: a name has no more."""


def record_named(conn: Connection, resource: str, text: str) -> UUID:
    """Return the id that a text is, or that the company's record of this name or code has.

    Case, accents and punctuation do not count. Raise `Unfit` with the nearest known names, also where several records
    have the name.
    """
    try:
        return UUID(text)
    except ValueError:
        pass
    every, wanted = library.labels(conn, resource), fold(text[:_LONGEST])
    ids = {id_ for id_, _, names in every if wanted in map(fold, names)}
    if len(ids) == 1:
        return UUID(ids.pop())
    by_name = {fold(name): label for _, label, names in every for name in names}
    if ids:
        raise several_named(text, (label for id_, label, _ in every if id_ in ids))
    if not by_name:
        raise Unfit("unknown_reference", library.not_held(quote(text), library.TABLES[resource].name))
    near = [by_name[name] for name in get_close_matches(wanted, by_name, n=_NEAREST, cutoff=0)]
    raise none_named(text, dict.fromkeys(near))
