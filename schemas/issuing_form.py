"""Parses the form that issues a declaration of conformity: the draft's open points, the signatory, the dates.

`services.drafts` decides which points a draft left open; the form's field for one is `point.<key>`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from schemas import normalise
from schemas.issues import Issue
from schemas.messages import Message
from schemas.normalise import Unfit, shown
from schemas.technical_file_form import day

POINT: Final = "point."
SIGNATORY: Final = ("on_behalf_of", "signatory", "function", "place")
"""Parts of the signature (Regulation (EU) 2025/40, Annex VIII, last point); each is required."""
LONGEST: Final = {"point": 2_000, "signatory": 200}
"""Longest text of a point, and of each part of the signature, in characters."""


@dataclass(frozen=True, slots=True)
class Issuing:
    """The filled-in form: the texts of the open points by key, the parts of the signature, and the dates.

    `expires_on` is the last day of the declaration, None for no end. `languages` are those in which it is issued beside
    the draft's own.
    """

    points: dict[str, str]
    on_behalf_of: str
    signatory: str
    function: str
    place: str
    issued_on: date
    expires_on: date | None
    languages: tuple[str, ...] = ()


def parse(
    sent: Mapping[str, str],
    open_points: Iterable[str],
    *,
    drafted: date,
    today: date,
    languages: Sequence[str] = (),
) -> tuple[Issuing | None, list[Issue]]:
    """Return the filled-in form, or its faults. Every open point, the signature and the date of issue are required.

    `languages` are those in which the draft was prepared; the form's `languages` are some of them, joined by spaces.
    The date of issue is not before the day on which the content was read from the records, and not in the future (UTC).
    """
    issues: list[Issue] = []
    points = {key: _text(sent, f"{POINT}{key}", LONGEST["point"], issues) for key in open_points}
    signed = {name: _text(sent, name, LONGEST["signatory"], issues) for name in SIGNATORY}
    issued_on, expires_on = (_day(sent, name, issues) for name in ("issued_on", "expires_on"))
    if issued_on and not drafted <= issued_on <= today:
        sentence = Message(
            "The day of issue lies between {drafted}, when the draft was made, and {today}, which is today.",
            drafted=drafted,
            today=today,
        )
        issues.append(Issue("out_of_range", sentence, "issued_on"))
    if expires_on and expires_on < today:
        sentence = Message(
            "A declaration issued today cannot expire on {day}; name a later day or none.", day=expires_on
        )
        issues.append(Issue("out_of_range", sentence, "expires_on"))
    if issued_on is None and not any(issue.field == "issued_on" for issue in issues):
        issues.append(Issue("required", _NEEDED, "issued_on"))
    wanted = tuple(dict.fromkeys(sent.get("languages", "").split()))
    if unknown := [lang for lang in wanted if lang not in languages]:
        sentence = Message(
            "The draft was not prepared in {unknown}; choose among {known}, or prepare a new draft.",
            unknown=shown(", ".join(unknown)),
            known=", ".join(languages),
        )
        issues.append(Issue("not_in_vocabulary", sentence, "languages"))
    if issues or issued_on is None:
        return None, issues
    return Issuing(points, issued_on=issued_on, expires_on=expires_on, languages=wanted, **signed), []


_NEEDED: Final = Message("A declaration cannot be issued without this; fill it in.")


def _text(sent: Mapping[str, str], name: str, longest: int, issues: list[Issue]) -> str:
    text = "\n".join(" ".join(line.split()) for line in sent.get(name, "").splitlines()).strip()
    if not text:
        issues.append(Issue("required", _NEEDED, name))
        return ""
    try:
        return normalise.text(text, min_length=None, max_length=longest)
    except Unfit as unfit:
        issues.append(Issue(unfit.code, unfit.message, name))
        return ""


def _day(sent: Mapping[str, str], name: str, issues: list[Issue]) -> date | None:
    text = sent.get(name, "").strip()
    try:
        return day(text) if text else None
    except Unfit as unfit:
        issues.append(Issue(unfit.code, unfit.message, name))
        return None
