"""Turns a draft into a declaration: completes its points, and replaces the draft's notice by a signature.

`services.review.issuing` decides who may issue, and records it.
"""

from dataclasses import replace
from typing import Final

from schemas.issuing_form import Issuing
from services.drafts.content import Draft, Point, words

SIGNATURE: Final = "signature"
"""The key of the point that the signature completes."""
_RULE: Final = "_" * 40
"""The line for a signature by hand."""


def open_points(draft: Draft) -> list[Point]:
    """Return the points that a person has to complete, without the signature, which every draft leaves open."""
    return [point for point in draft.points if not point.complete and point.key != SIGNATURE]


def declaration(draft: Draft, given: Issuing) -> Draft:
    """Return the declaration of a draft; it has no notice, and nothing is missing in it.

    `given` has a text for each of `open_points`. The text from the records stays before it.
    """
    said = words(draft.lang)
    signed = [
        f"{said['on_behalf_of']}: {given.on_behalf_of}",
        f"{said['place_and_date']}: {given.place}, {given.issued_on}",
        f"{said['name_and_function']}: {given.signatory}, {given.function}",
        f"{said['signature']}: {_RULE}",
    ]
    texts = {key: text.splitlines() for key, text in given.points.items()} | {SIGNATURE: signed}
    points = [_completed(point, texts, said["to_complete"]) for point in draft.points]
    return replace(draft, notice="", points=points, missing=[])


def _completed(point: Point, texts: dict[str, list[str]], to_complete: str) -> Point:
    if point.complete:
        return point
    held = [line for line in point.lines if line != to_complete]
    return replace(point, lines=[*held, *texts[point.key]], complete=True)
