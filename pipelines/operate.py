"""Removes data that nobody needs any more, and enters what falls due, company by company.

Each function can be stopped between two pieces and begun again; what it did stays. Schedules decide when they
run (`pipelines.defs.operate`), whose ops show these docstrings. A function returns how many rows it has removed or
changed; the periods are those of decisions §11, Time.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Final, TypeAlias
from uuid import UUID, uuid4

import orjson

from schemas.actors import Actor, Origin
from schemas.json_values import JsonObject
from warehouse import conformity
from warehouse.answers import KEPT_FOR
from warehouse.audit import chain, ledger
from warehouse.audit.chain import Head
from warehouse.companies.queries import every_company
from warehouse.operate import measures, whole_files
from warehouse.operate.clock import Clock
from warehouse.operate.objects import Objects
from warehouse.operate.sessions import Connection, Pool
from warehouse.operate.settings import Settings

Proceed: TypeAlias = Callable[[], None]
"""Raises where the process has to end."""


BATCH_DOCS: Final = 500


def enter_expiries(pool: Pool, clock: Clock, proceed: Proceed) -> int:
    """Enter each declaration of conformity whose last day (UTC) has passed once in its company's audit ledger.

    They and their SKUs read as expired from that day on without this op.
    """
    entered, origin = 0, Origin("system", None, "expiry", correlation_id=str(uuid4()))
    for company_id in every_company(pool):
        more = True
        while more:
            proceed()
            with pool.company(company_id) as conn:
                batch = _enter_batch(conn, company_id, origin, clock.now())
            entered += batch
            more = batch == BATCH_DOCS
    return entered


def _enter_batch(conn: Connection, company_id: UUID, origin: Origin, now: datetime) -> int:
    expired = conformity.mark_expired(conn, now.date(), most=BATCH_DOCS)
    for doc_id, last_day in sorted(expired):
        ledger.enter(
            conn,
            Actor(company_id, replace(origin, reason=f"Its last day, {last_day.isoformat()}, has passed."), now),
            "doc.expired",
            doc_id,
            before={"status": "valid"},
            after={"status": "expired"},
        )
    return len(expired)


_BATCH: Final = 5_000


def remove_old_answers(pool: Pool, clock: Clock, proceed: Proceed) -> int:
    """Remove answers kept for repeated requests after their 24 hours."""
    before, removed = clock.now() - KEPT_FOR, 0
    while True:
        proceed()
        with pool.system() as conn:
            batch = measures.remove_answers(conn, before=before, most=_BATCH)
        removed += batch
        if batch < _BATCH:
            return removed


def remove_expired_access(pool: Pool, clock: Clock, proceed: Proceed) -> int:
    """Remove ended tokens, codes and sessions, request counts of inactive callers, and unused applications."""
    removed = 0
    for sweep in measures.EXPIRED:
        proceed()
        with pool.system() as conn:
            removed += measures.remove_expired(conn, sweep, clock.now())
    return removed


def forget_addresses(pool: Pool, clock: Clock, proceed: Proceed) -> int:
    """Remove addresses and user agents from audit ledgers and imports after 12 calendar months; actions are kept."""
    forgotten = 0
    for company_id in every_company(pool):
        proceed()
        with pool.company(company_id) as conn:
            forgotten += measures.anonymise(conn, clock.now())
    return forgotten


GRACE: Final = timedelta(hours=1)
BATCH_OBJECTS: Final = 1_000
_TABLES: Final[dict[str, tuple[str, ...]]] = {
    "files": ("technical_files", "review_files"),
    "imports": ("imports",),
    "exports": ("exports",),
}
"""Maps each folder of a company's objects to the tables whose ids occur in its keys."""


@dataclass(slots=True)
class Swept:
    """The objects that a sweep looked at and removed."""

    companies: int = 0
    looked_at: int = 0
    removed: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_TABLES, 0))
    """Removed objects by folder."""
    unfinished: int = 0
    """Uploads that were interrupted before their object existed."""


def remove_orphans(pool: Pool, objects: Objects, proceed: Proceed) -> Swept:
    """Remove every company's orphans."""
    swept, oldest = Swept(), objects.now() - GRACE
    for company_id in every_company(pool):
        for folder in _TABLES:
            for batch in _batches(objects, company_id, folder):
                proceed()
                orphans = _orphans(pool, company_id, folder, [key for key, at in batch if at < oldest])
                for key in orphans:
                    objects.delete(key)
                swept.looked_at += len(batch)
                swept.removed[folder] += len(orphans)
        swept.companies += 1
    swept.unfinished = objects.drop_unfinished(GRACE)
    return swept


def _batches(objects: Objects, company_id: UUID, folder: str) -> Iterator[list[tuple[str, datetime]]]:
    objects_stored = objects.stored(company_id, folder)
    while batch := list(islice(objects_stored, BATCH_OBJECTS)):
        yield batch


def _orphans(pool: Pool, company_id: UUID, folder: str, keys: list[str]) -> list[str]:
    ids = {key: _id_of(key) for key in keys}
    ids_to_find = sorted({identifier for identifier in ids.values() if identifier is not None})
    if not ids_to_find:
        return keys
    with pool.company(company_id) as conn:
        ids_found = set[UUID]().union(*(measures.ids_of_rows(conn, table, ids_to_find) for table in _TABLES[folder]))
    return [key for key, identifier in ids.items() if identifier not in ids_found]


def _id_of(key: str) -> UUID | None:
    """Return the record's id in `<company_id>/<folder>/<id>[/<part>]`; no record has any other name."""
    try:
        return UUID(key.split("/")[2])
    except ValueError:
        return None


_NAME: Final = "audit-heads-%Y%m%dT%H%M%S.%fZ.json"


class HeadsError(Exception):
    """A file of heads cannot be used; `str()` is a sentence that says why."""

    code = "heads_unusable"


def ship(settings: Settings, pool: Pool, folder: Path, now: datetime) -> Path:
    """Write the signed heads of all companies into a new file of the folder, whole or not at all; return the file."""
    statement = {"at": now.isoformat(), "heads": [head._asdict() for head in chain.every(pool)]}
    file = folder / now.astimezone(UTC).strftime(_NAME)
    whole_files.replace(file, orjson.dumps(chain.sign(settings, statement), option=orjson.OPT_INDENT_2))
    return file


def read(file: Path, company_id: UUID, public_key: str) -> tuple[datetime, Head]:
    """Return the instant of a file and a company's head in it. Raises `HeadsError` where the key has not signed it."""
    try:
        signed: JsonObject = orjson.loads(file.read_bytes())
    except orjson.JSONDecodeError:
        raise HeadsError(f"{file} is no file of heads; `pcds audit ship` writes one.") from None
    if not isinstance(signed, dict) or not chain.is_signed(signed, public_key):
        raise HeadsError(
            f"{file} is not signed with this key: it was altered, or another deployment signed it. Name that one's key "
            "with --public-key."
        )
    statement = signed["statement"]
    for head in statement["heads"]:
        if head["company_id"] == str(company_id):
            return datetime.fromisoformat(statement["at"]), Head(**head)
    raise HeadsError(f"{file} has no head of the company {company_id}.")
