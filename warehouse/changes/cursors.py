"""Makes and reads cursors: places in a company's ledger that a caller stores and sends back.

A cursor is the number of an entry, and the first bytes of the hash of the link that the entry belongs to (decision
0009). The hash covers the company and everything before, so that a cursor of another company, or of a ledger that a
restored backup replaced, is recognised without a row that remembers it.
"""

from base64 import urlsafe_b64decode
from binascii import Error
from typing import Final, NamedTuple

_MARK_BYTES: Final = 8
_NUMBER_BYTES: Final = 8
_TEXT_LENGTH: Final = 22
"""Characters of both in Base64 without its padding."""

MARK: Final = f"substr({{hash}}, 1, {_MARK_BYTES})"
"""The part of a link's hash, an SQL expression, that a cursor has."""


class Place(NamedTuple):
    """A place in a ledger: behind the entry of this number, 0 for its beginning."""

    number: int
    mark: bytes


BEGINNING: Final = Place(0, b"")


def sql(number: str, link_hash: str) -> str:
    """Return SQL for the cursor behind an entry, from expressions for its number and for the hash of its link."""
    content = f"int8send({number}) || {MARK.format(hash=link_hash)}"
    return f"rtrim(translate(encode({content}, 'base64'), '+/', '-_'), '=')"


def read(text: str) -> Place | None:
    """Return the place of a cursor; None for a text that is none."""
    if len(text) != _TEXT_LENGTH or not text.isascii():
        return None
    try:
        content = urlsafe_b64decode(text + "==")
    except (Error, ValueError):
        return None
    if len(content) != _NUMBER_BYTES + _MARK_BYTES or content[0] >= 0x80:
        return None
    return Place(int.from_bytes(content[:_NUMBER_BYTES]), content[_NUMBER_BYTES:])
