"""Reads the numbers and markets that a person types into a form, as an import reads a cell.

A form shows numbers with the decimal mark of its language. That mark is the decimal mark of what comes back; the other
one before three digits may group them or not: `1,234` of an English form is asked about, as in a file where no other
number decides.
"""

from collections.abc import Callable, Iterator

from pipelines.reading.fields import Column
from pipelines.reading.numbers import AMBIGUOUS, both_readings, read_number
from schemas.fields import Field
from schemas.issues import Issue
from schemas.market_names import market_named, markets_named
from schemas.messages import Message
from schemas.models import path
from schemas.normalise import Unfit, shown
from schemas.numbers import decimal_mark
from schemas.refusals import Refused


class Unread(str):
    """What a person typed where a number or a market is asked for, and cannot be read as one; `unfit` says why."""

    __slots__ = ("unfit",)
    unfit: Unfit


def number_of(typed: str, lang: str, *, whole: bool = False, unit: str | None = None) -> float | str:
    """Return the number that was typed into a form of this language, in the field's `unit`.

    What is none stays text, which the field refuses; what may be two, or could be one, is `Unread`.
    """
    field = Field("number", "integer" if whole else "number", "", unit=unit)
    mark = decimal_mark(lang)
    try:
        found = read_number(typed, Column(field.name, field, "sku", 0, ""), mark if mark in typed else None)
    except Unfit as unfit:
        if unfit.code == "invalid_number":
            return typed
        return _unread(typed, _asked(typed, mark) if unfit.code == AMBIGUOUS else unfit)
    return int(found) if whole and found.is_integer() else found


def market_codes(typed: str) -> list[str]:
    """Return the codes of the markets that a part of a list names: by name, or by codes beside each other."""
    try:
        return markets_named(typed)
    except Unfit as unfit:
        return [_unread(typed, unfit)]


def market_code(typed: str) -> str:
    """Return the code of the market that is named; empty where nothing is."""
    try:
        return market_named(typed) if typed else ""
    except Unfit as unfit:
        return _unread(typed, unfit)


def _unread(typed: str, unfit: Unfit) -> Unread:
    unread = Unread(typed)
    unread.unfit = unfit
    return unread


def _asked(typed: str, mark: str) -> Unfit:
    fraction, whole = both_readings(typed, mark)
    sentence = Message(
        "{cell} can be {fraction} or {whole}; write the one of them that is meant.",
        cell=shown(typed),
        fraction=fraction,
        whole=whole,
    )
    return Unfit(AMBIGUOUS, sentence)


def unread_values(body: object) -> list[Issue]:
    """Return an issue for each value of a form's body that could not be read, with its path."""
    return [Issue(each.unfit.code, each.unfit.message, path(place)) for place, each in _found(body, ())]


def faults_with(body: object, parse: Callable[[object], object]) -> list[Issue]:
    """Return the faults of a body with values that could not be read, each said in its own words; else none.

    `parse` refuses a body with its other faults, and such a value as a text; it raises `Refused`.
    """
    unread = {issue.field: issue for issue in unread_values(body)}
    if not unread:
        return []
    try:
        parse(body)
    except Refused as invalid:
        return [unread.get(issue.field, issue) for issue in invalid.issues]
    return list(unread.values())


def _found(node: object, place: tuple[int | str, ...]) -> Iterator[tuple[tuple[int | str, ...], Unread]]:
    match node:
        case Unread():
            yield place, node
        case dict():
            for name, value in node.items():
                yield from _found(value, (*place, str(name)))
        case list():
            for at, value in enumerate(node):
                yield from _found(value, (*place, at))
