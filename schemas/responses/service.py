"""Models of the service's answers about itself: its health, its OpenAPI document, its published schemas."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict
from pydantic import Field as PydanticField
from pydantic.json_schema import SkipJsonSchema

from schemas.responses.base import Answer, Day


class Health(Answer):
    """Whether the service answers, or is ready; `clock_offset_seconds` only where a test clock is set."""

    status: Literal["ok", "starting", "degraded"]
    failing: Annotated[
        list[Literal["storage", "database", "database_writes", "catalogue", "worker", "code_server"]]
        | SkipJsonSchema[None],
        PydanticField(description="What fails or is waited for (503), or which parts are away (200, `degraded`)."),
    ] = None
    clock_offset_seconds: int | SkipJsonSchema[None] = None


class OpenApiDocument(BaseModel):
    """A document of OpenAPI 3.1; that specification says what else it may have."""

    model_config = ConfigDict(extra="allow")

    openapi: str


class JsonSchemaDocument(BaseModel):
    """A JSON Schema (2020-12) with its version; the specification of JSON Schema says what else it may have."""

    model_config = ConfigDict(extra="allow")

    dialect: Annotated[str, PydanticField(alias="$schema")]
    address: Annotated[str, PydanticField(alias="$id", json_schema_extra={"format": "uri"})]
    version: Annotated[
        str, PydanticField(description="Version of the schema; it changes whenever the schema accepts anything else.")
    ]
    date: Annotated[Day, PydanticField(description="Day on which this version was published.")]
