"""Drafts the EU declaration of conformity: the content of Annex VIII from the records, and its open points.

    content.py       each numbered point of the Annex, filled from the records, in three languages
    declaration.py   the declaration, once a person has completed the draft
    typeset.py       either as a PDF/A; `declaration.typ` is its template

A draft changes nothing and is no declaration: it is filed for review, and a person issues it or does not.
"""

from services.drafts.content import Draft, Drawn, Point, draft, in_todays_form, says_above_a_limit
from services.drafts.declaration import SIGNATURE, declaration, open_points
from services.drafts.typeset import pdf, unprintable

__all__ = [
    "SIGNATURE",
    "Draft",
    "Drawn",
    "Point",
    "declaration",
    "draft",
    "in_todays_form",
    "open_points",
    "pdf",
    "says_above_a_limit",
    "unprintable",
]
