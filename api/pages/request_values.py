"""Reads from a page's request what several pages need: ids of its path, rows to skip, versions, its writes' origin."""

from dataclasses import replace
from uuid import UUID

from starlette.requests import Request

from api import parameters
from api.origin import origin_of_actor
from api.pages.render import language_of
from api.pages.sessions import Session
from api.writing import Write
from schemas.refusals import NotThere, Refused
from warehouse.audit.origin import Origin


def path_id(request: Request, name: str = "id") -> UUID:
    """Return an id of the path. Raise `PageRefused` where it is none, as for a record that does not exist."""
    try:
        return UUID(request.path_params[name])
    except ValueError:
        raise NotThere from None


def offset_of(request: Request) -> int:
    """Return the rows to skip; 0 where the address has anything but a number."""
    try:
        return parameters.offset_of(request)
    except Refused:
        return 0


def version_of(sent: str | None) -> int | None:
    """Return the version of an item that a form names; None where it names none."""
    return int(sent) if sent and sent.isascii() and sent.isdigit() and len(sent) < 10 else None


def origin_of(request: Request, session: Session) -> Origin:
    """Return the audit ledger's origin of a write by the signed-in person."""
    return origin_of_actor(request, "user", str(session.user_id), session.email)


def write_of(request: Request, session: Session, form_key: str | None = None) -> Write:
    """Return a write by the signed-in person, answered in the page's language; `form_key` as in `Write`."""
    user = ("user", str(session.user_id), session.email)
    write = Write.by(request, session.company_id, *user, form_key=form_key or None)
    return replace(write, lang=language_of(request))
