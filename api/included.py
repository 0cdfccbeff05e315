"""Adds graphs, volumes and compliance to the items of a SKU list, where `include` asks for them.

The rows come with the page, in one statement (`warehouse.skus.stored_items`), and are shown as the detail shows them.
"""

from collections.abc import Collection, Mapping
from datetime import date
from functools import partial
from typing import Annotated, Final

from fastapi import Query
from pydantic import AfterValidator, WithJsonSchema
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.answers import json_of
from api.languages import accepted_language, in_language
from api.parameters import one_of
from api.service import service_of
from pipelines.writing import present
from pipelines.writing.present import GradedBy
from schemas.json_values import JsonObject
from schemas.models import validator
from warehouse.skus import stored_items
from warehouse.skus.detail import StoredSku

PARTS: Final = ("components", "volumes", "compliance")
"""What `include` can name; the compliance block takes most of the time, as each grade is explained."""


def _named(values: list[str]) -> list[str]:
    return [one_of(part.strip(), PARTS) for value in values for part in value.split(",")]


Include = Annotated[
    list[str] | None,
    AfterValidator(validator(_named)),
    WithJsonSchema({"type": "array", "items": {"type": "string", "enum": list(PARTS)}, "x-stability": "preview"}),
    Query(
        description="Parts of the detail that each item has, too: `include=components,volumes,compliance`, or repeated."
    ),
]


async def with_parts(request: Request, page: JsonObject, parts: Collection[str]) -> Response:
    """Return a page of `stored_items.ITEM` with these parts of each item; the items are shown in a thread.

    A page without parts is one of plain items.
    """
    service, lang = service_of(request), accepted_language(request)
    if not parts:
        return json_of(page)
    rows = [stored_items.row_of(item) for item in page["data"]]
    versions = {_graded_by(row) for row in rows} if "compliance" in parts else set()
    rules = {found: await service.rules_for(*found) for found in versions}
    show = partial(_add, page["data"], rows, rules, parts=parts, today=service.clock.today(), lang=lang)
    await run_in_threadpool(show)
    return in_language(json_of(page), lang)


def _graded_by(row: StoredSku) -> tuple[str, str | None]:
    return row["ruleset_version"], present.version_before(row)


def _add(
    items: list[JsonObject],
    rows: list[StoredSku],
    rules: Mapping[tuple[str, str | None], GradedBy],
    *,
    parts: Collection[str],
    today: date,
    lang: str,
) -> None:
    for item, row in zip(items, rows, strict=True):
        shown: Mapping[str, object]
        if "compliance" in parts:
            of_day, graded_by, before = rules[_graded_by(row)]
            shown = present.sku_detail(
                row,
                present.record(row),
                rules=of_day,
                graded_by=graded_by,
                doc_status=row["doc_status"],
                before=before,
                today=today,
                lang=lang,
            )
        else:
            shown = present.fields(row)
        item |= {part: shown[part] for part in PARTS if part in parts}
