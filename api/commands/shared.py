"""Shared parts of all commands: options, printing a record or a table, and refusals."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Final
from uuid import UUID

import orjson
import typer

from schemas.labels import LANGUAGES

DataDir = Annotated[Path | None, typer.Option("--data-dir", help="Where the state lives; default ./data.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
TakeOver = Annotated[
    bool, typer.Option("--take-over-objects", help="Write to a store of files that is another deployment's.")
]
CompanyId = Annotated[UUID, typer.Option("--company", help="The company's id.")]

_WIDEST: Final = 40


class Refusal(Exception):  # noqa: N818  (an answer to the operator, not a fault)
    """The command was understood and is refused; its text is one plain sentence with the remedy."""


def show(record: Mapping[str, object], *, as_json: bool) -> None:
    """Print a record: as one JSON object, or a line per field for people, and a table for a list of records."""
    text = orjson.dumps(record, option=orjson.OPT_UTC_Z)
    if as_json:
        typer.echo(text)
        return
    for name, value in orjson.loads(text).items():
        if value == []:
            typer.echo(f"{name}: none")
        elif isinstance(value, list) and all(isinstance(item, dict) for item in value):
            for line in _table(value):
                typer.echo(line)
        else:
            typer.echo(f"{name}: {_plain(value)}")


def _table(records: Sequence[Mapping[str, object]]) -> Iterator[str]:
    """Yield a line of the fields' names, as `--json` has them, then a line per record; columns begin below each other.

    A column is padded to at most `_WIDEST`: a sentence in one record would push the others' next fields off the screen.
    """
    names = list(dict.fromkeys(name for record in records for name in record))
    rows = [names, *([_plain(record.get(name)) for name in names] for record in records)]
    widths = [min(max(map(len, column)), _WIDEST) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _plain(value: object) -> str:
    if isinstance(value, list):
        return ",".join(map(str, value))
    return "-" if value is None else str(value)


def split_values(values: Sequence[str]) -> list[str]:
    """Return the values of an option that accepts repetition and commas, in their order, each once."""
    parts = (part.strip() for value in values for part in value.split(","))
    return list(dict.fromkeys(part for part in parts if part))


def check_choices(vocabulary: Sequence[str], values: Sequence[str]) -> list[str]:
    """Return the values when each is in the vocabulary; anything else is wrong usage."""
    for value in values:
        if value not in vocabulary:
            raise typer.BadParameter(f"{value} is not one of: {', '.join(vocabulary)}.")
    return list(values)


def locale_language() -> str:
    """Return the language of messages by the environment (POSIX: LC_ALL, LC_MESSAGES, LANG); English as the default."""
    locale = next((value for name in ("LC_ALL", "LC_MESSAGES", "LANG") if (value := os.environ.get(name))), "")
    language = locale.partition("_")[0].partition(".")[0].lower()
    return language if language in LANGUAGES else LANGUAGES[0]
