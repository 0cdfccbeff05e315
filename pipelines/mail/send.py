"""Sends the mails that are due, each in a transaction of its own, and tries again what the server did not take.

A process that dies between the server's answer and the commit sends that mail again, with the same Message-ID.
"""

from collections import Counter
from datetime import datetime, timedelta
from email.message import EmailMessage
from typing import Final, NamedTuple, Self
from uuid import UUID

import structlog

from pipelines.housekeeping import Proceed
from pipelines.mail import texts
from pipelines.mail.server import MailServer, NotSent, message
from warehouse.accounts import users
from warehouse.clock import Clock
from warehouse.review import enquiries, mails
from warehouse.review.enquiry_links import EnquiryLinks
from warehouse.review.mails import Mail
from warehouse.sessions import Connection, Pool
from warehouse.settings import Settings

TRIES_AFTER: Final = tuple(timedelta(minutes=minutes) for minutes in (1, 5, 30, 120, 720))
"""How long after each failed try the next one is; after the last the mail has failed."""

log = structlog.get_logger(__name__)


class Post(NamedTuple):
    """What sending needs: the mail server, and the addresses that mails name."""

    server: MailServer
    links: EnquiryLinks

    @classmethod
    def of(cls, settings: Settings) -> Self | None:
        """Return what the settings name; None where nothing is mailed."""
        server = MailServer.of(settings)
        return None if server is None else cls(server, EnquiryLinks(settings))


def send_due(pool: Pool, company_id: UUID, post: Post, clock: Clock, proceed: Proceed) -> Counter[str]:
    """Send a company's due mails; return how many had which outcome: sent, not_needed, tried or failed.

    Raise `Refused` where this process has another key than the deployment: its links would open nothing.
    """
    with pool.company(company_id) as conn:
        post.links.check(conn)
    outcomes: Counter[str] = Counter()
    while True:
        proceed()
        with pool.company(company_id) as conn:
            mail = mails.take(conn, clock.now())
            if mail is None:
                return outcomes
            outcomes[_send(conn, mail, post, clock.now())] += 1


def _send(conn: Connection, mail: Mail, post: Post, now: datetime) -> str:
    """Send one mail and record what came of it; return that."""
    made = _message(conn, mail, post, now)
    if made is None:
        mails.end(conn, mail.id, "not_needed", at=now)
        return "not_needed"
    try:
        post.server.send(made)
    except NotSent as failed:
        log.warning("mail.not_sent", mail_id=str(mail.id), fault=failed.fault)
        if failed.is_final or mail.tries >= len(TRIES_AFTER):
            mails.end(conn, mail.id, "failed", at=now, fault=failed.fault)
            return "failed"
        due_at = now + TRIES_AFTER[mail.tries]
        if failed.of_all:  # else hundreds of mails would wait for the same silence, one after the other
            mails.try_all_later(conn, now, due_at=due_at, fault=failed.fault)
        else:
            mails.try_later(conn, mail.id, due_at=due_at, fault=failed.fault)
        return "tried"
    mails.end(conn, mail.id, "sent", at=now)
    return "sent"


def _message(conn: Connection, mail: Mail, post: Post, now: datetime) -> EmailMessage | None:
    """Return the mail as it is sent; None where it is not needed any more."""
    enquiry = enquiries.of(conn, mail.enquiry_id)
    if enquiry is None or enquiry.supplier_email is None:
        return None
    address = post.links.address_of(conn, mail.enquiry_id)
    written = texts.write(mail.kind, enquiry, enquiries.items_of(conn, mail.enquiry_id), address, now)
    if written is None:
        return None
    reply_to = users.address_of(conn, enquiry.asked_by) if enquiry.asked_by else None
    return message(post.server.sender, enquiry.supplier_email, *written, mail_id=str(mail.id), reply_to=reply_to)
