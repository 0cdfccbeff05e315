"""Builds the OpenAPI 3.1 document from the models with which the handlers validate.

The handlers read and validate bodies themselves, so a route names their models here; error answers come from the one
table of codes. `api.openapi` adds what is common to all operations (limits, scopes, headers, names of vocabularies), so
that a route states only its own.
"""

import csv
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from threading import Lock
from types import MappingProxyType
from typing import Any, Final  # Any: a model or the TypedDict of its rows

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.responses import Response

from api.http.auth import SCHEMES
from api.openapi import completion, examples
from api.openapi.examples import operations
from schemas.answers import Error
from schemas.json_values import Json, JsonMapping, JsonObject, Published
from schemas.refusals import ERROR_CODES
from warehouse.operate.surroundings import PASSING

DESCRIPTION: Final = (
    "Packaging data for machine integration: SKUs, their component graphs, the recyclability grade that the service "
    "computes for each, and imports of whole files. A credential reads and writes the data of its own company only. "
    "v1 is additive: ignore fields that you do not know. Every grade is indicative: no legal grade exists before the "
    "delegated acts of Regulation (EU) 2025/40. What each error code asks you to do stands at /reference/errors."
)
CONTACT: Final = {"name": "The operator who issued your key"}
LICENCE: Final = {"name": "Proprietary", "identifier": "LicenseRef-Proprietary"}

_TAGS: Final = {
    "Access": "Bearer tokens from a key, for clients that would rather not send the key with each request.",
    "SKUs": "Packaging items with their component graph, volumes and grade.",
    "Roles": "What the company is by the Regulation in each market, why, and the duties that follow.",
    "Registers": "What the company holds in the registers of its markets, and what is missing to sell there.",
    "Marks": "What is printed on packs: marks that must go, labels that come, and claims with their proof.",
    "Evidence": "Which technical files show what Articles 5 to 12 ask, and what is missing.",
    "Technical files": "Evidence beside a SKU: what is held and its fingerprint, never the bytes.",
    "Imports": "Whole files of SKUs: CSV and XLSX, accepted at once, written afterwards, reported line by line.",
    "Exports": "The whole portfolio as a file: asked for, polled, downloaded.",
    "Library": "What SKUs refer to: shared components, sites and brands.",
    "Changes": "What changed, in the order in which it was stored: fetched from a cursor on, or sent by webhooks.",
    "Suppliers": "What a supplier answers to a company's request, by the link that it was sent.",
    "Declarations": "Declarations of Conformity: their metadata.",
    "Figures": "Tonnes placed on each market, what could not be counted, and the duties that follow.",
    "Kept declarations": "Declarations of tonnes made of the figures, kept as they were filed, corrected by new ones.",
    "Jurisdictions": "Where extended producer responsibility applies, how it is run and when that was verified.",
    "Audit": "Who changed what, with the values before and after.",
    "Service": "What the service says of itself.",
}


def tags() -> list[dict[str, object]]:
    """Return the tags in the order of the reference."""
    return [{"name": name, "description": sentence} for name, sentence in _TAGS.items()]


_SKU: Final = "$response.body#/data/id"
_OF_SKU: Final = ("get_sku", "put_sku", "put_volumes", "list_files", "post_file")
_LINKS: Final[dict[tuple[str, str], tuple[str, tuple[str, ...]]]] = {
    ("post_sku", "201"): (_SKU, _OF_SKU),
    ("post_sku", "200"): (_SKU, _OF_SKU),
    ("post_import", "202"): ("$response.body#/id", ("get_import",)),
}
"""By operation and status: the field with the id, and the operations that accept it."""


def add(document: dict[str, object]) -> None:
    """Add each link to the answer that contains the id."""
    for operation in operations(document):
        for status, answer in operation["responses"].items():
            where, targets = _LINKS.get((operation["operationId"], status), ("", ()))
            for target in targets:
                answer.setdefault("links", {})[target] = {"operationId": target, "parameters": {"id": where}}


def add_meanings(document: JsonObject) -> None:
    """Describe every field of the schemas that has no description yet."""
    for name, schema in document["components"]["schemas"].items():
        for field, published in schema.get("properties", {}).items():
            meaning = table().get((name, field)) or table().get(("*", field))
            if meaning:
                published.setdefault("description", meaning)


@cache
def table() -> dict[tuple[str, str], str]:
    """Return the meanings by schema and field."""
    rows = csv.DictReader((files("api.openapi") / "meanings.csv").read_text(encoding="utf-8").splitlines())
    return {(row["schema"], row["field"]): row["meaning"] for row in rows}


V1: Final = "/api/v1"
"""Prefix of the interface's paths; v1 stays v1 (interface v1, Versioning)."""

_REFERENCE: Final = "#/components/schemas/{model}"
_published_bodies: dict[str, type[BaseModel]] = {}
"""The models passed to `body_of` and `rows_of` while the routes were declared."""

_KEPT: Final = {
    "ETag": "Names these bytes; send it back as If-None-Match.",
    "Cache-Control": "How long the answer may be kept before asking again.",
}

_REVALIDATED: Final = {"ETag": _KEPT["ETag"]}

_FAULT: Final = "internal_error"

PUBLIC_ERRORS: Final = ("invalid_body", "rate_limited", "internal_error")
"""Error codes of an operation without a credential."""
READ_ERRORS: Final = (
    "invalid_body",
    "missing_api_key",
    "invalid_api_key",
    "invalid_token",
    "insufficient_scope",
    "rate_limited",
    "internal_error",
)
"""Error codes of every operation with a credential."""
WRITE_ERRORS: Final = (*READ_ERRORS, "plan_limit_reached", "idempotency_key_reuse", "payload_too_large")
"""Error codes of every write."""
CHANGE_ERRORS: Final = tuple(code for code in WRITE_ERRORS if code != "plan_limit_reached")
"""Error codes of a write that brings no SKU."""


def operation(
    summary: str,
    *,
    answers: Mapping[int, type[Any]] = MappingProxyType({}),
    files: Sequence[str] = (),
    errors: Sequence[str] = (),
    body: JsonMapping | None = None,
    headers: Mapping[str, str] | None = None,
    kept: bool = False,
    revalidated: bool = False,
    preview: bool = False,
    reads: bool = False,
) -> JsonObject:
    """Return a route's arguments beside its path: its published description, with the handler's docstring.

    An operation that answers with a file has its media types in `files`, and no `answers`.

    `body` maps media types to descriptions by `body_of`, `rows_of` or a schema of one's own. An operation that can
    answer `missing_api_key` needs a credential. `headers` are those of its successes, with their meanings, beside the
    common ones. `kept` where the handler answers with `api.http.answers.cacheable`, `revalidated` where with the
    function of this name, or likewise by a file's digest. `preview` marks our own operations beside the contract: they
    may still change (docs/spec). `reads` marks one that is posted and needs the scope read.
    """
    header_texts = {**(headers or {}), **(_KEPT if kept else {}), **(_REVALIDATED if revalidated else {})}
    extra: JsonObject = {"x-stability": "preview" if preview else "stable"}
    if reads:
        extra["x-scope"] = "read"
    if body is not None:
        extra["requestBody"] = {"required": True, "content": body}
    if "missing_api_key" in errors:
        extra["security"] = [{scheme: []} for scheme in SCHEMES]
    documented: dict[int | str, Json] = {
        status: {"model": model, "description": (model.__doc__ or "").strip(), "headers": _headers(header_texts)}
        for status, model in answers.items()
    }
    if files:
        binary = {media_type: {"schema": {"type": "string", "format": "binary"}} for media_type in files}
        documented[200] = {"description": "The file.", "content": binary, "headers": _headers(header_texts)}
    if kept or revalidated:
        documented[304] = {
            "description": "Not modified: the answer is still the one that If-None-Match names.",
            "headers": _headers(_KEPT if kept else _REVALIDATED),
        }
    for status in sorted({ERROR_CODES[code].status for code in errors}):
        codes = [code for code in errors if ERROR_CODES[code].status == status]
        documented[status] = {"model": Error, "description": "", "x-error-codes": codes}
    if body is not None and "invalid_request" not in errors:  # of a type or a coding that is not taken
        documented[415] = {"model": Error, "description": "", "x-error-codes": ["invalid_body"]}
    if _FAULT in errors:  # where it is the machine's and passes (decisions §13, Operation)
        documented[503] = {"model": Error, "description": PASSING, "x-error-codes": [_FAULT]}
    return {
        "summary": summary,
        "status_code": min(answers, default=200),
        "responses": documented,
        "response_model": None,
        **({"response_class": Response} if files else {}),  # without it the framework publishes JSON beside the file
        "openapi_extra": extra,
    }


def _headers(meanings: Mapping[str, str]) -> JsonObject:
    return {name: {"description": meaning, "schema": {"type": "string"}} for name, meaning in meanings.items()}


def body_of(model: type[BaseModel], media_type: str = "application/json") -> JsonObject:
    """Return a body of this model."""
    return {media_type: {"schema": _reference_to(model)}}


def rows_of(model: type[BaseModel], *, most: int | None = None) -> JsonObject:
    """Return a JSON body that is an array of this model."""
    bound = {} if most is None else {"maxItems": most}
    return {"application/json": {"schema": {"type": "array", "items": _reference_to(model), **bound}}}


def ask_for_body(route: APIRoute) -> None:
    """Let a POST be sent without a body where none of the members that it may have is required.

    The published document says so, and `api.http.requests.json_body` takes it so. A PUT or PATCH without a body is
    rather one that was lost on the way.
    """
    body = (route.openapi_extra or {}).get("requestBody")
    if body is None or route.methods != {"POST"}:
        return
    schema = body["content"].get("application/json", {}).get("schema", {})
    model = _published_bodies.get(schema.get("$ref", "").rpartition("/")[2])
    body["required"] = model is None or any(field.is_required() for field in model.model_fields.values())


def _reference_to(model: type[BaseModel]) -> JsonObject:
    _published_bodies[model.__name__] = model
    return {"$ref": _REFERENCE.format(model=model.__name__)}


def install(app: FastAPI) -> None:
    """Make `app.openapi()` return the document; it is built once, by whichever thread asks first."""
    building = Lock()

    def document() -> JsonObject:
        with building:
            if app.openapi_schema is None:
                app.openapi_schema = _build(app)
            return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign]  # the framework's own way to replace it


def _build(app: FastAPI) -> JsonObject:
    built = get_openapi(
        title=app.title,
        version=app.version,
        description=DESCRIPTION,
        routes=app.routes,
        tags=tags(),
        servers=app.servers,
        contact=CONTACT,
        license_info=LICENCE,
        openapi_version="3.1.0",
    )
    bodies = [(model, "validation") for model in _published_bodies.values()]
    _, made = models_json_schema(bodies, ref_template=_REFERENCE, schema_generator=Published)  # type: ignore[arg-type]
    built["components"]["schemas"] |= made["$defs"]
    built["components"]["securitySchemes"] = dict(SCHEMES)
    completion.complete(built)
    add_meanings(built)
    examples.name(built)
    examples.add(built)
    add(built)
    return built
