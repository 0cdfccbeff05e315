"""Stores the mails of enquiries to suppliers and of what is due; their text is made when they are sent.

`pipelines.suppliers` sends them.
"""

from collections.abc import Sequence
from datetime import date, datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import Column, Date, DateTime, Index, Integer, Table, Text, Uuid, text
from uuid_utils import uuid7

from warehouse.base import company, identity, instant, metadata
from warehouse.operate.sessions import Connection

supplier_mails = Table(
    "supplier_mails",
    metadata,
    identity(),
    company(),
    Column("enquiry_id", Uuid, comment="null of a mail to a person"),
    Column("kind", Text, nullable=False, comment="asked, reminder or rejected; its text is made when it is sent"),
    Column("state", Text, nullable=False, comment="waiting, sent, not_needed or failed"),
    Column("due_at", DateTime(timezone=True), nullable=False, comment="when it is sent, or tried again"),
    Column("tries", Integer, nullable=False),
    Column("fault", Text, comment="why the last try failed, as a code"),
    instant("created_at"),
    Column("ended_at", DateTime(timezone=True), comment="when it was sent, or given up"),
    Column(
        "user_id", Uuid, comment="whom a mail of what is due goes to: its kind is due_…, and its state may be sending"
    ),
    Column("due_on", Date, comment="the day that it is about"),
    Index(
        "uq_supplier_mails_due", "user_id", "due_on", "kind", unique=True, postgresql_where=text("user_id IS NOT NULL")
    ),
    Index("ix_supplier_mails_enquiry_id", "enquiry_id"),
    Index("ix_supplier_mails_created_at", "company_id", "created_at"),
    Index("ix_supplier_mails_due", "due_at", postgresql_where=text("state = 'waiting'")),
)


class Mail(NamedTuple):
    """A mail that is due; `kind` is asked, reminder or rejected of an enquiry, else what a person is told of a day."""

    id: UUID
    enquiry_id: UUID | None
    kind: str
    tries: int
    user_id: UUID | None
    due_on: date | None


class Due(NamedTuple):
    """A company with due mails; `work` stays the same until one of them is sent or tried."""

    company_id: UUID
    slug: str
    work: str


def add_mail(
    conn: Connection, company_id: UUID, enquiry_id: UUID, kind: str, *, due_at: datetime, at: datetime
) -> None:
    """Store a mail of an enquiry that is to be sent at `due_at`; one of that kind and instant waits once."""
    row = {"id": UUID(str(uuid7())), "company_id": company_id, "enquiry_id": enquiry_id, "kind": kind}
    conn.execute(
        """
INSERT INTO supplier_mails (id, company_id, enquiry_id, kind, state, due_at, tries, created_at)
SELECT %(id)s, %(company_id)s, %(enquiry_id)s, %(kind)s, 'waiting', %(due_at)s, 0, %(at)s
WHERE NOT EXISTS (SELECT FROM supplier_mails
    WHERE enquiry_id = %(enquiry_id)s AND kind = %(kind)s AND state = 'waiting' AND due_at = %(due_at)s)""",
        row | {"due_at": due_at, "at": at},
    )


def add_rejected(conn: Connection, request_id: UUID, *, due_at: datetime, at: datetime) -> None:
    """Store the mail that says which answers were rejected, where the request's enquiry is mailed and none waits."""
    conn.execute(
        """
INSERT INTO supplier_mails (id, company_id, enquiry_id, kind, state, due_at, tries, created_at)
SELECT %(id)s, company_id, enquiry_id, 'rejected', 'waiting', %(due_at)s, 0, %(at)s
FROM supplier_requests AS requests WHERE id = %(request_id)s
    AND EXISTS (SELECT FROM supplier_mails AS mails WHERE mails.enquiry_id = requests.enquiry_id)
    AND NOT EXISTS (SELECT FROM supplier_mails AS mails
        WHERE mails.enquiry_id = requests.enquiry_id AND kind = 'rejected' AND state = 'waiting')""",
        {"id": UUID(str(uuid7())), "request_id": request_id, "due_at": due_at, "at": at},
    )


def count_mails(conn: Connection, since: datetime) -> int:
    """Return how many mails to suppliers the session's company has had stored since an instant."""
    query = "SELECT count(*) FROM supplier_mails WHERE created_at > %s AND enquiry_id IS NOT NULL"
    (count,) = conn.execute(query, [since]).fetchone() or (0,)
    return int(count)


def is_mailed(conn: Connection, enquiry_id: UUID, now: datetime, *, since: datetime) -> bool:
    """Return whether a mail of the enquiry is due now, or was sent since an instant."""
    query = """
SELECT EXISTS (SELECT FROM supplier_mails WHERE enquiry_id = %s
    AND (state = 'waiting' AND due_at <= %s OR state = 'sent' AND ended_at > %s))"""
    return conn.execute(query, [enquiry_id, now, since]).fetchone() == (True,)


def companies_with_due_mails(conn: Connection, now: datetime) -> Sequence[Due]:
    """Return the companies that have due mails, in a session of no company."""
    return [Due(*row) for row in conn.execute("SELECT company_id, slug, work FROM pcds_due_mails(%s)", [now])]


def turn_of(company_id: UUID) -> str:
    """Return the name of the turn that who sends the company's mails has (`Pool.turn`)."""
    return f"mails of {company_id}"


def next_due_mail(conn: Connection, now: datetime) -> Mail | None:
    """Return the mail that is due first; who has the company's turn sends it."""
    query = """
SELECT id, enquiry_id, kind, tries, user_id, due_on FROM supplier_mails WHERE state = 'waiting' AND due_at <= %s
ORDER BY due_at, id LIMIT 1"""
    row = conn.execute(query, [now]).fetchone()
    return None if row is None else Mail(*row)


def add_due_mails(conn: Connection, company_id: UUID, due_on: date, kind: str, at: datetime) -> int:
    """Store a mail of a day to each person of the session's company who wants one; each is stored once for ever."""
    rows = conn.execute(
        """
INSERT INTO supplier_mails (id, company_id, user_id, kind, due_on, state, due_at, tries, created_at)
SELECT gen_random_uuid(), %(company_id)s, id, %(kind)s, %(due_on)s, 'waiting', %(at)s, 0, %(at)s
FROM users WHERE due_mail_language IS NOT NULL AND disabled_at IS NULL
ON CONFLICT DO NOTHING""",
        {"company_id": company_id, "kind": kind, "due_on": due_on, "at": at},
    )
    return rows.rowcount


def mark_mail(conn: Connection, mail_id: UUID, state: str) -> None:
    """Record that a mail is being handed over, `sending`: whatever becomes of this process, no other sends it again.

    Or that it was not taken, and is `waiting` again.
    """
    conn.execute("UPDATE supplier_mails SET state = %s WHERE id = %s", [state, mail_id])


def end_mail(conn: Connection, mail_id: UUID, state: str, *, at: datetime, fault: str | None = None) -> None:
    """Record that a mail was sent, is not needed any more, or has failed for good."""
    query = "UPDATE supplier_mails SET state = %s, fault = %s, ended_at = %s, tries = tries + %s WHERE id = %s"
    conn.execute(query, [state, fault, at, int(state != "not_needed"), mail_id])


def delay_mail(conn: Connection, mail_id: UUID | None, now: datetime, *, due_at: datetime, fault: str) -> None:
    """Record a try that failed, and when the next one is: of a mail, or of every one of the company that is due now."""
    query = """
UPDATE supplier_mails SET due_at = %s, fault = %s, tries = tries + 1
WHERE state = 'waiting' AND CASE WHEN %s::uuid IS NULL THEN due_at <= %s ELSE id = %s END"""
    conn.execute(query, [due_at, fault, mail_id, now, mail_id])
