"""Models of a company's own words."""

from typing import Annotated

from pydantic import Field as PydanticField

from schemas.responses.base import Answer, Instant, Number, Pagination


class OwnWord(Answer):
    """A text in a column of the company's files, and the value that it means."""

    field: str
    text: str
    value: Annotated[
        str | Number | bool | list[str] | None, PydanticField(description="As in a mapping; null is an empty cell.")
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
