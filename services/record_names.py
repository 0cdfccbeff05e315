"""Finds the record of a company's library that a person names: a brand, a site, a supplier, a shared component."""

from difflib import get_close_matches
from typing import Final
from uuid import UUID

from schemas.messages import Message
from schemas.normalise import Unfit, shown
from schemas.words import fold
from warehouse.library import queries as library
from warehouse.sessions import Connection

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
    found = {id_ for id_, _, names in every if wanted in map(fold, names)}
    if len(found) == 1:
        return UUID(found.pop())
    by_name = {fold(name): label for _, label, names in every for name in names}
    if not by_name:
        none = Message("{id} is not one of the company's {list}.", id=shown(text), list=library.TABLES[resource].name)
        raise Unfit("unknown_reference", none)
    near = [by_name[name] for name in get_close_matches(wanted, by_name, n=_NEAREST, cutoff=0)]
    sentence = Message(
        "{cell} is no id, and no record has this name; the nearest names are: {names}.",
        cell=shown(text),
        names=", ".join(dict.fromkeys(near)),
    )
    raise Unfit("unknown_reference", sentence)
