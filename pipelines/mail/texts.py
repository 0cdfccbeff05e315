"""Writes the mails of an enquiry: what is asked, what still waits, and what could not be used.

What belongs here: subject and text, in the enquiry's language. What does not: when they are sent.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from schemas.messages import Message, translate
from schemas.numbers import day
from warehouse.review.enquiries import Enquiry, Item

LISTED_ITEMS: Final = 20
"""Most items that a mail names; the page behind the link has all."""
WAITS_FOR_SUPPLIER: Final = ("open", "rejected")


class Text(NamedTuple):
    """A mail's subject and text."""

    subject: str
    text: str


def write(kind: str, enquiry: Enquiry, items: Sequence[Item], address: str, now: datetime) -> Text | None:
    """Return the mail of a kind (asked, reminder or rejected); None where it is not needed any more.

    It is not needed where the enquiry has ended or no item waits for the supplier.
    """
    wanted = ("rejected",) if kind == "rejected" else WAITS_FOR_SUPPLIER
    named = [item for item in items if item.state in wanted]
    if not named or enquiry.withdrawn_at is not None or enquiry.expires_at <= now:
        return None
    return Text(
        translate(_subject(kind, enquiry), enquiry.language),
        "\n\n".join(_paragraphs(kind, enquiry, named, f"{address}?lang={enquiry.language}", now)) + "\n",
    )


def _subject(kind: str, enquiry: Enquiry) -> Message:
    match kind:
        case "asked":
            return Message("{company} asks for packaging data", company=enquiry.company_name)
        case "reminder":
            return Message("Reminder: {company} waits for packaging data", company=enquiry.company_name)
    return Message("{company} needs packaging data corrected", company=enquiry.company_name)


def _paragraphs(kind: str, enquiry: Enquiry, named: Sequence[Item], address: str, now: datetime) -> list[str]:
    """Return the paragraphs; `named` are the items that the mail is about."""
    said: list[str] = [_beginning(kind, enquiry, len(named))]
    if enquiry.message and kind != "rejected":
        said.append(enquiry.message)
    said += [
        _list_of(named, enquiry.language),
        Message("Answer at this link; no account is needed: {address}", address=address),
    ]
    if enquiry.due_on is not None:
        by, is_over = day(enquiry.due_on, enquiry.language), enquiry.due_on < now.date()
        said.append(
            Message("An answer was asked for by {day}.", day=by)
            if is_over
            else Message("Please answer by {day}.", day=by)
        )
    last_day = day((enquiry.expires_at - timedelta(days=1)).date(), enquiry.language)
    said.append(Message("The link works until {day} (UTC). Whoever has it can answer for you.", day=last_day))
    return [translate(each, enquiry.language) if isinstance(each, Message) else each for each in said]


def _beginning(kind: str, enquiry: Enquiry, count: int) -> Message:
    named = {"company": enquiry.company_name, "count": count}
    match kind:
        case "asked":
            return Message(
                "{company} asks you for data on packaging that you supply: materials, weights, recycled content and "
                "substances. Items: {count}. Regulation (EU) 2025/40 asks {company} to know them.",
                **named,
            )
        case "reminder":
            return Message("{company} waits for your data on packaging. Items without an answer: {count}.", **named)
    return Message("{company} could not use your answer. Items to correct: {count}.", **named)


def _list_of(items: Sequence[Item], lang: str) -> str:
    lines = [
        f"- {item.sku_code}: {item.sku_name}" + (f"\n  {item.note}" if item.note else "")
        for item in items[:LISTED_ITEMS]
    ]
    if len(items) > LISTED_ITEMS:
        lines.append(translate(Message("… and {count} more", count=len(items) - LISTED_ITEMS), lang))
    return "\n".join(lines)
