"""Stores what suppliers are asked: requests about one SKU each, enquiries that join many under one link, their mails.

`services.suppliers` decides what a supplier may be asked or may answer. A token is shown once, in its link, and only
its SHA-256 is stored: it is too random to be guessed from its digest. A supplier is here the name that a request was
made for, whatever its case; the library's suppliers are other records.
"""

import base64
import hmac
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple, cast  # Any: rows of two lists
from uuid import UUID

import orjson
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from psycopg.rows import class_row, dict_row
from sqlalchemy import (
    ARRAY,
    JSON,
    Boolean,
    Column,
    Date,
    DateTime,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    Table,
    Text,
    Uuid,
    text,
)

from schemas.skus.types import PartFacts
from schemas.suppliers import (
    AskedSupplier,
    AwaitedSupplier,
    GonePart,
    SupplierEnquiry,
    SupplierEnquiryDetail,
    SupplierRequest,
)
from warehouse import pages
from warehouse.accounts.keys import digest
from warehouse.base import company, identity, instant, metadata
from warehouse.enquiries import GONE_PARTS
from warehouse.operate import keys
from warehouse.operate.sessions import AsyncConnection, Connection
from warehouse.operate.settings import Settings
from warehouse.pages import Listing
from warehouse.skus import queries as skus

supplier_requests = Table(
    "supplier_requests",
    metadata,
    identity(),
    company(),
    Column("sku_id", Uuid, nullable=False),
    Column("component_ids", ARRAY(Uuid), nullable=False, comment="the lines of the SKU's graph that are asked about"),
    Column("supplier_name", Text),
    Column("token_hash", LargeBinary, nullable=False, unique=True, comment="SHA-256 of the token in the link"),
    Column("state", Text, nullable=False, comment="open, awaiting_review or closed"),
    instant("created_at"),
    instant("updated_at"),
    Column("enquiry_id", Uuid, comment="the enquiry that it is an item of"),
    Column("expires_at", DateTime(timezone=True), comment="when its link ends; null for one without end"),
    Column("withdrawn_at", DateTime(timezone=True), comment="when a person ended its link"),
    Column("asked", JSON, comment="what its components were then, by id; null for requests before it was kept"),
    Column("row_numbers", ARRAY(Integer), comment="the row of its enquiry that each part is in"),
    Index("ix_supplier_requests_enquiry_id", "enquiry_id", postgresql_where=text("enquiry_id IS NOT NULL")),
    Index("ix_supplier_requests_newest", "company_id", text("created_at DESC"), "id"),
)

supplier_enquiries = Table(
    "supplier_enquiries",
    metadata,
    identity(),
    company(),
    Column("supplier_name", Text, nullable=False),
    Column("message", Text, comment="what the supplier reads above the items"),
    Column("token_hash", LargeBinary, nullable=False, unique=True, comment="SHA-256 of the token in the link"),
    Column("due_on", Date, comment="the day by which answers are asked for; nothing ends with it"),
    Column("expires_at", DateTime(timezone=True), nullable=False, comment="when its links end"),
    instant("created_at"),
    Column("withdrawn_at", DateTime(timezone=True), comment="when a person ended its links before that"),
    Column("supplier_email", Text, comment="whom its mails go to; null where the link is handed over otherwise"),
    Column("language", Text, comment="of its mails; null is English"),
    Column("asked_by", Uuid, comment="the person whom the supplier answers a mail to; null for an API key"),
    Column("opened_at", DateTime(timezone=True), comment="when its link was first opened"),
    Column("valid_months", Integer, comment="how long an accepted answer holds; null is 12"),
    Column(
        "asks_again",
        Boolean,
        comment="whether it is asked again by itself when a part has changed or the answers are old; null is no",
    ),
    Column(
        "reminder_days",
        ARRAY(Integer),
        comment="the days of its reminders, counted from due_on; null is three days before it and the day after it",
    ),
    Index("ix_supplier_enquiries_newest", "company_id", text("created_at DESC"), "id"),
)

supplier_articles = Table(
    "supplier_articles",
    metadata,
    company(),
    Column("component_id", Uuid, nullable=False, comment="the line of a SKU's graph"),
    Column("supplier", Text, nullable=False, comment="the name of the supplier, in small letters"),
    Column("article", Text, nullable=False, comment="the number under which the supplier sells it"),
    PrimaryKeyConstraint("company_id", "component_id", "supplier"),
)

ANSWERS_PER_MINUTE: Final = 10
"""Uses of one token, and of one address, in any 60 seconds (interface v1, Limits)."""
STATES: Final = ("open", "answered", "accepted", "rejected", "ended", "closed")
"""`ended` is what waited for the supplier when its link expired or was withdrawn, `closed` what a restore ended."""
_ASKED: Final = """(
    SELECT requests.*, last.note, last.filed_at, CASE
        WHEN requests.state = 'awaiting_review' THEN 'answered'
        WHEN requests.state = 'closed' AND last.state = 'accepted' THEN 'accepted'
        WHEN requests.state = 'closed' THEN 'closed'
        WHEN requests.withdrawn_at IS NOT NULL OR requests.expires_at <= %(now)s::timestamptz THEN 'ended'
        WHEN last.state = 'rejected' THEN 'rejected'
        ELSE 'open' END AS shown
    FROM supplier_requests AS requests LEFT JOIN LATERAL (
        SELECT state, note, filed_at FROM review_entries WHERE request_id = requests.id
        ORDER BY filed_at DESC, id DESC LIMIT 1) AS last ON true)"""
"""Every request with its last answer, and its state: one of `STATES`."""
_EVERY: Final = {"supplier_name": None, "state": None, "ids": None}
_OF_SKU: Final = f"""requests.sku_id, sku.sku_code, sku.name,
    {skus.is_archived("requests.sku_id")} AS archived, {GONE_PARTS}"""
_SKU: Final = f" CROSS JOIN LATERAL {skus.name_query('requests.sku_id')} AS sku"
"""SKUs are looked up one by one: Postgres may estimate that reading all of them is cheaper."""
_TODAY: Final = "(%(now)s::timestamptz AT TIME ZONE 'UTC')::date"


def _counts(state: str, states: Sequence[str]) -> str:
    """Return SQL for the numbers of requests: in all, and in each state."""
    counted = ", ".join(f"'{name}', count(*) FILTER (WHERE {state} = '{name}')" for name in states)
    return f"json_build_object('total', count(*), {counted}) AS counts"


@dataclass(frozen=True, slots=True)
class Request:
    """One request; `state` is open, awaiting_review or closed, `component_ids` are lines of the SKU's graph.

    `asked` is what those were when they were asked about; null for a request from before that was kept.
    """

    id: UUID
    sku_id: UUID
    component_ids: list[UUID]
    supplier_name: str | None
    state: str
    created_at: datetime
    expires_at: datetime | None
    withdrawn_at: datetime | None
    enquiry_id: UUID | None
    asked: dict[str, PartFacts] | None
    sku_code: str
    sku_name: str
    company_name: str
    gone_parts: list[GonePart]


class Admitted(NamedTuple):
    """What a token leads to, None where it is unknown or fully answered; 0 or the seconds to wait."""

    id: UUID | None
    company_id: UUID | None
    retry_after: int


class Linked(NamedTuple):
    """The request or enquiry that a link leads to, and its company."""

    id: UUID
    company_id: UUID


async def admit(
    connection: AsyncConnection, kind: Literal["supplier", "enquiry"], token: str, *, address: str, at: datetime
) -> Admitted:
    """Count a use of a token and of the address, on a connection of no company; return its request or enquiry."""
    query = f"SELECT * FROM pcds_admit_{kind}(%(presented)s::bytea, %(address)s, %(ceiling)s, %(at)s)"
    parameters = {"presented": digest(token), "address": address, "ceiling": ANSWERS_PER_MINUTE, "at": at}
    row = await (await connection.execute(query, parameters)).fetchone()
    assert row is not None, "the statement answers one row whoever asks"
    return Admitted(*row)


async def find(
    connection: AsyncConnection, kind: Literal["request", "enquiry"], token: str, *, at: datetime
) -> Linked | None:
    """Return what a link leads to, without counting; None where it is unknown, has ended or is fully answered."""
    query = f"SELECT * FROM pcds_supplier_{kind}(%s::bytea, %s)"
    row = await (await connection.execute(query, [digest(token), at])).fetchone()
    return None if row is None else Linked(*row)


def new_token() -> str:
    """Make a token of 43 random URL-safe characters."""
    return secrets.token_urlsafe(32)


def derived_token(key: bytes, record_id: UUID) -> str:
    """Make a token of a key and the record that it leads to: an HMAC, 43 URL-safe characters."""
    return base64.urlsafe_b64encode(hmac.digest(key, record_id.bytes, "sha256")).rstrip(b"=").decode()


def add_request(connection: Connection, request: Mapping[str, object], token: str) -> None:
    """Store a request of no enquiry, without the token itself; `request` has its other columns."""
    questions = orjson.dumps(request["asked"]).decode()
    connection.execute(
        """
INSERT INTO supplier_requests
    (id, company_id, sku_id, component_ids, supplier_name, token_hash, state, created_at, updated_at, asked)
VALUES (%(id)s, %(company_id)s, %(sku_id)s, %(component_ids)s, %(supplier_name)s, %(token_hash)s, 'open', %(at)s,
    %(at)s, %(asked)s::json)""",
        {**request, "asked": questions, "token_hash": digest(token)},
    )


_REQUESTS: Final = f"""
SELECT requests.id, requests.sku_id, requests.component_ids, requests.supplier_name, requests.state,
    requests.created_at, requests.expires_at, requests.withdrawn_at, requests.enquiry_id, requests.asked,
    sku.sku_code, sku.name AS sku_name, companies.name AS company_name, {GONE_PARTS}
FROM supplier_requests AS requests{_SKU} CROSS JOIN companies"""


def find_request(connection: Connection, request_id: UUID, *, locking: bool = False) -> Request | None:
    """Return a request of the session's company; with `locking` others wait to answer or decide until the commit."""
    if locking:
        lock_request(connection, request_id)
    with connection.cursor(row_factory=class_row(Request)) as cursor:
        return cursor.execute(f"{_REQUESTS} WHERE requests.id = %s", [request_id]).fetchone()


def lock_request(connection: Connection, request_id: UUID) -> None:
    """Lock a request until the transaction ends."""
    connection.execute("SELECT FROM supplier_requests WHERE id = %s FOR UPDATE", [request_id])


def newest_requests(connection: Connection) -> list[Request]:
    """Return the session's company's requests, newest first."""
    query = f"{_REQUESTS} ORDER BY requests.created_at DESC, requests.id"
    with connection.cursor(row_factory=class_row(Request)) as cursor:
        return cursor.execute(query).fetchall()


def move_request(connection: Connection, request_id: UUID, state: str, *, at: datetime) -> None:
    """Put a request into another state."""
    query = "UPDATE supplier_requests SET state = %s, updated_at = %s WHERE id = %s"
    connection.execute(query, [state, at, request_id])


_FOUND: Final = f"""
SELECT requests.*, enquiry.due_on
FROM {_ASKED} AS requests LEFT JOIN supplier_enquiries AS enquiry ON enquiry.id = requests.enquiry_id
WHERE (%(supplier_name)s::text IS NULL OR lower(requests.supplier_name) = lower(%(supplier_name)s::text))
    AND (%(state)s::text IS NULL OR shown = %(state)s::text)
    AND (%(ids)s::uuid[] IS NULL OR requests.id = ANY(%(ids)s::uuid[]))"""
"""The company's requests: to one supplier, in one state, of some ids, where such are named."""


def requests_page(
    now: datetime,
    limit: int,
    offset: int,
    *,
    supplier_name: str | None = None,
    state: str | None = None,
    ids: Sequence[UUID] | None = None,
) -> Listing[SupplierRequest]:
    """Return the question for a page of requests, newest first: to one supplier, in one state, or of some ids only."""
    order = "requests.created_at DESC, requests.id"
    return pages.listing(
        f"""requests.id, requests.enquiry_id, requests.supplier_name, requests.component_ids, {_OF_SKU},
        requests.shown AS state, CASE WHEN requests.shown = 'rejected' THEN requests.note END AS note,
        requests.created_at, requests.filed_at AS answered_at, requests.due_on, requests.expires_at""",
        "requests",
        order=order,
        limit=limit,
        offset=offset,
        rows=f"{_FOUND} ORDER BY {order} LIMIT {limit:d} OFFSET {offset:d}",
        total=f"(SELECT count(*) FROM ({_FOUND}) AS requests)",
        beside=_SKU,
        parameters={**_EVERY, "now": now, "supplier_name": supplier_name, "state": state, "ids": ids},
    )


def asked_names(conn: Connection) -> list[str]:
    """Return the names by which suppliers were asked for data, whatever became of the requests, by name."""
    rows = conn.execute("SELECT DISTINCT supplier_name FROM supplier_requests ORDER BY supplier_name")
    return [name for (name,) in rows]


_SUPPLIERS: Final = f"""
SELECT min(requests.supplier_name) AS supplier_name, {_counts("shown", STATES)},
    count(*) FILTER (WHERE shown IN ('open', 'rejected') AND requests.due_on < {_TODAY}) AS overdue,
    max(requests.created_at) AS last_asked_at, max(requests.filed_at) AS last_answered_at
FROM ({_FOUND}) AS requests GROUP BY lower(requests.supplier_name)"""
_AWAITED: Final = f"""
SELECT min(requests.supplier_name) AS supplier_name, count(*) AS items, min(requests.created_at) AS waiting_since,
    min(requests.due_on) AS due_on, count(*) FILTER (WHERE requests.due_on < {_TODAY}) AS overdue,
    (array_agg(sku.sku_code ORDER BY sku.sku_code COLLATE "C"))[:%(codes)s] AS sku_codes,
    (array_agg(requests.id ORDER BY sku.sku_code COLLATE "C"))[:%(codes)s] AS request_ids
FROM ({_FOUND}) AS requests{_SKU} WHERE shown IN ('open', 'rejected') GROUP BY lower(requests.supplier_name)"""


def suppliers_page(now: datetime, limit: int, offset: int) -> Listing[AskedSupplier]:
    """Return the question for a page of suppliers by name, each with its numbers of requests."""
    parameters = {**_EVERY, "now": now}
    return _grouped(_SUPPLIERS, "lower(supplier_name), last_asked_at", limit, offset, parameters)


def awaited_page(
    now: datetime, limit: int, offset: int, *, supplier_name: str | None, codes: int
) -> Listing[AwaitedSupplier]:
    """Return the question for a page of suppliers whose answer is awaited, the longest waiting first.

    Each has at most so many codes of the SKUs that were asked about. A rejected answer is awaited again.
    """
    parameters = {**_EVERY, "now": now, "supplier_name": supplier_name, "codes": codes}
    return _grouped(_AWAITED, "waiting_since, lower(supplier_name)", limit, offset, parameters)


def _grouped(query: str, order: str, limit: int, offset: int, parameters: Mapping[str, object]) -> Listing[Any]:
    return pages.listing(
        "suppliers.*",
        "suppliers",
        order=order,
        limit=limit,
        offset=offset,
        chosen=f"FROM ({query}) AS suppliers",
        parameters=parameters,
    )


_LISTED: Final = f"""id, supplier_name, supplier_email, coalesce(language, 'en') AS language, message, due_on,
    expires_at, created_at, withdrawn_at,
    CASE WHEN withdrawn_at IS NOT NULL THEN 'withdrawn' WHEN expires_at <= %(now)s::timestamptz THEN 'expired'
        WHEN counted.waits_for_supplier = 0 THEN 'answered' ELSE 'open' END AS state,
    due_on IS NOT NULL AND due_on < {_TODAY} AND counted.waits_for_supplier > 0 AS overdue,
    counted.counts"""

_COUNTED: Final = f""" CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE requests.shown IN ('open', 'rejected')) AS waits_for_supplier,
        {_counts("requests.shown", STATES)}
    FROM {_ASKED} AS requests WHERE requests.enquiry_id = supplier_enquiries.id) AS counted"""


def enquiries_page(
    now: datetime, limit: int, offset: int, *, supplier_name: str | None = None
) -> Listing[SupplierEnquiry]:
    """Return the question for a page of enquiries, newest first: all of them, or those to one supplier."""
    return pages.listing(
        _LISTED,
        "supplier_enquiries",
        order="created_at DESC, id",
        limit=limit,
        offset=offset,
        chosen="FROM supplier_enquiries WHERE "
        "(%(supplier_name)s::text IS NULL OR lower(supplier_name) = lower(%(supplier_name)s::text))",
        beside=_COUNTED,
        parameters={"now": now, "supplier_name": supplier_name},
    )


_ITEMS: Final = f"""
SELECT requests.id, {_OF_SKU}, requests.shown AS state,
    CASE WHEN requests.shown = 'rejected' THEN requests.note END AS note, requests.filed_at AS answered_at
FROM {_ASKED} AS requests{_SKU} WHERE requests.enquiry_id = %(id)s ORDER BY sku.sku_code COLLATE "C", requests.id
LIMIT %(limit)s OFFSET %(offset)s"""
_MAILS: Final = "SELECT kind, state, due_at, ended_at, fault FROM supplier_mails WHERE enquiry_id = %(id)s"


def find_enquiry(
    connection: Connection,
    enquiry_id: UUID,
    now: datetime,
    *,
    locking: bool = False,
    limit: int | None = None,
    offset: int = 0,
) -> SupplierEnquiryDetail | None:
    """Return an enquiry of the session's company, its items sorted by sku_code; with `locking` others wait for it.

    It has every item, or a page of them.
    """
    parameters = {"id": enquiry_id, "now": now, "limit": limit, "offset": offset}
    with connection.cursor(row_factory=dict_row) as cursor:
        if locking:
            cursor.execute("SELECT FROM supplier_enquiries WHERE id = %(id)s FOR UPDATE", parameters)
        row = cursor.execute(f"SELECT {_LISTED} FROM supplier_enquiries{_COUNTED} WHERE id = %(id)s", parameters)
        if (enquiry := row.fetchone()) is None:
            return None
        items = cursor.execute(_ITEMS, parameters).fetchall()
        mails = cursor.execute(f"{_MAILS} ORDER BY due_at, id", parameters).fetchall()
    return cast(SupplierEnquiryDetail, {**enquiry, "items": items, "mails": mails})


class Sender(NamedTuple):
    """Who asks in an enquiry: the company, and the person whom its supplier answers a mail to."""

    company_name: str
    user_id: UUID | None


def sender_of(connection: Connection, enquiry_id: UUID) -> Sender:
    """Return who asks in an enquiry that `find_enquiry` found."""
    query = "SELECT companies.name, asked_by FROM supplier_enquiries AS asked CROSS JOIN companies WHERE asked.id = %s"
    row = connection.execute(query, [enquiry_id]).fetchone()
    assert row is not None, "it was found"
    return Sender(*row)


def add_enquiry(connection: Connection, enquiry: Mapping[str, object], token: str) -> None:
    """Store an enquiry in a session of its company, without the token itself; `enquiry` has every other column."""
    connection.execute(
        """
INSERT INTO supplier_enquiries
    (id, company_id, supplier_name, message, token_hash, due_on, expires_at, created_at, supplier_email, language,
    asked_by, valid_months, asks_again, reminder_days)
VALUES (%(id)s, %(company_id)s, %(supplier_name)s, %(message)s, %(token_hash)s, %(due_on)s, %(expires_at)s, %(at)s,
    %(supplier_email)s, %(language)s, %(asked_by)s, %(valid_months)s, %(asks_again)s,
    %(reminder_days)s)""",
        {**enquiry, "token_hash": digest(token)},
    )


def withdraw_enquiry(connection: Connection, enquiry_id: UUID, *, at: datetime) -> None:
    """End the links of an enquiry and of its items."""
    connection.execute("UPDATE supplier_enquiries SET withdrawn_at = %s WHERE id = %s", [at, enquiry_id])
    of_items = "UPDATE supplier_requests SET withdrawn_at = %s WHERE enquiry_id = %s AND withdrawn_at IS NULL"
    connection.execute(of_items, [at, enquiry_id])


def withdraw_request(connection: Connection, request_id: UUID, *, at: datetime) -> None:
    """End the link of a request."""
    connection.execute("UPDATE supplier_requests SET withdrawn_at = %s WHERE id = %s", [at, request_id])


class EnquiryLinks:
    """Makes addresses of enquiries' pages; `mailing` says whether this program mails them."""

    def __init__(self, settings: Settings) -> None:
        """Read the deployment's key. Raise `Refused` where this program was not given it."""
        self._keys = {
            keys.probe_of(key): HKDF(SHA256(), 32, None, b"pcds supplier enquiry").derive(key)
            for key in keys.every(settings)
        }
        self._base_url, self.mailing = settings.base_url, settings.smtp_url is not None

    def new_token(self, conn: Connection, enquiry_id: UUID) -> str:
        """Return the token of a new enquiry. Raise `Refused` without the deployment's key."""
        return derived_token(self._keys[keys.in_force(conn, tuple(self._keys))], enquiry_id)

    def address_of(self, conn: Connection, enquiry_id: UUID) -> str:
        """Return the address of an enquiry's page for its supplier. Raise `Refused` where no key here made its link."""
        row = conn.execute("SELECT token_hash FROM supplier_enquiries WHERE id = %s", [enquiry_id]).fetchone()
        for key in self._keys.values():
            if row and hmac.compare_digest(digest(token := derived_token(key, enquiry_id)), bytes(row[0])):
                return f"{self._base_url}/supplier-enquiries/{token}"
        raise keys.unopened(conn, tuple(self._keys))

    def check(self, conn: Connection) -> None:
        """Raise `Refused` where this program was not given the deployment's key."""
        keys.in_force(conn, tuple(self._keys))


class Sold(NamedTuple):
    """A part by its id, a supplier of it, and the number under which that one sells it."""

    component_id: str
    supplier: str
    article: str


_SOLD: Final = "json_to_recordset(%(sold)s::json) AS sold(component_id uuid, supplier text, article text)"
_KEEP: Final = f"""
WITH sold AS (SELECT component_id, lower(supplier) AS supplier, article FROM {_SOLD}), cleared AS (
    DELETE FROM supplier_articles AS kept USING sold
    WHERE kept.component_id = sold.component_id AND kept.supplier = sold.supplier AND sold.article = '')
INSERT INTO supplier_articles SELECT %(company_id)s, component_id, supplier, article FROM sold WHERE article <> ''
ON CONFLICT (company_id, component_id, supplier) DO UPDATE SET article = excluded.article"""


def keep_articles(conn: Connection, company_id: UUID, sold: Sequence[Sold]) -> None:
    """Keep the article numbers of suppliers' parts; an empty one is cleared."""
    listed = orjson.dumps([each._asdict() for each in sold]).decode()
    conn.execute(_KEEP, {"company_id": company_id, "sold": listed})


_NUMBERS: Final = """
SELECT kept.article
FROM ROWS FROM (json_to_recordset(%(sold)s::json) AS (component_id uuid, supplier text))
    WITH ORDINALITY AS sold(component_id, supplier, place)
LEFT JOIN supplier_articles AS kept ON kept.component_id = sold.component_id AND kept.supplier = lower(sold.supplier)
ORDER BY sold.place"""


def numbers_of(conn: Connection, sold: Sequence[Sold]) -> list[str | None]:
    """Return under which number each supplier sells each of these parts by now; None where none is kept."""
    listed = orjson.dumps([each._asdict() for each in sold]).decode()
    return [article for (article,) in conn.execute(_NUMBERS, {"sold": listed})]


def every_number(conn: Connection) -> dict[tuple[str, str], str]:
    """Return the number under which each supplier of the library sells each part, by the ids of both."""
    query = """
SELECT component_id::text, suppliers.id::text, article
FROM supplier_articles JOIN suppliers ON lower(suppliers.name) = supplier WHERE suppliers.merged_into IS NULL"""
    return {(part, supplier): article for part, supplier, article in conn.execute(query)}


def sold_parts(conn: Connection, component_ids: Sequence[str], supplier_name: str | None = None) -> list[Sold]:
    """Return under which numbers these parts are sold, by one supplier or by all, each named as in the library."""
    query = """
SELECT component_id::text, coalesce((SELECT min(name) FROM suppliers WHERE lower(name) = supplier), supplier), article
FROM supplier_articles WHERE component_id = ANY(%s::uuid[]) AND supplier = coalesce(lower(%s::text), supplier)
ORDER BY supplier"""
    return [Sold(*row) for row in conn.execute(query, [list(component_ids), supplier_name])]


def rename_seller(conn: Connection, former: str, name: str) -> None:
    """Have the article numbers of a supplier be those of its name today; one that this name has of a part stays."""
    query = """
UPDATE supplier_articles AS sold SET supplier = lower(%(name)s) WHERE supplier = lower(%(former)s)
    AND NOT EXISTS (SELECT FROM supplier_articles AS own
        WHERE own.component_id = sold.component_id AND own.supplier = lower(%(name)s))"""
    conn.execute(query, {"former": former, "name": name})


_ARTICLES: Final = """
SELECT requests.id, string_agg(DISTINCT rows.article, ', ' ORDER BY rows.article)
FROM supplier_requests AS requests JOIN supplier_rows AS rows
    ON rows.enquiry_id = requests.enquiry_id AND rows.number = ANY(requests.row_numbers)
WHERE requests.enquiry_id = %s AND rows.article IS NOT NULL GROUP BY requests.id"""


def articles_of(conn: Connection, enquiry_id: UUID) -> dict[UUID, str]:
    """Return the supplier's article numbers of the parts of each item that has some, in one text, by its request."""
    return dict(conn.execute(_ARTICLES, [enquiry_id]).fetchall())
