"""One page of a list, as every list answers it (decisions §1)."""

from typing import Final, Generic, TypeVar

from typing_extensions import TypedDict

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
