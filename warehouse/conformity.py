"""Lists Declarations of Conformity by their metadata, and adds them for operators.

`warehouse.skus.queries.DOC_STATUS` gives a SKU's coverage by them. `today` is the UTC day of the service's clock.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final, cast
from uuid import UUID

import orjson
from psycopg.rows import class_row, dict_row
from sqlalchemy import JSON, Column, LargeBinary, Table, Text, Uuid

from schemas.conformity import Doc, DocListItem, DocOfItem
from warehouse import pages
from warehouse.base import company, instant, metadata
from warehouse.operate.sessions import Connection
from warehouse.pages import Listing
from warehouse.skus import queries as skus

_STATUS: Final = (
    "CASE WHEN docs.status = 'valid' AND docs.expires_on < %(today)s::date THEN 'expired' ELSE docs.status END"
)
_ENDS: Final = f"""docs.status = 'valid' AND NOT {skus.is_archived("docs.sku_id")}
    AND docs.expires_on BETWEEN %(today)s::date AND %(today)s::date + %(days)s::integer"""
"""The condition of a valid DoC whose last day is today or within `days`, and whose item is not archived."""
_ITEM: Final = f"""
    docs.id, docs.sku_id, docs.reference, docs.supplier_name, {_STATUS} AS status, docs.issued_on, docs.expires_on,
    docs.created_at, docs.updated_at"""
"""DocListItem in the order of the contract; a valid DoC whose last day has passed reads as expired (decisions §11)."""
_SKU: Final = f" LEFT JOIN LATERAL {skus.name_query('docs.sku_id')} AS sku ON true"
"""SKUs are looked up one by one, as only those of the page are needed."""
_NEWEST: Final = "docs.created_at DESC, docs.id"


def of_sku(connection: Connection, sku_id: UUID, *, today: date) -> list[DocListItem]:
    """Return the newest 50 DoCs of one SKU."""
    query = f"SELECT {_ITEM} FROM docs WHERE sku_id = %(sku_id)s ORDER BY {_NEWEST} LIMIT 50"
    with connection.cursor(row_factory=dict_row) as cursor:
        return cast(list[DocListItem], cursor.execute(query, {"sku_id": sku_id, "today": today}).fetchall())


def page(today: date, limit: int, offset: int) -> Listing[DocListItem]:
    """Return the question for a page of DoCs on a UTC day, newest first."""
    return pages.listing(_ITEM, "docs", order=_NEWEST, limit=limit, offset=offset, parameters={"today": today})


def page_with_items(
    today: date,
    limit: int,
    offset: int,
    *,
    status: str | None = None,
    ends_within_days: int | None = None,
    sku_code: str | None = None,
) -> Listing[DocOfItem]:
    """Return the question for a page with the code and name of each SKU: the first to end first, else the newest.

    It is narrowed to a status, to valid ones that end within so many days, and to one SKU.
    """
    docs = f"""SELECT docs.*, sku.sku_code, sku.name AS sku_name FROM docs{_SKU}
        WHERE (%(status)s::text IS NULL OR {_STATUS} = %(status)s::text)
        AND (%(sku_code)s::text IS NULL OR sku.sku_code = %(sku_code)s::text)
        AND (%(days)s::integer IS NULL OR ({_ENDS}))"""
    order = f"CASE WHEN %(days)s::integer IS NOT NULL THEN docs.expires_on END, {_NEWEST}"
    return pages.listing(
        f"{_ITEM}, sku_code, sku_name",
        "docs",
        order=order,
        limit=limit,
        offset=offset,
        chosen=f"FROM ({docs}) AS docs",
        parameters={"today": today, "status": status, "days": ends_within_days, "sku_code": sku_code},
    )


def add(
    connection: Connection, company_id: UUID, doc_id: UUID, *, values: Mapping[str, object], at: datetime
) -> DocListItem:
    """Add one DoC in a session of its company, and return the record in the form of the list on that day.

    `values` are `sku_id`, `reference`, `supplier_name`, `status`, `issued_on`, `expires_on`, in a renewal `renews`.
    """
    query = f"""
INSERT INTO docs
    (id, company_id, sku_id, reference, supplier_name, status, issued_on, expires_on, renews, created_at, updated_at)
VALUES (%(id)s, %(company_id)s, %(sku_id)s, %(reference)s, %(supplier_name)s, %(status)s, %(issued_on)s,
    %(expires_on)s, %(renews)s, %(at)s, %(at)s)
RETURNING {_ITEM}"""
    row = {"renews": None, **values, "id": doc_id, "company_id": company_id, "at": at, "today": at.date()}
    with connection.cursor(row_factory=dict_row) as cursor:
        added = cursor.execute(query, row).fetchone()
    assert added is not None, "an insert returns its row"
    return cast(DocListItem, added)


_MARK_EXPIRED: Final = """
UPDATE docs SET expiry_entered = expires_on
WHERE id = ANY(ARRAY(
    SELECT id FROM docs
    WHERE status = 'valid' AND expires_on < %(today)s::date AND expiry_entered IS DISTINCT FROM expires_on
    ORDER BY id LIMIT %(most)s FOR UPDATE))
RETURNING id, expires_on
"""


def mark_expired(conn: Connection, today: date, *, most: int) -> list[tuple[UUID, date]]:
    """Mark at most `most` valid DoCs whose last day is before `today`, each once; return their ids and last days."""
    return conn.execute(_MARK_EXPIRED, {"today": today, "most": most}).fetchall()


_ISSUED: Final = """
SELECT issued.doc_id, issued.entry_id, issued.content, issued.sha256, docs.reference
FROM issued_declarations AS issued JOIN docs ON docs.id = issued.doc_id"""


@dataclass(frozen=True, slots=True)
class Issued:
    """One declaration without its bytes; `sha256` is that of the PDF."""

    doc_id: UUID
    entry_id: UUID
    content: dict[str, object]
    sha256: str
    reference: str | None


@dataclass(frozen=True, slots=True)
class ValidDoc:
    """The record in `docs` of a declaration that was issued here and is valid."""

    doc_id: UUID
    sku_id: UUID
    reference: str | None
    issued_on: date | None


def valid_of_items(connection: Connection, today: date) -> list[ValidDoc]:
    """Return the declarations about items that were issued here and are valid on a UTC day, the newest first."""
    query = f"""
SELECT docs.id AS doc_id, docs.sku_id, docs.reference, docs.issued_on
FROM docs JOIN issued_declarations AS issued ON issued.doc_id = docs.id
WHERE docs.sku_id IS NOT NULL AND docs.status = 'valid'
    AND (docs.expires_on IS NULL OR docs.expires_on >= %(today)s::date)
ORDER BY {_NEWEST}"""
    with connection.cursor(row_factory=class_row(ValidDoc)) as cursor:
        return cursor.execute(query, {"today": today}).fetchall()


def add_declaration(
    connection: Connection, issued: Mapping[str, object], content: Mapping[str, object], *, lang: str | None = None
) -> None:
    """Store a declaration whose record is in `docs`, in a session of its company; with `lang` in a further language.

    `issued` has `doc_id`, `company_id`, `entry_id`, `pdf`, `sha256` and `at`.
    """
    table, column = ("issued_translations", "lang") if lang else ("issued_declarations", "entry_id")
    connection.execute(
        f"INSERT INTO {table} (doc_id, company_id, {column}, content, pdf, sha256, created_at) "
        f"VALUES (%(doc_id)s, %(company_id)s, %({column})s, %(content)s::json, %(pdf)s, %(sha256)s, %(at)s)",
        {**issued, "lang": lang, "content": orjson.dumps(content).decode()},
    )


def of_entry(connection: Connection, entry_id: UUID) -> Issued | None:
    """Return the declaration that was issued from an entry of the review queue."""
    with connection.cursor(row_factory=class_row(Issued)) as cursor:
        return cursor.execute(f"{_ISSUED} WHERE issued.entry_id = %s", [entry_id]).fetchone()


def of_doc(connection: Connection, doc_id: UUID) -> Issued | None:
    """Return the declaration of a record of `docs`; None where that was not issued here."""
    with connection.cursor(row_factory=class_row(Issued)) as cursor:
        return cursor.execute(f"{_ISSUED} WHERE issued.doc_id = %s", [doc_id]).fetchone()


def pdf_in(connection: Connection, doc_id: UUID, lang: str | None = None) -> bytes | None:
    """Return the PDF of a declaration in a language, or in its first; None where it was not issued here in it."""
    query = """
SELECT pdf FROM issued_declarations
WHERE doc_id = %(doc_id)s AND (%(lang)s::text IS NULL OR content ->> 'lang' = %(lang)s)
UNION ALL SELECT pdf FROM issued_translations WHERE doc_id = %(doc_id)s AND lang = %(lang)s"""
    row = connection.execute(query, {"doc_id": doc_id, "lang": lang}).fetchone()
    return None if row is None else bytes(row[0])


def pdfs_of(connection: Connection, doc_id: UUID) -> list[tuple[str, bytes, str]]:
    """Return language, PDF and its SHA-256 of each document of a declaration, its first language first."""
    query = """
SELECT content ->> 'lang', pdf, sha256, 0 AS place FROM issued_declarations WHERE doc_id = %(doc_id)s
UNION ALL SELECT lang, pdf, sha256, 1 FROM issued_translations WHERE doc_id = %(doc_id)s ORDER BY 4, 1"""
    rows = connection.execute(query, {"doc_id": doc_id}).fetchall()
    return [(lang, bytes(pdf), sha256) for lang, pdf, sha256, _ in rows]


def declarations_of_sku(connection: Connection, sku_id: UUID) -> set[UUID]:
    """Return the records of `docs` of a SKU that have a PDF here."""
    query = """
SELECT issued.doc_id FROM docs JOIN issued_declarations AS issued ON issued.doc_id = docs.id WHERE docs.sku_id = %s"""
    return {doc_id for (doc_id,) in connection.execute(query, [sku_id])}


_STATE: Final = f"CASE WHEN docs.withdrawn_at IS NOT NULL THEN 'withdrawn' ELSE {_STATUS} END"
STATES: Final = ("draft", "pending", "valid", "expired", "rejected", "withdrawn")
_NEWER: Final = "FROM docs AS newer WHERE newer.renews = docs.id AND newer.status = 'valid'"
_REGISTER_ITEM: Final = f"""
    docs.id, docs.sku_id, sku.sku_code, sku.name AS sku_name, docs.reference, docs.supplier_name,
    {_STATE} AS state, docs.issued_on, docs.expires_on, docs.expires_on - %(today)s::date AS days_left,
    ARRAY(SELECT issued.lang FROM (
        SELECT content ->> 'lang' AS lang, 0 AS place FROM issued_declarations WHERE doc_id = docs.id
        UNION ALL SELECT lang, 1 FROM issued_translations WHERE doc_id = docs.id) AS issued
        ORDER BY issued.place, issued.lang) AS languages,
    docs.renews, (SELECT newer.id {_NEWER} ORDER BY newer.created_at DESC, newer.id LIMIT 1) AS renewed_by,
    docs.withdrawn_at, docs.withdrawn_reason, docs.created_at, docs.updated_at"""


@dataclass(frozen=True, slots=True)
class StoredDoc:
    """One record of `docs` as far as renewing and withdrawing read it; `status` is the stored one."""

    id: UUID
    sku_id: UUID | None
    reference: str | None
    status: str


def page_of_register(
    today: date,
    limit: int,
    offset: int,
    *,
    sku_id: UUID | None = None,
    state: str | None = None,
    ends_within: int | None = None,
) -> Listing[Doc]:
    """Return the question for a page of declarations: of a SKU, in a state, or valid ones that end within some days.

    A declaration that a valid one renews is none of those that end. The first to end comes first, else the newest.
    """
    order = f"CASE WHEN %(days)s::integer IS NOT NULL THEN docs.expires_on END, {_NEWEST}"
    query = f"""
FROM docs WHERE (%(sku_id)s::uuid IS NULL OR docs.sku_id = %(sku_id)s::uuid)
    AND (%(state)s::text IS NULL OR {_STATE} = %(state)s::text)
    AND (%(days)s::integer IS NULL OR {_ENDS} AND NOT EXISTS (SELECT {_NEWER}))"""
    return pages.listing(
        _REGISTER_ITEM,
        "docs",
        order=order,
        limit=limit,
        offset=offset,
        chosen=query,
        beside=_SKU,
        parameters={"today": today, "sku_id": sku_id, "state": state, "days": ends_within},
    )


def find_doc(connection: Connection, doc_id: UUID, *, today: date) -> Doc | None:
    """Return one declaration of the session's company, as `page_of_register` lists it."""
    query = f"SELECT {_REGISTER_ITEM} FROM docs{_SKU} WHERE docs.id = %(doc_id)s"
    with connection.cursor(row_factory=dict_row) as cursor:
        return cast(Doc | None, cursor.execute(query, {"doc_id": doc_id, "today": today}).fetchone())


def lock(connection: Connection, doc_id: UUID) -> StoredDoc | None:
    """Return one record of the session's company, locked until the transaction ends."""
    with connection.cursor(row_factory=class_row(StoredDoc)) as cursor:
        query = "SELECT id, sku_id, reference, status FROM docs WHERE id = %s FOR UPDATE"
        return cursor.execute(query, [doc_id]).fetchone()


def withdraw(connection: Connection, doc_id: UUID, *, reason: str, at: datetime) -> None:
    """Mark a record as withdrawn: it covers its SKU no longer, and stays."""
    connection.execute(
        """
UPDATE docs SET status = 'rejected', withdrawn_at = %(at)s, withdrawn_reason = %(reason)s, updated_at = %(at)s
WHERE id = %(doc_id)s""",
        {"doc_id": doc_id, "reason": reason, "at": at},
    )


issued_declarations = Table(
    "issued_declarations",
    metadata,
    Column("doc_id", Uuid, primary_key=True, comment="the row of docs that it is"),
    company(),
    Column(
        "entry_id", Uuid, nullable=False, unique=True, comment="the draft of the review queue that it was issued from"
    ),
    Column("content", JSON, nullable=False, comment="what the PDF says, point by point"),
    Column("pdf", LargeBinary, nullable=False),
    Column("sha256", Text, nullable=False, comment="of the PDF, hexadecimal"),
    instant("created_at"),
)

issued_translations = Table(
    "issued_translations",
    metadata,
    Column("doc_id", Uuid, primary_key=True, comment="the issued declaration, whose own row has its first language"),
    Column("lang", Text, primary_key=True),
    company(),
    Column("content", JSON, nullable=False, comment="what the PDF says, point by point"),
    Column("pdf", LargeBinary, nullable=False),
    Column("sha256", Text, nullable=False, comment="of the PDF, hexadecimal"),
    instant("created_at"),
)
