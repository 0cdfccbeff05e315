"""Turns a draft into a declaration: completes its points, and replaces the draft's notice by a signature.

`services.review.issuing` decides who may issue, and records it.
"""

from dataclasses import replace
from typing import Final

from schemas.issuing_form import Issuing
from schemas.texts import isolated
from services.drafts.content import Draft, Point, load_words

SIGNATURE: Final = "signature"
"""The key of the point that the signature completes."""
_SIGNATURE_LINE: Final = "_" * 40
"""The line for a signature by hand."""


def open_points(draft: Draft) -> list[Point]:
    """Return the points that a person has to complete, without the signature, which every draft leaves open."""
    return [point for point in draft.points if not point.complete and point.key != SIGNATURE]


def declaration(draft: Draft, form: Issuing) -> Draft:
    """Return the declaration of a draft; it has neither notice nor notes, and nothing is missing in it.

    `form` has a text for each of `open_points`. The text from the records stays before it.
    """
    words = load_words(draft.lang)
    signature_lines = [
        f"{words['on_behalf_of']}: {isolated(form.on_behalf_of)}",
        f"{words['place_and_date']}: {isolated(form.place)}, {form.issued_on}",
        f"{words['name_and_function']}: {isolated(form.signatory)}, {isolated(form.function)}",
        f"{words['signature']}: {_SIGNATURE_LINE}",
    ]
    lines_by_key = {key: [isolated(line) for line in text.splitlines()] for key, text in form.points.items()} | {
        SIGNATURE: signature_lines
    }
    points = [_complete(point, lines_by_key, words["to_complete"]) for point in draft.points]
    return replace(draft, notice="", points=points, missing=[])


def _complete(point: Point, lines_by_key: dict[str, list[str]], to_complete: str) -> Point:
    if point.complete:
        return replace(point, notes=[])
    lines = [line for line in point.lines if line != to_complete]
    return replace(point, lines=[*lines, *lines_by_key[point.key]], complete=True, notes=[])
