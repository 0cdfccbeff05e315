"""The page that holds a statement about packaging law against its provisions, by its words or as a claim in parts."""

from collections.abc import Mapping
from typing import Final, cast, get_args

from fastapi import APIRouter
from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response

from api.http.service import service_of
from api.pages.render import language_of, page, text
from api.pages.sessions import Viewer
from compliance.statements.answers import ROLES, Demand, Frame, Who
from compliance.statements.words import Lang
from services import statements

router = APIRouter()

MOST_CHARACTERS: Final = 1000
_PARTS: Final = ("about", "demand", "figure", "day", "every", "who")
"""Inputs that make a claim, which is judged in place of the words; `role` alone says nothing."""


@router.get("/statements")
def get_statement(request: Request, session: Viewer) -> Response:
    """Show the form, and the answer to the statement that the address has."""
    lang, today = language_of(request), service_of(request).clock.today()
    sent = {name: value.strip() for name, value in request.query_params.items()}
    statement, answer, faults = sent.get("statement", ""), None, list[tuple[str, str]]()
    in_parts = any(sent.get(name) for name in _PARTS)
    if len(statement) > MOST_CHARACTERS or "\0" in statement:
        faults.append(("statement", text("statements.statement.hint", lang)))
    elif statement or in_parts:
        try:
            frame = Frame.model_validate(_frame(sent)) if in_parts else None
            answer = statements.check(statement, cast(Lang, lang), "regulation", today, frame)
        except ValidationError as error:
            names = {"day" if fault["loc"][0] == "when" else str(fault["loc"][0]) for fault in error.errors()}
            faults = [(name, text(f"statements.{name}.hint", lang)) for name in names]
    return page(
        request,
        "statement.html",
        session=session,
        faults=faults,
        given=sent,
        answer=answer,
        in_parts=in_parts,
        most=MOST_CHARACTERS,
        demands=_choices("demand", get_args(Demand), lang),
        actors=_choices("who", get_args(Who), lang),
        roles=_choices("role", ROLES, lang),
    )


def _frame(sent: Mapping[str, str]) -> dict[str, object]:
    """Return the parts of a form as a frame has them; what is empty is left out."""
    about = [phrase.strip() for phrase in sent.get("about", "").replace(";", ",").split(",")]
    day = sent.get("day") and f"{sent.get('role', 'from')}:{sent['day']}"
    parts = {"demand": sent.get("demand"), "figure": sent.get("figure"), "when": day, "who": sent.get("who")}
    return {
        "about": [phrase for phrase in about if phrase],
        "every": sent.get("every") == "yes",
        **{name: value for name, value in parts.items() if value},
    }


def _choices(group: str, codes: tuple[str, ...], lang: str) -> list[tuple[str, str]]:
    return [(code, text(f"statements.{group}.{code}", lang)) for code in codes]
