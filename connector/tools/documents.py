"""Files a supplier's document from an assistant for review, after checking its media type and its fingerprint."""

import base64
import binascii
import hashlib
from datetime import date
from typing import Annotated, Any, Final, Literal  # Any: a literal made from a vocabulary
from uuid import UUID

from anyio import to_thread
from pydantic import BaseModel, ConfigDict, Field
from uuid_utils import uuid7

from connector.principal import Principal
from connector.service import Service
from connector.tools.answer import refusal
from connector.tools.arguments import item_id
from connector.tools.asking import Filing
from connector.tools.read_apart import read_apart
from pipelines.sandbox.requests import detection_request
from pipelines.writing import quota
from schemas.normalise import Unfit
from schemas.technical_file_form import name_as, own_name, parse_fields
from schemas.technical_files import TYPES
from services import review
from services.review.files import attach
from services.technical_files import key_of
from warehouse.review import files
from warehouse.review.entries import Entry
from warehouse.sessions import Connection, after_commit
from warehouse.skus import queries as skus
from warehouse.technical_files.queries import File

MOST_BASE64: Final = 2_000_000
"""Characters of 1.5 MB, which fit a message to the connector. Larger files go to `POST /skus/{id}/files`."""
Type: Any = Literal[tuple(TYPES)]
_TEXTS: Final = ("reference", "issuer")
_DAYS: Final = ("issued_on", "expires_on")


class Document(BaseModel):
    """The document and what is known of it."""

    model_config = ConfigDict(extra="forbid")

    type: Annotated[Type, Field(description="What the document is.")]
    filename: Annotated[str, Field(description="Its name with the ending, such as report.pdf.", max_length=255)]
    content_base64: Annotated[
        str,
        Field(
            description="Its bytes in base64, 1.5 MB at most: PDF, PNG, JPEG, WebP, Word or Excel.",
            max_length=MOST_BASE64,
        ),
    ]
    reference: Annotated[str | None, Field(description="The document's own reference.", max_length=2000)] = None
    issuer: Annotated[str | None, Field(description="Who issued it.", max_length=2000)] = None
    issued_on: Annotated[date | None, Field(description="ISO date.")] = None
    expires_on: Annotated[date | None, Field(description="ISO date; its last day.")] = None


async def document(
    service: Service,
    who: Principal,
    sku_code: str | None,
    id: str | None,  # noqa: A002
    sent: Document,
) -> tuple[Filing, str]:
    """Return the filing of one document and the question for the user."""
    data = await to_thread.run_sync(_bytes, sent)
    sku_id, code = await to_thread.run_sync(_item, service, who, id, sku_code)
    file = await _received(service, who, sent, data)
    about = {
        "type": sent.type,
        "filename": file.filename,
        "media_type": file.media_type,
        "size_bytes": len(data),
        "sha256": file.sha256,
        **{name: getattr(file, name) for name in (*_TEXTS, *_DAYS)},
    }

    object_key = key_of(who.company_id, file.id)

    def filed(conn: Connection, key: bytes) -> Entry:
        now = service.clock.now()
        entry = review.file(
            conn, who.company_id, "supplier_document", about, origin=who.origin, now=now, sku_id=sku_id, filing_key=key
        )
        if filed_before := files.of_entry(conn, entry.id):
            if all(each.id != file.id for each in filed_before):  # the document of then stays
                after_commit(conn, lambda: service.objects.remove(object_key))
            return entry
        try:
            quota.admit(conn, service.objects, who.company_id, new_bytes=len(data), now=now)
        except quota.StorageFull as full:
            raise refusal(full.code, str(full)) from None
        attach(conn, who.company_id, file, now=now, entry_id=entry.id)
        return entry

    arguments = {"sku_id": str(sku_id), "about": about}
    question = (
        f"File the document “{file.filename}” ({sent.type}, {len(data)} bytes, SHA-256 {file.sha256}) for the "
        f"packaging item “{code}” in your review queue? It becomes a technical file only if a person accepts it."
    )
    would_file = {"kind": "supplier_document", "sku_code": code, **about}
    filing = Filing("submit_supplier_document", arguments, would_file, filed, (object_key, data))
    return filing, question


def _bytes(sent: Document) -> bytes:
    try:
        data = base64.b64decode(sent.content_base64, validate=True)
    except binascii.Error:
        raise refusal("invalid_format", "content_base64 is no base64; send the file's bytes in it.") from None
    if not data:
        raise refusal("required", "The document is empty; send its bytes.")
    return data


def _item(service: Service, who: Principal, id: str | None, sku_code: str | None) -> tuple[UUID, str | None]:  # noqa: A002
    with service.writes.company(who.company_id) as conn:
        sku_id = item_id(conn, id, sku_code)
        return sku_id, skus.code_of(conn, sku_id)


async def _received(service: Service, who: Principal, sent: Document, data: bytes) -> File:
    """Return the document as a received file, with its media type checked as for an upload."""
    texts = {name: getattr(sent, name) for name in _TEXTS} | {
        name: value.isoformat() for name in _DAYS if (value := getattr(sent, name)) is not None
    }
    fields, issues = parse_fields({"type": sent.type, **{name: text for name, text in texts.items() if text}})
    if issues:
        raise refusal(issues[0].code, issues[0].message)
    try:
        name = own_name(sent.filename)
        kind = await read_apart(service, who.company_id, detection_request(data, None))
    except Unfit as unfit:
        raise refusal(unfit.code, unfit.message) from None
    sha256 = hashlib.sha256(data).hexdigest()
    return File(UUID(str(uuid7())), name_as(name, kind), kind.media_type, len(data), sha256, **fields)
