"""The operations of the OpenAPI document: what pages, samples and the collection are made of."""

from dataclasses import dataclass
from typing import Final

from schemas.json_values import Json, JsonObject

Document = JsonObject

COMPONENT: Final = "$COMPONENT_ID"
"""Stands in an example where a supplier's answer names a component: the only id in a body that differs each time."""


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation with its context in the document."""

    method: str
    path: str
    published: JsonObject

    @property
    def anchor(self) -> str:
        """Its anchor on the page."""
        return str(self.published["operationId"])

    @property
    def tag(self) -> str:
        """The tag that it is listed under."""
        return str(self.published["tags"][0])

    @property
    def bodies(self) -> list[tuple[list[str], JsonObject]]:
        """Its accepted bodies: the media types of a schema, and that schema; empty where it accepts none."""
        grouped: list[tuple[list[str], JsonObject]] = []
        for media_type, content in self.published.get("requestBody", {}).get("content", {}).items():
            same = next((types for types, body in grouped if body["schema"] == content["schema"]), None)
            if same is None:
                grouped.append(([media_type], content))
            else:
                same.append(media_type)
        return grouped

    @property
    def codes(self) -> list[str]:
        """Its error codes."""
        return [code for answer in self.published["responses"].values() for code in answer.get("x-error-codes", ())]

    @property
    def takes_key(self) -> bool:
        """Whether it is called with a key or a token."""
        return "x-scope" in self.published

    @property
    def takes_client(self) -> bool:
        """Whether it is called with the id and secret of a client."""
        return bool(self.published["security"]) and not self.takes_key

    @property
    def media_type(self) -> str | None:
        """The media type of the body that examples send; None where there is no body."""
        return self.bodies[0][0][0] if self.bodies else None

    @property
    def example(self) -> Json:
        """The example of the body; of a form, its fields without the file."""
        given: Json = next(iter(self.bodies[0][1].get("examples", {}).values()), {"value": {}})["value"]
        if self.media_type == "multipart/form-data":
            return {name: value for name, value in given.items() if name != "file"}
        match given:
            case {"response": {"components": [component, *others], **response}}:
                named = {**component, "component_id": COMPONENT}
                return {**given, "response": {"components": [named, *others], **response}}
        return given


def operations(document: Document) -> dict[str, list[Operation]]:
    """Return operations by tag, both in the document's order."""
    by_tag: dict[str, list[Operation]] = {tag["name"]: [] for tag in document["tags"]}
    for path, methods in document["paths"].items():
        for method, published in methods.items():
            by_tag[published["tags"][0]].append(Operation(method.upper(), path, published))
    return {tag: found for tag, found in by_tag.items() if found}
