"""One page of a list, as every list answers it (decisions §1)."""

from typing import Generic, TypeVar

from typing_extensions import TypedDict

T = TypeVar("T")


class Pagination(TypedDict):
    """Where a page lies."""

    limit: int
    offset: int
    total: int


class Page(TypedDict, Generic[T]):
    """The records of a page and where it lies; some lists answer more beside it."""

    data: list[T]
    pagination: Pagination
