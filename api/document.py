"""The OpenAPI 3.1 document: what each operation takes and answers, from the models that the handlers validate with.

Bodies are read and validated by the handlers themselves, so the document names their models here; error answers come
from the one table of codes. Descriptions of fields are the field tables'.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from api.parameters import Parameter
from schemas.errors import ERROR_CODES
from schemas.models import SkuBatchInput, SkuInput
from schemas.responses import Error

V1: Final = "/api/v1"
"""Where the paths of the interface begin; v1 stays v1 (interface v1, Versioning)."""

_REFERENCE: Final = "#/components/schemas/{model}"
_BODIES: Final = (SkuInput, SkuBatchInput)
_ABOUT: Final = (
    "Packaging data for machine integration: SKUs, their component graphs, the recyclability grade that the service "
    "computes for each, and imports of whole files. A credential reads and writes the data of its own company only. "
    "v1 is additive: ignore fields that you do not know. Every grade is indicative: no legal grade exists before the "
    "delegated acts of Regulation (EU) 2025/40."
)
READ_ERRORS: Final = ("invalid_body", "missing_api_key", "invalid_api_key", "insufficient_scope", "internal_error")
"""What every operation with a credential can answer."""
WRITE_ERRORS: Final = (*READ_ERRORS, "plan_limit_reached", "payload_too_large")


def operation(
    summary: str,
    *,
    answers: Mapping[int, type[BaseModel]],
    errors: Sequence[str] = (),
    parameters: Sequence[Parameter[Any] | dict[str, Any]] = (),
    body: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The arguments that a route takes beside its path: what is published of it, with the handler's docstring."""
    extra: dict[str, Any] = {"x-stability": "stable"}
    if parameters:
        extra["parameters"] = [p.published() if isinstance(p, Parameter) else p for p in parameters]
    if body is not None:
        extra["requestBody"] = {"required": True, "content": body}
    documented: dict[int | str, Any] = {
        status: {"model": model, "description": (model.__doc__ or "").strip()} for status, model in answers.items()
    }
    for status in sorted({ERROR_CODES[code].status for code in errors}):
        codes = [code for code in errors if ERROR_CODES[code].status == status]
        documented[status] = _refusal(codes)
    return {
        "summary": summary,
        "status_code": min(answers),
        "responses": documented,
        "response_model": None,
        "openapi_extra": extra,
    }


def _refusal(codes: Sequence[str]) -> dict[str, Any]:
    examples = {
        code: {"value": {"error": code, "correlationId": "5b0e7c1a-…", "message": ERROR_CODES[code].meaning}}
        for code in codes
    }
    return {
        "model": Error,
        "description": " ".join(f"`{code}`: {ERROR_CODES[code].meaning}" for code in codes),
        "content": {"application/json": {"examples": examples}},
    }


def body_of(model: type[BaseModel]) -> dict[str, Any]:
    """A JSON body of one of the models above."""
    assert model in _BODIES, "a body that no one publishes"
    return {"application/json": {"schema": {"$ref": _REFERENCE.format(model=model.__name__)}}}


def install(app: FastAPI) -> None:
    """Make `app.openapi()` answer the document; it is built once."""

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _build(app)
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign]  # the framework's own way to replace it


def _build(app: FastAPI) -> dict[str, Any]:
    built = get_openapi(
        title=app.title, version=app.version, description=_ABOUT, routes=app.routes, tags=app.openapi_tags,
        servers=app.servers,
    )  # fmt: skip
    _, bodies = models_json_schema([(model, "validation") for model in _BODIES], ref_template=_REFERENCE)
    schemas = built["components"]["schemas"]
    schemas.update(bodies["$defs"])
    return built
