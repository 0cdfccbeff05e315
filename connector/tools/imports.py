"""Defines the tool of bulk imports: the status of one, or a preview for rows that are not sent yet."""

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any, Final, TypeVar  # Any: rows as the assistant sends them
from uuid import UUID

import orjson
from anyio import to_thread
from pydantic import Field

from connector.principal import current_principal
from connector.service import Service
from connector.tools.kit import DEFAULT_LIMIT, Answer, Limit, Offset, Page, Tool, refusal, stated, uuid_of
from pipelines.imports import submissions
from pipelines.readers.pool import QueueFull
from pipelines.readers.requests import ReadRequest
from pipelines.reading.grid import ReadingRefused
from pipelines.reading.mapping import Words
from pipelines.reading.rows import TypedRows
from pipelines.reading.upload import Upload
from schemas.actors import Actor
from schemas.imports.types import ImportPreview, PolledReport, RecentImport
from schemas.issues import Issue
from warehouse.catalogue import served_markets
from warehouse.imports import queries, words

T = TypeVar("T")

_DOOR: Final = "assistant"


async def read_apart(service: Service, company_id: UUID, order: ReadRequest[T]) -> T:
    """Return the answer to the order, once the file has been read; raises the tool's refusal of a file, and `Unfit`."""
    try:
        return await asyncio.wrap_future(service.readers.submit(company_id, _DOOR, order))
    except QueueFull as crowded:
        raise refusal(crowded.code, str(crowded)) from None
    except ReadingRefused as unreadable:
        sentence = "; ".join(map(_sentence, unreadable.issues))
        raise refusal(unreadable.issues[0].code, sentence) from None


def _sentence(issue: Issue) -> str:
    """Return what an issue says; of a question with the piece of mapping for each thing that it could be."""
    if issue.answer is None:
        return issue.message
    return f"{issue.message} Could be: {', '.join(issue.could_be)}; answer: {orjson.dumps(dict(issue.answer)).decode()}"


_RECENT: Final = 5
MOST_ROWS: Final = 1000
"""Rows of one call, as many as of a batch (interface v1, Limits); more are sent as an import."""

Rows = Annotated[
    list[dict[str, Any]] | None,
    Field(
        description="At most 1 000 rows under import columns, such as sku_code, name, weight_grams.",
        max_length=MOST_ROWS,
    ),
]
CsvText = Annotated[str | None, Field(description="A CSV text with its header line.", max_length=1_000_000)]
MappingOfRows = Annotated[dict[str, Any] | None, Field(description="Answers to source.asked.")]
ImportId = Annotated[str | None, Field(description="The import's id, or `latest`.")]


class BulkCheck(Answer):
    """An import's status and report, or those that it would have."""

    import_: Annotated[
        dict[str, Any],
        Field(
            alias="import",
            description="status, counts, source (asked: its open questions), errors with line, column and reason.",
        ),
    ]
    page: Annotated[Page, Field(description="Where this page of `errors` lies.")]


class RowTools:
    """The tool of imports: a reader process reads whole tables, and a thread previews the result."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def tools(self) -> list[Tool]:
        """Return the tool with its title."""
        return [Tool(self.check_bulk_import, "Check a bulk import")]

    async def check_bulk_import(
        self,
        import_id: ImportId = None,
        rows: Rows = None,
        csv: CsvText = None,
        *,
        mapping: MappingOfRows = None,
        limit: Limit = DEFAULT_LIMIT,
        offset: Offset = 0,
    ) -> BulkCheck:
        """What happened to an import (import_id, or `latest`: last night's), and which rows to correct.

        Or check rows or a pasted CSV table as a dry run: how many items would be created, updated or rejected, and each
        fault. Nothing is created. Send one of the three.
        """
        if sum(argument is not None for argument in (import_id, rows, csv)) != 1:
            raise refusal("invalid_body", "Send exactly one of import_id, rows and csv.")
        if import_id is not None:
            if mapping is not None:
                raise refusal(
                    "invalid_body",
                    "A mapping is of rows or csv here; a sent import is answered with POST /imports/{id}/repeat.",
                )
            return await to_thread.run_sync(self._status, import_id, limit, offset)
        return await self._preview(rows, csv, mapping, limit, offset)

    def _status(self, import_id: str, limit: int, offset: int) -> BulkCheck:
        wanted_id, recent = uuid_of(import_id), list[dict[str, object]]()
        with self._service.writes.company(current_principal().company_id) as conn:
            if import_id == "latest":
                newest = queries.recent(_RECENT).read(conn)["data"]
                recent = [_in_short(run) for run in newest]
                wanted_id = newest[0]["id"] if newest else None
            report = wanted_id and queries.status(conn, wanted_id, limit=limit, offset=offset)
        if not report:
            none_yet = "The company has sent no import yet; one is made with POST /imports or on the page /imports."
            unknown = "The company has no such import; send `latest`, or an id of it."
            raise refusal("not_found", none_yet if import_id == "latest" else unknown)
        page = Page.from_pagination(report["pagination"], len(report["errors"]))
        beside = {"recent": recent} if recent else {}
        return self._answer(report, page, f"The import is {report['status']}.", limit=limit, beside=beside)

    async def _preview(
        self,
        rows: list[dict[str, Any]] | None,
        csv: str | None,
        mapping: dict[str, Any] | None,
        limit: int,
        offset: int,
    ) -> BulkCheck:
        principal = current_principal()
        actor = Actor(principal.company_id, principal.origin, self._service.clock.now())
        text = csv if csv is not None else await to_thread.run_sync(_csv_of, rows or [])
        served, own_words = await to_thread.run_sync(self._markets_and_words, actor.company_id)
        order = submissions.reading_order(text, now=actor.now, served_markets=served, words=own_words, mapping=mapping)
        read = await read_apart(self._service, actor.company_id, order)
        return await to_thread.run_sync(self._previewed, actor, read, mapping, limit, offset)

    def _markets_and_words(self, company_id: UUID) -> tuple[frozenset[str], Words]:
        """Return the codes of the served markets, and the company's own words."""
        with self._service.writes.company(company_id) as conn:
            return served_markets(conn), words.for_reading(conn)

    def _previewed(
        self,
        actor: Actor,
        read: tuple[Upload, TypedRows],
        mapping: dict[str, Any] | None,
        limit: int,
        offset: int,
    ) -> BulkCheck:
        with self._service.writes.company(actor.company_id) as conn:
            preview = submissions.preview(conn, actor, *read, self._service.rulesets, mapping=mapping)
        errors = preview["errors"]
        preview["errors"] = errors[offset : offset + limit]
        page = Page.from_pagination({"limit": limit, "offset": offset, "total": len(errors)}, len(preview["errors"]))
        beside = {"status": "not_sent", "dry_run": True}
        return self._answer(preview, page, "Nothing was created.", limit=limit, beside=beside)

    def _answer(
        self, report: PolledReport | ImportPreview, page: Page, state: str, *, limit: int, beside: Mapping[str, object]
    ) -> BulkCheck:
        """Return the answer with as many warnings as errors; `warning_counts` counts all of them."""
        questions = len(report["source"].get("asked", ()))
        if questions:
            are_open = "1 question is open" if questions == 1 else f"{questions} questions are open"
            state += (
                f" {are_open}, and what is asked is not stored: ask the user which of could_be is "
                "meant; its answer goes to POST /imports/{id}/repeat, or as mapping beside rows or csv."
            )
        done = (
            "Send the rows as a file on POST /imports when nothing is rejected."
            if not page.total
            else ("Correct the cells that errors names, then check again.")
        )
        return BulkCheck(
            as_of=self._service.clock.now(),
            sources=["The import's own reading of the rows"],
            next_step=f"{state} {page.way_on(done)}",
            page=page,
            **{"import": stated({**beside, **report, "warnings": report["warnings"][:limit]})},
        )


def _in_short(recent: RecentImport) -> dict[str, object]:
    """Return an import of the list without its progress; its counts stand beside its name."""
    in_short: dict[str, object] = {name: recent[name] for name in ("id", "status", "dry_run", "filename", "created_at")}
    return in_short | {name: number for name, number in recent["counts"].items() if name != "total"}


def _csv_of(rows: list[dict[str, Any]]) -> str:
    try:
        return submissions.csv_of(rows)
    except TypeError as error:
        raise refusal("invalid_type", str(error)) from None
