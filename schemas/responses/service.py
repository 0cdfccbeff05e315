"""What the service says of itself: whether it is well, and its document."""

from typing import Literal

from pydantic import BaseModel, ConfigDict
from pydantic.json_schema import SkipJsonSchema

from schemas.responses.base import Answer


class Health(Answer):
    """Whether the service answers, or is ready; `clock_offset_seconds` only where a test clock is set."""

    status: Literal["ok", "starting"]
    clock_offset_seconds: int | SkipJsonSchema[None] = None


class OpenApiDocument(BaseModel):
    """A document of OpenAPI 3.1; what may stand in it is that specification's to say."""

    model_config = ConfigDict(extra="allow")

    openapi: str
