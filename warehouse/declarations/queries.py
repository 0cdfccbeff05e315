"""Stores declarations that were issued here, content and PDF, once and without changes."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final
from uuid import UUID

import orjson
from psycopg.rows import class_row

from warehouse.sessions import Connection

_ADD: Final = """
INSERT INTO issued_declarations (doc_id, company_id, entry_id, content, pdf, sha256, created_at)
VALUES (%s, %s, %s, %s::json, %s, %s, %s)"""
_TRANSLATE: Final = """
INSERT INTO issued_translations (doc_id, company_id, lang, content, pdf, sha256, created_at)
VALUES (%s, %s, %s, %s::json, %s, %s, %s)"""
_SELECT: Final = """
SELECT issued.doc_id, issued.entry_id, issued.content, issued.sha256, docs.reference
FROM issued_declarations AS issued JOIN docs ON docs.id = issued.doc_id"""
_PDF: Final = "SELECT pdf FROM issued_declarations WHERE doc_id = %s"
_PDF_IN: Final = """
SELECT pdf FROM issued_declarations WHERE doc_id = %(doc_id)s AND content ->> 'lang' = %(lang)s
UNION ALL SELECT pdf FROM issued_translations WHERE doc_id = %(doc_id)s AND lang = %(lang)s"""
_VALID_OF_ITEMS: Final = """
SELECT docs.id AS doc_id, docs.sku_id, docs.reference, docs.issued_on
FROM docs JOIN issued_declarations AS issued ON issued.doc_id = docs.id
WHERE docs.sku_id IS NOT NULL AND docs.status = 'valid'
    AND (docs.expires_on IS NULL OR docs.expires_on >= %(today)s::date)
ORDER BY docs.created_at DESC, docs.id"""
_OF_SKU: Final = """
SELECT issued.doc_id FROM docs JOIN issued_declarations AS issued ON issued.doc_id = docs.id WHERE docs.sku_id = %s"""


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
    with connection.cursor(row_factory=class_row(ValidDoc)) as cursor:
        return cursor.execute(_VALID_OF_ITEMS, {"today": today}).fetchall()


def add(
    connection: Connection,
    company_id: UUID,
    doc_id: UUID,
    *,
    entry_id: UUID,
    content: Mapping[str, object],
    pdf: bytes,
    sha256: str,
    at: datetime,
) -> None:
    """Store a declaration in a session of its company, whose record in `docs` is `doc_id`."""
    connection.execute(_ADD, [doc_id, company_id, entry_id, orjson.dumps(content).decode(), pdf, sha256, at])


def add_translation(
    connection: Connection,
    company_id: UUID,
    doc_id: UUID,
    *,
    lang: str,
    content: Mapping[str, object],
    pdf: bytes,
    sha256: str,
    at: datetime,
) -> None:
    """Store a declaration that `add` stored in a further language."""
    connection.execute(_TRANSLATE, [doc_id, company_id, lang, orjson.dumps(content).decode(), pdf, sha256, at])


def of_entry(connection: Connection, entry_id: UUID) -> Issued | None:
    """Return the declaration that was issued from an entry of the review queue."""
    return _one(connection, f"{_SELECT} WHERE issued.entry_id = %s", entry_id)


def of_doc(connection: Connection, doc_id: UUID) -> Issued | None:
    """Return the declaration of a record of `docs`; None where that was not issued here."""
    return _one(connection, f"{_SELECT} WHERE issued.doc_id = %s", doc_id)


def pdf(connection: Connection, doc_id: UUID) -> bytes:
    """Return the PDF of a declaration that `of_doc` found."""
    row = connection.execute(_PDF, [doc_id]).fetchone()
    assert row is not None, "a declaration is never removed"
    return bytes(row[0])


def pdf_in(connection: Connection, doc_id: UUID, lang: str | None) -> bytes | None:
    """Return the PDF of a declaration in a language, or in its first; None where it was not issued here in it."""
    if lang is None:
        row = connection.execute(_PDF, [doc_id]).fetchone()
    else:
        row = connection.execute(_PDF_IN, {"doc_id": doc_id, "lang": lang}).fetchone()
    return None if row is None else bytes(row[0])


def of_sku(connection: Connection, sku_id: UUID) -> set[UUID]:
    """Return the records of `docs` of a SKU that have a PDF here."""
    return {doc_id for (doc_id,) in connection.execute(_OF_SKU, [sku_id])}


def _one(connection: Connection, query: str, of: UUID) -> Issued | None:
    with connection.cursor(row_factory=class_row(Issued)) as cursor:
        return cursor.execute(query, [of]).fetchone()
