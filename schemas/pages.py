"""What answers with one record, a page of records or a write have around them, as every one has it (decisions §1)."""

from typing import Final, Generic, TypeVar

from typing_extensions import TypedDict

from schemas.answers import Answer

T = TypeVar("T")
MOST_OFFSET: Final = 2**31 - 1
"""From here on an offset counts as this one, by every door."""


class Pagination(TypedDict):
    """Where a page lies."""

    limit: int
    offset: int
    total: int


class Page(TypedDict, Generic[T]):
    """The records of a page and where it lies; some lists answer more beside it."""

    data: list[T]
    pagination: Pagination


class OneAnswer(Answer, Generic[T]):
    """The answer of one record."""

    data: T


class ListAnswer(Answer, Generic[T]):
    """The answer of a page of records."""

    data: list[T]
    pagination: Pagination


class WriteAnswer(Answer, Generic[T]):
    """The answer of a write; with `dry_run` it says what would be."""

    dry_run: bool
    data: T
