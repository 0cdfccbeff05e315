"""Models of what a company's imports remember: its own words, and the mappings kept under names."""

from typing import Annotated

from pydantic import Field as PydanticField

from schemas.json_values import JsonObject
from schemas.responses.base import Answer, Identifier, Instant, Number, Pagination


class OwnWord(Answer):
    """A text in a column of the company's files, and the value that it means."""

    field: str
    text: str
    value: Annotated[
        str | Number | bool | list[str] | None,
        PydanticField(description="The value that the text means, written as in a mapping; null is an empty cell."),
    ]
    updated_at: Instant


class OwnWordListResponse(Answer):
    """A page of words, by field and word."""

    data: list[OwnWord]
    pagination: Pagination


class OwnWordsChange(Answer):
    """How many words were stored and removed."""

    stored: int
    removed: int


class OwnWordsWriteResult(Answer):
    """What a write of words did; with `dry_run` what it would do."""

    dry_run: bool
    data: OwnWordsChange


class KeptMapping(Answer):
    """A mapping that an import recalls by its `mapping_name`."""

    id: Identifier
    name: str
    mapping: JsonObject
    updated_at: Instant


class KeptMappingListResponse(Answer):
    """A page of mappings, the last kept first."""

    data: list[KeptMapping]
    pagination: Pagination


class KeptMappingRemoval(Answer):
    """The mapping that was removed; with `dry_run` the one that would be."""

    dry_run: bool
    data: KeptMapping
