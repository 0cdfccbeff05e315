"""Mutates a CSV text as records: quotation marks at odd places, other delimiters, long cells and lines, NULs."""

import random
from collections.abc import Callable
from typing import Final

_DELIMITERS: Final = (",", ";", "\t", "|")
_TIMES: Final = (1, 10, 1_000, 8_000)
_FILLS: Final = (
    " ",
    "a",
    "1",
    "1 ",
    "1,",
    "1.",
    "-",
    "/ ",
    " / ",
    "a - ",
    "(",
    "%",
    "1%",
    "'",
    "_",
    "\u00a0",
    "e\u0301\u0316",
    "\u0f73",
    "é",
    ".",
    "e9",
    "FR;",
    "1 % a / ",
    "<",
    "=",
    "\u200b",
    "annual volume ",
    "glass ",
)

Mutation = Callable[[random.Random, list[str], str], list[str]]


def mutated_csv(rng: random.Random, data: bytes) -> bytes:
    """Return the text after one to three mutations of its lines, many of which repeat a line to reveal slow code."""
    text = data.decode("utf-8", "surrogateescape")
    lines = text.splitlines()[:2_000] or [""]
    delimiter = max(_DELIMITERS, key=lines[0].count)
    for _ in range(rng.choice((1, 1, 2, 3))):
        lines = rng.choice(_MUTATIONS)(rng, lines, delimiter)
    end = rng.choice(("\n", "\n", "\r\n", "\r"))
    return end.join(lines).encode("utf-8", "surrogateescape")[: 2**20]


def _at(rng: random.Random, lines: list[str]) -> int:
    return rng.choice((0, min(1, len(lines) - 1), rng.randrange(len(lines))))


def _quotes(rng: random.Random, lines: list[str], delimiter: str) -> list[str]:
    """Add lines with a quotation mark at the same odd place."""
    form = rng.choice(
        (f'a"{delimiter}"b', f'"a{delimiter}b', f'"a""{delimiter}"b"c', '""', '"', f'a{delimiter}"b\nc"d')
    )
    return [*lines, *[form] * rng.choice(_TIMES), *lines[1:3]]


def _inserted_quotes(rng: random.Random, lines: list[str], _: str) -> list[str]:
    """Insert quotation marks anywhere."""
    odds = rng.choice((0.01, 0.2, 1.0))
    made = []
    for line in lines:
        at = rng.randrange(len(line) + 1)
        made.append(line[:at] + rng.choice(('"', '""', '"\n"')) + line[at:] if rng.random() < odds else line)
    return made


def _delimiters(rng: random.Random, lines: list[str], delimiter: str) -> list[str]:
    """Change the delimiter of each line at random."""
    return [line.replace(delimiter, rng.choice(_DELIMITERS)) for line in lines]


def _cell(rng: random.Random, lines: list[str], delimiter: str) -> list[str]:
    """Fill a cell, or a header, with one repeated text."""
    at = _at(rng, lines)
    cells = lines[at].split(delimiter)
    place = rng.randrange(len(cells))
    kept = cells[place][: rng.choice((0, 1, 50))]
    cells[place] = kept + rng.choice(_FILLS) * rng.choice(_TIMES) + rng.choice(("", "x", '"'))
    return [*lines[:at], delimiter.join(cells), *lines[at + 1 :]]


def _columns(rng: random.Random, lines: list[str], delimiter: str) -> list[str]:
    """Lengthen a line by many cells."""
    at = _at(rng, lines)
    more = delimiter.join(f"{rng.choice(_FILLS)}{n}" for n in range(rng.choice((5, 300, 4_000))))
    return [*lines[:at], lines[at] + delimiter + more, *lines[at + 1 :]]


def _again(rng: random.Random, lines: list[str], _: str) -> list[str]:
    """Repeat a line many times."""
    at = _at(rng, lines)
    return [*lines[:at], *[lines[at]] * rng.choice(_TIMES), *lines[at:]]


def _controls(rng: random.Random, lines: list[str], _: str) -> list[str]:
    """Append characters that no text has to a line."""
    at = _at(rng, lines)
    odd = rng.choice(("\x00", "\x1a", "\udcff", "\ufeff", "\x0b", "\x85", "\u2028"))
    return [*lines[:at], lines[at] + odd * rng.choice(_TIMES), *lines[at + 1 :]]


_MUTATIONS: Final[tuple[Mutation, ...]] = (
    _quotes,
    _quotes,
    _inserted_quotes,
    _delimiters,
    _cell,
    _cell,
    _cell,
    _columns,
    _again,
    _controls,
)
