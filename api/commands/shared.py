"""Shared parts of all commands: options, printing a record, and refusals."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated
from uuid import UUID

import orjson
import typer

from schemas.labels import LANGUAGES

DataDir = Annotated[Path | None, typer.Option("--data-dir", help="Where the state lives; default ./data.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
CompanyId = Annotated[UUID, typer.Option("--company", help="The company's id.")]


class Refusal(Exception):  # noqa: N818  (an answer to the operator, not a fault)
    """The command was understood and is refused; its text is one plain sentence with the remedy."""


def show(record: Mapping[str, object], *, as_json: bool) -> None:
    """Print a record: as one JSON object, or a line per field for people, and a line per record of a list."""
    text = orjson.dumps(record, option=orjson.OPT_UTC_Z)
    if as_json:
        typer.echo(text)
        return
    for name, value in orjson.loads(text).items():
        if value == []:
            typer.echo(f"{name}: none")
        elif isinstance(value, list) and all(isinstance(item, dict) for item in value):
            for item in value:
                typer.echo("  ".join(_plain(part) for part in item.values()))
        else:
            typer.echo(f"{name}: {_plain(value)}")


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
