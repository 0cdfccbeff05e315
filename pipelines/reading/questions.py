"""The one place that asks: what was not understood becomes a question with the piece of mapping that settles it.

A reader that meets a word, a unit, a line or a sheet that it does not understand does not read it, and puts a question
in its stead (decisions §13, *Asked has a protocol*). A question about the whole file refuses it. What belongs here: the
form of a question. What does not: finding what is not understood, and applying the answer (`mapping.py`).
"""

from collections.abc import Mapping, Sequence
from typing import Final

from pipelines.reading.grid import letter
from pipelines.reading.refusal import ReadingRefused
from schemas.issues import Issue
from schemas.messages import Message, message_of
from schemas.report import Asked, ImportSource, QuestionKind

_NOTHING_READ: Final[ImportSource] = {
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


def question(
    kind: QuestionKind,
    message: Message,
    answer: Mapping[str, object],
    *,
    could_be: Sequence[str] = (),
    at: int | None = None,
    header: str | None = None,
    sheet: str | None = None,
    lines: str | None = None,
    text: str | None = None,
    of_components: bool = False,
) -> Asked:
    """Return a question as `source.asked` publishes it.

    `answer` settles it by the first of `could_be`; `of_components` is true for a components sheet, whose part of the
    mapping is its own. `at` is the column's position, `lines` is one line or a range, `12-18`, and `text` is what was
    not understood.
    """
    return {
        "kind": kind,
        "column": None if at is None else letter(at),
        "header": header,
        "sheet": sheet,
        "lines": lines,
        "text": text,
        "could_be": list(could_be),
        "message": message,
        "answer": {"components": dict(answer)} if of_components else dict(answer),
    }


def refused(
    questions: Sequence[Asked], outline: ImportSource | None = None, *, code: str = "invalid_mapping"
) -> ReadingRefused:
    """Return the refusal of a file that cannot be imported before these questions about it are answered, to be raised.

    Its issues carry kind and answer. `outline` describes the table as far as it was read (`outline.py`); without one
    nothing was read yet. `code` is one of `schemas.issues.ISSUE_CODES`.
    """
    issues = [
        Issue(
            code=code,
            message=message_of(asked["message"]),
            field="mapping",
            kind=asked["kind"],
            could_be=asked["could_be"],
            answer=asked["answer"],
        )
        for asked in questions
    ]
    read = _NOTHING_READ if outline is None else outline
    return ReadingRefused(issues, {**read, "asked": [*read.get("asked", ()), *questions]})
