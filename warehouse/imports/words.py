"""Stores a company's own words: by field, the value that a text in its files means. Every import reads them."""

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

from warehouse import pages
from warehouse.sessions import Connection

_ALL: Final = "SELECT field, text, value FROM own_words ORDER BY field, folded"
_BEFORE: Final = "SELECT value FROM own_words WHERE field = %s AND folded = %s FOR UPDATE"
_KEEP: Final = (
    "INSERT INTO own_words (company_id, field, folded, text, value, updated_at) VALUES (%s, %s, %s, %s, %s, %s) "
    "ON CONFLICT (company_id, field, folded) "
    "DO UPDATE SET text = excluded.text, value = excluded.value, updated_at = excluded.updated_at"
)
_REMOVE: Final = "DELETE FROM own_words WHERE field = %s AND folded = %s"
_COUNT: Final = "SELECT count(*) FROM own_words"


class OwnWord(NamedTuple):
    """A text in the company's files and the value that it means; `value` None is an empty cell."""

    field: str
    folded: str
    text: str
    value: object


def load(conn: Connection) -> dict[str, dict[str, object]]:
    """Return all words of the session's company, by field."""
    words: dict[str, dict[str, object]] = {}
    for field, text, value in conn.execute(_ALL):
        words.setdefault(field, {})[text] = value
    return words


def count(conn: Connection) -> int:
    """Return how many words the session's company has."""
    found = conn.execute(_COUNT).fetchone()
    assert found is not None, "an aggregate has a row"
    return int(found[0])


def page(limit: int, offset: int) -> str:
    """Build a page of the company's words as one JSON text, `page`, sorted by field and word."""
    shown = f"field, text, value, {pages.instant('updated_at')} AS updated_at"
    return pages.page(shown, "own_words", order='field, folded COLLATE "C"', limit=limit, offset=offset)


def keep(conn: Connection, company_id: UUID, words: Iterable[OwnWord], now: datetime) -> Mapping[str, object]:
    """Store words; an earlier value of the same word is replaced. Return the values before, by `field: text`."""
    before: dict[str, object] = {}
    for word in words:
        if (found := conn.execute(_BEFORE, (word.field, word.folded)).fetchone()) is not None:
            before[f"{word.field}: {word.text}"] = found[0]
        conn.execute(_KEEP, (company_id, word.field, word.folded, word.text, json.dumps(word.value), now))
    return before


def remove(conn: Connection, words: Iterable[tuple[str, str]]) -> Mapping[str, object]:
    """Remove words, each a field and a folded text. Return the values that they had, by `field: text`."""
    before: dict[str, object] = {}
    for field, folded in words:
        if (found := conn.execute(_BEFORE, (field, folded)).fetchone()) is not None:
            before[f"{field}: {folded}"] = found[0]
            conn.execute(_REMOVE, (field, folded))
    return before
