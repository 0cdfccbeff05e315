"""Asks about what was not understood of a file, and settles a question by one of its possible answers.

A reader that meets a word, a unit, a line or a sheet that it does not understand does not read it, and puts a question
in its stead, with the piece of mapping that settles it (decisions §13, *Asked has a protocol*). A question about the
whole file refuses it. What belongs here: the form. What does not: finding what is not understood, and applying the
answer (`mapping.py`).
"""

import json
from collections.abc import Mapping, Sequence
from typing import Final

from pipelines.reading.grid import FIELDS_OF_PART, Column, ReadingRefused, letter
from schemas.imports.types import Asked, ImportSource
from schemas.issues import Issue, QuestionKind
from schemas.json_values import JsonObject
from schemas.messages import Message, message_of

WHOLE: Final = "whole"
"""What columns of a packaging beside parts can be: the whole packaging's, with its parts."""
NOTHING_READ: Final[ImportSource] = {
    "format": "csv",
    "encoding": None,
    "delimiter": None,
    "sheet": None,
    "header_row": 0,
    "columns": [],
    "ignored": [],
    "components": None,
    "layout": "rows",
    "decimal_marks": {},
    "volume_year": None,
    "skipped": [],
    "mapping_name": None,
    "hidden": None,
    "unread_sheets": [],
    "asked": [],
    "samples": {},
    "words": {},
    "readings": [],
}
"""The source of a file of which nothing was read; a table that was read fills its places."""


def question(
    kind: QuestionKind,
    message: Message,
    *,
    could_be: Sequence[str] = (),
    column: Column | None = None,
    sheet: str | None = None,
    lines: str | None = None,
    text: str | None = None,
    of_components: bool = False,
) -> Asked:
    """Return a question as `source.asked` publishes it.

    The message's gap `mapping` is a piece of mapping, the answer, which settles it by the first of `could_be`; other
    gaps may be pieces too. `of_components` is true for a components sheet, whose part of the mapping is its own.
    `lines` is one line or a range, `12-18`, and `text` is what was not understood.
    """
    message, answer = with_answer(message, of_components=of_components)
    return {
        "kind": kind,
        "column": None if column is None else letter(column.position),
        "header": None if column is None else column.header,
        "sheet": sheet,
        "lines": lines,
        "text": text,
        "could_be": list(could_be),
        "message": message,
        "answer": answer,
    }


def with_answer(message: Message, *, of_components: bool) -> tuple[Message, JsonObject]:
    """Return a message with its pieces of mapping as a caller sends them, and the one in the gap `mapping`."""
    by_gap = {name: piece for name, piece in message.parameters.items() if isinstance(piece, Mapping)}
    pieces = {name: {"components": piece} if of_components else dict(piece) for name, piece in by_gap.items()}
    for name, piece in pieces.items():
        message = message.with_parameter(name, json.dumps(piece, ensure_ascii=False))
    return message, pieces["mapping"]


def refused(open_question: Asked) -> ReadingRefused:
    """Return the refusal of a file that cannot be imported before a question about it is answered, to be raised.

    Its issue carries kind and answer; its outline says that nothing was read yet.
    """
    issue = Issue(
        code="invalid_mapping",
        message=message_of(open_question["message"]),
        field="mapping",
        kind=open_question["kind"],
        could_be=open_question["could_be"],
        answer=open_question["answer"],
    )
    return ReadingRefused([issue], {**NOTHING_READ, "asked": [open_question]})


def answer_with(open_question: Asked, choice: str) -> dict[str, object]:
    """Return the piece of mapping that settles a question by one of its `could_be`; the first is its `answer`.

    Raises `ValueError` where the answer has no place for the choice: another one is never sent in its stead.
    """
    first = open_question["could_be"][0]
    if choice == first:
        return dict(open_question["answer"])
    replaced, is_replaced = _replaced(open_question["answer"], first, choice)
    if choice == WHOLE:
        replaced, is_replaced = _of_whole(open_question["answer"])
    elif not is_replaced and open_question["kind"] == "column":
        replaced, is_replaced = _renamed(open_question["answer"], choice)
    if choice not in open_question["could_be"] or not is_replaced or not isinstance(replaced, dict):
        raise ValueError(choice)
    return replaced


def _replaced(piece: object, first: str | None, choice: str) -> tuple[object, bool]:
    """Return a piece of mapping with the choice in the place of the first possibility, and whether it has one."""
    if piece == first or (isinstance(piece, list) and piece == [first]):
        return (choice if choice == "all" or (not isinstance(piece, list) and first != "all") else [choice]), True
    if not isinstance(piece, Mapping):
        return piece, False
    members = {key: _replaced(member, first, choice) for key, member in piece.items()}
    return {key: member for key, (member, _) in members.items()}, any(
        is_replaced for _, is_replaced in members.values()
    )


def _of_whole(piece: Mapping[str, object]) -> tuple[dict[str, object], bool]:
    """Return a piece of mapping that makes the first part's columns those of the whole packaging, and no parts."""
    columns = piece.get("columns")
    named = columns if isinstance(columns, Mapping) else {}
    own = {of_sku: named.get(f"component_1_{of_part}") for of_sku, of_part in FIELDS_OF_PART.items()}
    return {"columns": {name: at for name, at in own.items() if at is not None}}, any(own.values())


def _renamed(piece: Mapping[str, object], choice: str) -> tuple[dict[str, object], bool]:
    """Return a piece of mapping with the choice as the field of its one column."""
    if isinstance(columns := piece.get("columns"), Mapping) and len(columns) == 1:
        return {**piece, "columns": dict.fromkeys([choice], next(iter(columns.values())))}, True
    if isinstance(parts := piece.get("components"), Mapping):
        renamed, is_renamed = _renamed(parts, choice)
        return {**piece, "components": renamed}, is_renamed
    return dict(piece), False
