"""Audit page for administrators: who did what, when, and each changed field before and after."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, date, datetime, time
from typing import Final
from uuid import UUID

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from api.audit.words import action_in_words, path_in_words, payload_rows, reason_in_words, value_in_words
from api.http.service import service_of
from api.pages.forms import offset_of
from api.pages.refusals import PageRefused
from api.pages.render import language_of, page, said, text
from api.pages.sessions import Administrator
from api.skus.words import changed_rows
from schemas.audit import AuditEntry
from schemas.issues import ISSUE_CODES
from schemas.json_values import JsonObject
from schemas.messages import header
from schemas.vocabularies import ACTIONS, RESOURCE_TYPES, actions_of
from services.audit import page_of
from warehouse.audit import ledger
from warehouse.imports import queries as imports
from warehouse.imports.queries import Sent
from warehouse.skus.queries import names_of

router = APIRouter(prefix="/audit")

PAGE_SIZE: Final = 50
_PAGES: Final = {"sku": "/items/{}", "sku_volumes": "/items/{}", "import": "/imports/{}"}
"""The page of a record, by its resource type."""
_CODES: Final[Mapping[str, tuple[str, ...]]] = {
    "kind": ("review.kind", "roles.value"),
    "role": ("role",),
    "status": ("imports.state", "doc.status"),
    "state": ("review.state", "webhooks.state"),
    "disabled_reason": ("webhooks.reason",),
    "scopes": ("keys.scope",),
    "half": ("figures.half",),
    "format": ("declarations.format",),
    "lang": ("lang",),
    "artwork_state": ("marks.artwork_state",),
    "carrier": ("marks.carrier",),
    "property": ("marks.property",),
    "about": ("marks.about",),
    "size": ("company.size",),
    "organisation_size": ("declarations.size",),
    "activity": ("declarations.activity",),
    "household_type": ("declarations.type",),
    "roles": ("library.role",),
    **dict.fromkeys(("mark", "specified_by", "made_by", "packed_by"), ("roles.value",)),
}
"""Fields whose values are codes, with the beginnings of the keys of their words."""


@router.get("")
def get_audit(request: Request, session: Administrator) -> Response:
    """List the entries of the audit log, the newest first, narrowed by person, kind and day.

    An import is one entry, which leads to those that it wrote: only who asks for it or for a kind sees them.
    """
    offset, lang = offset_of(request), language_of(request)
    sent = {name: request.query_params.get(name, "").strip() for name in ("actor", "kind", "since", "until")}
    with service_of(request).writes.company(session.company_id) as conn:
        listed = page_of(ledger.page(PAGE_SIZE, offset, _filters(sent)).read(conn))
        if listed is None:
            raise PageRefused(403, "audit.not_included")
        entries = listed["data"]
        items = names_of(conn, _ids(_item_id(entry) for entry in entries))
        files = imports.sent(conn, _ids(_import_id(entry) for entry in entries))
    kinds = sorted((text(f"audit.resource.{kind}", lang), kind) for kind in RESOURCE_TYPES)
    return page(
        request,
        "audit.html",
        session=session,
        entries=[_entry(entry, items, files, lang) for entry in entries],
        total=listed["pagination"]["total"],
        offset=offset,
        size=PAGE_SIZE,
        given=sent,
        kinds=[(kind, name) for name, kind in kinds],
    )


def _filters(sent: Mapping[str, str]) -> dict[str, object]:
    """Return the filters of the address; what no entry can have is left out."""
    filters: dict[str, object] = {}
    if sent["actor"] and sent["actor"].isprintable():
        filters["actor"] = sent["actor"]
    if sent["kind"] in RESOURCE_TYPES:
        filters["actions"] = list(actions_of(sent["kind"]))
    if not filters:
        filters["not_by"] = "import"
    for name, of_day in (("since", time.min), ("until", time.max)):
        try:
            filters[name] = datetime.combine(date.fromisoformat(sent[name]), of_day, UTC)
        except ValueError:
            continue
    return filters


def _item_id(entry: AuditEntry) -> object:
    """Return the id of the item that an entry is about; None where it is about none."""
    if entry["resource_type"] in ("sku", "sku_volumes"):
        return entry["resource_id"]
    return next(
        (fields["sku_id"] for fields in (entry["after"], entry["before"]) if fields and "sku_id" in fields), None
    )


def _import_id(entry: AuditEntry) -> object:
    """Return the id of the import that made an entry, or that it is about."""
    return entry["actor"]["id"] if entry["actor"]["type"] == "import" else entry["resource_id"]


def _ids(texts: Iterable[object]) -> list[UUID]:
    """Return those that are ids, each once."""
    ids = []
    for value in dict.fromkeys(map(str, texts)):
        with suppress(ValueError):
            ids.append(UUID(value))
    return ids


def _entry(entry: AuditEntry, items: Mapping[str, tuple[str, str]], files: Mapping[str, Sent], lang: str) -> JsonObject:
    """Return an entry in words: the action, the record with its page, and the fields that it changed."""
    resource = entry["action"].partition(".")[0]
    assert entry["action"] in ACTIONS, "the ledger has known actions"
    if resource in ("sku", "sku_volumes"):
        changed = changed_rows(entry["before"], entry["after"] or {}, lang)
    else:
        before, after = entry["before"] or {}, entry["after"] or {}
        names = [name for name in dict.fromkeys((*before, *after)) if name != "payload"]
        changed = [
            {"name": _name(name, lang), "now": _value(name, before.get(name), lang), "then": _value(name, now, lang)}
            for name, now in ((name, after.get(name)) for name in names)
        ]
        filed = payload_rows(after.get("kind", ""), after["payload"], lang) if "payload" in after else ()
        changed += [{"name": name, "now": None, "then": value} for name, value in filed]
    address = _PAGES.get(resource)
    return {
        **entry,
        "what": action_in_words(entry["action"], lang),
        "reason": entry["reason"] and reason_in_words(entry["reason"], lang),
        "page": address.format(entry["resource_id"]) if address else None,
        "item": items.get(str(_item_id(entry))),
        "item_id": _item_id(entry),
        "file": files.get(str(_import_id(entry))),
        "changed": changed,
    }


def _name(name: str, lang: str) -> str:
    """Return the name of an entry's field in words; a company's own word, such as `material: Karton`, is one."""
    keys = (f"{group}.{name}" for group in ("audit.field", "review.payload", "imports"))
    return next(_texts(keys, lang), header("sku", name, lang))


def _value(name: str, stored: object, lang: str) -> str:
    """Return the value of an entry's field in words; codes of few fields have words in the texts."""
    if name == "failure" and isinstance(stored, Mapping) and stored.get("code") in ISSUE_CODES:
        return said(ISSUE_CODES[stored["code"]].meaning, lang)  # its sentence is English here; the import's page has it
    if isinstance(stored, Mapping) and stored:
        return "; ".join(f"{_name(key, lang)}: {_value(key, value, lang)}" for key, value in stored.items())
    if name == "field" and isinstance(stored, str):
        return path_in_words(stored, lang)
    if isinstance(stored, list) and stored and (name in _CODES or isinstance(stored[0], Mapping)):
        return ", ".join(_value(name, member, lang) for member in stored)
    if name == "types" and isinstance(stored, list):
        return ", ".join(action_in_words(action, lang) for action in stored)
    keys = (f"{group}.{stored}" for group in _CODES.get(name, ()))
    return next(_texts(keys, lang), value_in_words(stored, "market" if name == "market" else None, lang))


def _texts(keys: Iterable[str], lang: str) -> Iterator[str]:
    """Yield the texts of the keys that have one."""
    for key in keys:
        with suppress(KeyError):
            yield text(key, lang)
