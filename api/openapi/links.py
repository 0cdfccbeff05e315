"""OpenAPI links: which operation accepts an id that another returns, for readers and for tests that follow them."""

from typing import Final

from api.openapi.schemas import operations

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
