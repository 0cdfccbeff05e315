"""Stores enquiries: requests to one supplier about many SKUs under one link, with the state of each.

`services.suppliers.enquiries` makes and withdraws them. Like a request's token, an enquiry's is stored as its SHA-256.
"""

import base64
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final, NamedTuple
from uuid import UUID

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from psycopg.rows import class_row
from uuid_utils import uuid7

from schemas.skus.types import SupplierResponse
from warehouse import pages
from warehouse.accounts.keys import digest
from warehouse.operate import keys
from warehouse.operate.sessions import AsyncConnection, Connection
from warehouse.operate.settings import Settings
from warehouse.skus import queries as skus
from warehouse.suppliers.requests import Found

_FIND: Final = "SELECT * FROM pcds_supplier_enquiry(%(presented)s::bytea, %(at)s)"
_INSERT: Final = """
INSERT INTO supplier_enquiries
    (id, company_id, supplier_name, message, token_hash, due_on, expires_at, created_at, supplier_email, language,
    asked_by)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"""
_ONE: Final = """
SELECT enquiries.id, supplier_name, message, due_on, expires_at, enquiries.created_at, withdrawn_at,
    supplier_email, coalesce(language, 'en') AS language, asked_by, companies.name AS company_name
FROM supplier_enquiries AS enquiries CROSS JOIN companies WHERE enquiries.id = %s"""
_DIGEST: Final = "SELECT token_hash FROM supplier_enquiries WHERE id = %s"
_LOCK: Final = "SELECT FROM supplier_enquiries WHERE id = %s FOR UPDATE"
_WITHDRAW: Final = "UPDATE supplier_enquiries SET withdrawn_at = %s WHERE id = %s"
_WITHDRAW_ITEMS: Final = "UPDATE supplier_requests SET withdrawn_at = %s WHERE enquiry_id = %s"
STATE: Final = """CASE
    WHEN requests.state = 'awaiting_review' THEN 'answered'
    WHEN requests.state = 'closed' AND last.state = 'accepted' THEN 'accepted'
    WHEN requests.state = 'closed' THEN 'closed'
    WHEN last.state = 'rejected' THEN 'rejected'
    ELSE 'open' END"""
"""An item's state; `closed` is one whose link was ended by a restore."""
LAST_ANSWER: Final = """LEFT JOIN LATERAL (
    SELECT state, note, filed_at FROM review_entries WHERE request_id = requests.id
    ORDER BY filed_at DESC, id DESC LIMIT 1) AS last ON true"""
_ITEMS: Final = f"""
SELECT requests.id, requests.sku_id, sku.sku_code, sku.name AS sku_name, {STATE} AS state,
    CASE WHEN {STATE} = 'rejected' THEN last.note END AS note, last.filed_at AS answered_at
FROM supplier_requests AS requests {LAST_ANSWER}
CROSS JOIN LATERAL {skus.named("requests.sku_id")} AS sku
WHERE requests.enquiry_id = %s ORDER BY sku.sku_code COLLATE "C", requests.id"""
_LISTED: Final = f"""id, supplier_name, supplier_email, coalesce(language, 'en') AS language, message, due_on,
    {pages.instant("expires_at")} AS expires_at, {pages.instant("created_at")} AS created_at,
    {pages.instant("withdrawn_at")} AS withdrawn_at,
    CASE WHEN withdrawn_at IS NOT NULL THEN 'withdrawn' WHEN expires_at <= %(now)s::timestamptz THEN 'expired'
        WHEN counted.waits_for_supplier = 0 THEN 'answered' ELSE 'open' END AS state,
    due_on IS NOT NULL AND due_on < %(today)s::date AND counted.waits_for_supplier > 0 AND withdrawn_at IS NULL
        AND expires_at > %(now)s::timestamptz AS overdue,
    counted.counts"""
_COUNTED: Final = f""" CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE found.state IN ('open', 'rejected')) AS waits_for_supplier,
        json_build_object('total', count(*), 'open', count(*) FILTER (WHERE found.state = 'open'),
            'answered', count(*) FILTER (WHERE found.state = 'answered'),
            'accepted', count(*) FILTER (WHERE found.state = 'accepted'),
            'rejected', count(*) FILTER (WHERE found.state = 'rejected'),
            'closed', count(*) FILTER (WHERE found.state = 'closed')) AS counts
    FROM (SELECT {STATE} AS state FROM supplier_requests AS requests {LAST_ANSWER}
          WHERE requests.enquiry_id = supplier_enquiries.id) AS found) AS counted"""
_ORDER: Final = "created_at DESC, id"


_ANSWERED: Final = f"""
SELECT requests.sku_id, sku.sku_code, sku.name, last.payload FROM supplier_requests AS requests
CROSS JOIN LATERAL (SELECT payload, filed_at FROM review_entries
    WHERE request_id = requests.id AND state IN ('open', 'accepted') ORDER BY filed_at DESC, id DESC LIMIT 1) AS last
CROSS JOIN LATERAL {skus.named("requests.sku_id")} AS sku
WHERE requests.enquiry_id = %s AND requests.id <> %s ORDER BY last.filed_at DESC, requests.id LIMIT %s"""


class Answered(NamedTuple):
    """The answer to another item of an enquiry, as it was filed."""

    sku_id: UUID
    sku_code: str
    sku_name: str
    payload: SupplierResponse


class Item(NamedTuple):
    """One request of an enquiry; `state` is open, answered, accepted, rejected or closed."""

    id: UUID
    sku_id: UUID
    sku_code: str
    sku_name: str
    state: str
    note: str | None
    answered_at: datetime | None


@dataclass(frozen=True, slots=True)
class Enquiry:
    """One enquiry without its items."""

    id: UUID
    supplier_name: str
    message: str | None
    due_on: date | None
    expires_at: datetime
    created_at: datetime
    withdrawn_at: datetime | None
    supplier_email: str | None
    language: str
    asked_by: UUID | None
    company_name: str


def token_hash(conn: Connection, enquiry_id: UUID) -> bytes:
    """Return the SHA-256 of an enquiry's token; nothing's where the company has no such enquiry."""
    row = conn.execute(_DIGEST, [enquiry_id]).fetchone()
    return b"" if row is None else bytes(row[0])


async def find(connection: AsyncConnection, token: str, *, at: datetime) -> Found | None:
    """Return id and company of a token's enquiry; None where the token is unknown or its enquiry has ended."""
    row = await (await connection.execute(_FIND, {"presented": digest(token), "at": at})).fetchone()
    return None if row is None else Found(*row)


def add(
    connection: Connection,
    company_id: UUID,
    enquiry_id: UUID,
    *,
    token: str,
    supplier_name: str,
    message: str | None,
    due_on: date | None,
    expires_at: datetime,
    at: datetime,
    supplier_email: str | None = None,
    language: str | None = None,
    asked_by: UUID | None = None,
) -> None:
    """Store an enquiry in a session of its company, without the token itself."""
    row = [enquiry_id, company_id, supplier_name, message, digest(token), due_on, expires_at, at]
    connection.execute(_INSERT, [*row, supplier_email, language, asked_by])


def of(connection: Connection, enquiry_id: UUID, *, locking: bool = False) -> Enquiry | None:
    """Return an enquiry of the session's company; with `locking` others wait to withdraw it until the commit."""
    if locking:
        connection.execute(_LOCK, [enquiry_id])
    with connection.cursor(row_factory=class_row(Enquiry)) as cursor:
        return cursor.execute(_ONE, [enquiry_id]).fetchone()


def items_of(connection: Connection, enquiry_id: UUID) -> list[Item]:
    """Return the items of an enquiry with their states, sorted by sku_code."""
    return [Item(*row) for row in connection.execute(_ITEMS, [enquiry_id])]


def answered(connection: Connection, enquiry_id: UUID, *, beside: UUID, most: int) -> list[Answered]:
    """Return the answers to the other items of an enquiry that wait or were accepted, the latest first."""
    return [Answered(*row) for row in connection.execute(_ANSWERED, [enquiry_id, beside, most])]


def withdraw(connection: Connection, enquiry_id: UUID, *, at: datetime) -> None:
    """End the links of an enquiry and of its items."""
    connection.execute(_WITHDRAW, [at, enquiry_id])
    connection.execute(_WITHDRAW_ITEMS, [at, enquiry_id])


def page(limit: int, offset: int) -> str:
    """Return the query of SupplierEnquiryListResponse as one JSON text, newest first.

    Parameters `now`, `today` and `supplier_name`; null is any supplier.
    """
    found = (
        "FROM supplier_enquiries WHERE "
        "(%(supplier_name)s::text IS NULL OR lower(supplier_name) = lower(%(supplier_name)s::text))"
    )
    return pages.page(
        _LISTED,
        "supplier_enquiries",
        order=_ORDER,
        limit=limit,
        offset=offset,
        rows=f"SELECT * {found} ORDER BY {_ORDER} LIMIT {limit:d} OFFSET {offset:d}",
        total=f"(SELECT count(*) {found})",
        beside=_COUNTED,
    )


DETAIL: Final = f"""
SELECT (SELECT row_to_json(item) FROM (
    SELECT {_LISTED}, coalesce((SELECT json_agg(shown) FROM (
        SELECT items.id AS id, items.sku_id, items.sku_code, items.sku_name AS name, items.state, items.note,
            {pages.instant("items.answered_at")} AS answered_at
        FROM ({_ITEMS.replace("= %s", "= supplier_enquiries.id")}) AS items) AS shown), '[]'::json) AS items,
        coalesce((SELECT json_agg(shown) FROM (
        SELECT mails.kind, mails.state, {pages.instant("mails.due_at")} AS due_at,
            {pages.instant("mails.ended_at")} AS ended_at, mails.fault
        FROM supplier_mails AS mails WHERE mails.enquiry_id = supplier_enquiries.id
        ORDER BY mails.due_at, mails.id) AS shown), '[]'::json) AS mails
    FROM supplier_enquiries{_COUNTED} WHERE id = %(id)s) AS item)::text AS enquiry"""
"""The query of one enquiry as JSON text, null where the company has none of that id; parameters id, now, today."""


def detail(connection: Connection, asked: Mapping[str, object]) -> str:
    """Return an enquiry of the session's company that exists, as `DETAIL` shows it."""
    row = connection.execute(DETAIL, asked).fetchone()
    assert row is not None, "the statement answers one row"
    return str(row[0])


_PURPOSE: Final = b"pcds supplier enquiry"


class EnquiryLinks:
    """Makes addresses of enquiries' pages."""

    def __init__(self, settings: Settings) -> None:
        """Read the deployment's key. Raise `Refused` where this program was not given it."""
        self._keys = {
            keys.probe_of(key): HKDF(SHA256(), 32, None, _PURPOSE).derive(key) for key in keys.every(settings)
        }
        self._base_url = settings.base_url

    def new_token(self, conn: Connection, enquiry_id: UUID) -> str:
        """Return the token of a new enquiry: 43 URL-safe characters. Raise `Refused` without the deployment's key."""
        return _token(self._keys[keys.in_force(conn, tuple(self._keys))], enquiry_id)

    def address_of(self, conn: Connection, enquiry_id: UUID) -> str:
        """Return the address of an enquiry's page for its supplier. Raise `Refused` where no key here made its link."""
        stored = token_hash(conn, enquiry_id)
        for key in self._keys.values():
            if hmac.compare_digest(digest(token := _token(key, enquiry_id)), stored):
                return f"{self._base_url}/supplier-enquiries/{token}"
        raise keys.unopened(conn, tuple(self._keys))

    def check(self, conn: Connection) -> None:
        """Raise `Refused` where this program was not given the deployment's key."""
        keys.in_force(conn, tuple(self._keys))


def _token(key: bytes, enquiry_id: UUID) -> str:
    return base64.urlsafe_b64encode(hmac.digest(key, enquiry_id.bytes, "sha256")).rstrip(b"=").decode()


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


def add_mail(
    conn: Connection, company_id: UUID, enquiry_id: UUID, kind: str, *, due_at: datetime, at: datetime
) -> None:
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
