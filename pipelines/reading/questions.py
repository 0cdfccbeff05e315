"""The one place that asks: what was not understood becomes a question with the piece of mapping that settles it.

A reader that meets a word, a unit, a line or a sheet that it does not understand does not read it, and puts a question
in its stead (decisions §13, *Asked has a protocol*). What belongs here: the form of a question. What does not: finding
what is not understood, and applying the answer (`mapping.py`).
"""

from collections.abc import Mapping, Sequence

from pipelines.reading.grid import letter
from pipelines.reading.refusal import ReadingRefused
from schemas.issues import Issue
from schemas.messages import Message
from schemas.report import Asked, QuestionKind


def refuse_asking(
    kind: QuestionKind,
    message: Message,
    answer: Mapping[str, object],
    could_be: Sequence[str] = (),
    *,
    code: str = "invalid_mapping",
    field: str | None = "mapping",
) -> ReadingRefused:
    """Return the refusal of a file as a whole before a question about it is answered, to be raised."""
    _ = kind, answer, could_be  # the published issue carries them once it has these members
    return ReadingRefused([Issue(code=code, message=message, field=field)])


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
