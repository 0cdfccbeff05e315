"""Stores the mails of enquiries to suppliers: what waits to be sent, what was sent, and what was given up.

A row has no text: `pipelines.mail` makes it when it is sent, of the enquiry as it is then.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

from uuid_utils import uuid7

from warehouse.sessions import Connection

_ADD: Final = """
INSERT INTO supplier_mails (id, company_id, enquiry_id, kind, state, due_at, tries, created_at)
SELECT %(id)s, %(company_id)s, %(enquiry_id)s, %(kind)s, 'waiting', %(due_at)s, 0, %(at)s
WHERE NOT EXISTS (SELECT FROM supplier_mails
    WHERE enquiry_id = %(enquiry_id)s AND kind = %(kind)s AND state = 'waiting' AND due_at = %(due_at)s)"""
_ADD_REJECTED: Final = """
INSERT INTO supplier_mails (id, company_id, enquiry_id, kind, state, due_at, tries, created_at)
SELECT %(id)s, company_id, enquiry_id, 'rejected', 'waiting', %(due_at)s, 0, %(at)s
FROM supplier_requests AS requests WHERE id = %(request_id)s
    AND EXISTS (SELECT FROM supplier_mails AS mails WHERE mails.enquiry_id = requests.enquiry_id)
    AND NOT EXISTS (SELECT FROM supplier_mails AS mails
        WHERE mails.enquiry_id = requests.enquiry_id AND kind = 'rejected' AND state = 'waiting')"""
_ADDED_SINCE: Final = "SELECT count(*) FROM supplier_mails WHERE created_at > %s"
_WAITS_UNTIL: Final = (
    "SELECT EXISTS (SELECT FROM supplier_mails WHERE enquiry_id = %s AND state = 'waiting' AND due_at <= %s)"
)
_LAST_SENT: Final = "SELECT max(ended_at) FROM supplier_mails WHERE enquiry_id = %s AND state = 'sent'"
_NEXT: Final = """
SELECT id, enquiry_id, kind, tries FROM supplier_mails WHERE state = 'waiting' AND due_at <= %s
ORDER BY due_at, id LIMIT 1"""
_END: Final = """
UPDATE supplier_mails SET state = %(state)s, fault = %(fault)s, ended_at = %(at)s, tries = tries + %(tried)s
WHERE id = %(id)s"""
_LATER: Final = "UPDATE supplier_mails SET due_at = %s, fault = %s, tries = tries + 1 WHERE id = %s"
_ALL_LATER: Final = (
    "UPDATE supplier_mails SET due_at = %s, fault = %s, tries = tries + 1 WHERE state = 'waiting' AND due_at <= %s"
)
_COMPANIES: Final = "SELECT company_id, slug, work FROM pcds_due_mails(%s)"


class Mail(NamedTuple):
    """A mail that is due; `kind` is asked, reminder or rejected."""

    id: UUID
    enquiry_id: UUID
    kind: str
    tries: int


class Due(NamedTuple):
    """A company with due mails; `work` stays the same until one of them is sent or tried."""

    company_id: UUID
    slug: str
    work: str


def add(conn: Connection, company_id: UUID, enquiry_id: UUID, kind: str, *, due_at: datetime, at: datetime) -> None:
    """Store a mail of an enquiry that is to be sent at `due_at`; one of that kind and instant waits once."""
    row = {"id": UUID(str(uuid7())), "company_id": company_id, "enquiry_id": enquiry_id, "kind": kind}
    conn.execute(_ADD, row | {"due_at": due_at, "at": at})


def add_rejected(conn: Connection, request_id: UUID, *, due_at: datetime, at: datetime) -> None:
    """Store the mail that says which answers were rejected, where the request's enquiry is mailed and none waits."""
    row = {"id": UUID(str(uuid7())), "request_id": request_id, "due_at": due_at, "at": at}
    conn.execute(_ADD_REJECTED, row)


def added_since(conn: Connection, at: datetime) -> int:
    """Return how many mails the session's company has had stored since an instant."""
    (count,) = conn.execute(_ADDED_SINCE, [at]).fetchone() or (0,)
    return int(count)


def waits_until(conn: Connection, enquiry_id: UUID, at: datetime) -> bool:
    """Return whether a mail of the enquiry is to be sent by an instant."""
    return conn.execute(_WAITS_UNTIL, [enquiry_id, at]).fetchone() == (True,)


def last_sent(conn: Connection, enquiry_id: UUID) -> datetime | None:
    """Return when a mail of the enquiry was last sent."""
    (at,) = conn.execute(_LAST_SENT, [enquiry_id]).fetchone() or (None,)
    return at if isinstance(at, datetime) else None


def companies(conn: Connection, now: datetime) -> Sequence[Due]:
    """Return the companies that have due mails, in a session of no company."""
    return [Due(*row) for row in conn.execute(_COMPANIES, [now])]


def turn_of(company_id: UUID) -> str:
    """Return the name of the turn that who sends the company's mails has (`Pool.turn`)."""
    return f"mails of {company_id}"


def next_due(conn: Connection, now: datetime) -> Mail | None:
    """Return the mail that is due first; who has the company's turn sends it."""
    row = conn.execute(_NEXT, [now]).fetchone()
    return None if row is None else Mail(*row)


def end(conn: Connection, mail_id: UUID, state: str, *, at: datetime, fault: str | None = None) -> None:
    """Record that a mail was sent, is not needed any more, or has failed for good."""
    row = {"id": mail_id, "state": state, "at": at, "fault": fault, "tried": int(state != "not_needed")}
    conn.execute(_END, row)


def try_later(conn: Connection, mail_id: UUID, *, due_at: datetime, fault: str) -> None:
    """Record a try that failed, and when the next one is."""
    conn.execute(_LATER, [due_at, fault, mail_id])


def try_all_later(conn: Connection, now: datetime, *, due_at: datetime, fault: str) -> None:
    """Record the same for every mail of the session's company that is due: the server takes none now."""
    conn.execute(_ALL_LATER, [due_at, fault, now])
