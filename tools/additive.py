"""Checks that a document only adds to an earlier one: lists each difference that would break a client of the earlier.

v1 is additive (interface v1, Versioning): nothing vanishes, a request may not require more than before, an answer may
not contain values that it did not. An enumeration of answers grows only where its schema is marked `x-open`. It
compares OpenAPI documents of the form that `api.openapi.document` makes; keywords that this does not use are not
checked.
"""

from collections.abc import Iterator
from typing import Any, Final

Schema = dict[str, Any]
_LEAST: Final = ("minimum", "minLength", "minItems")
_MOST: Final = ("maximum", "maxLength", "maxItems")
_EQUAL: Final = ("pattern", "format", "const")


def breaks(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Return every difference that is not additive, each as one sentence with its place; empty where there is none."""
    return list(dict.fromkeys(differences(old, new)))


def differences(old: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
    """Yield the same while they are found; one may come twice."""
    for name in _gone(_schemas(old), _schemas(new)):
        yield f"The schema {name} has vanished."
    comparison = _Comparison(old, new)
    for path, methods in old["paths"].items():
        for method, operation in methods.items():
            place = f"{method.upper()} {path}"
            now = new["paths"].get(path, {}).get(method)
            if now is None:
                yield f"{place} has vanished."
            elif not (comparison.same_components and now == operation):
                yield from comparison.operation(operation, now, place)


def _schemas(document: dict[str, Any]) -> Schema:
    schemas: Schema = document["components"]["schemas"]
    return schemas


def _gone(old: Any, new: Any) -> list[str]:
    return [name for name in old if name not in new]


class _Comparison:
    """Compares operations with their earlier form. A difference in a schema of several operations is reported once."""

    def __init__(self, old: dict[str, Any], new: dict[str, Any]) -> None:
        self._schemas = {id(old): _schemas(old), id(new): _schemas(new)}
        self._old, self._new = id(old), id(new)
        self._seen: set[tuple[str, int, int]] = set()
        self.same_components = _schemas(old) == _schemas(new)

    def operation(self, old: Schema, new: Schema, place: str) -> Iterator[str]:
        yield from self._marks(old, new, place)
        yield from self._parameters(old, new, place)
        yield from self._body(old, new, place)
        yield from self._answers(old, new, place)

    def _marks(self, old: Schema, new: Schema, place: str) -> Iterator[str]:
        for mark in ("operationId", "x-stability", "x-scope"):
            if old.get(mark) != new.get(mark):
                yield f"{place}: {mark} was {old.get(mark)} and is {new.get(mark)}."
        for scheme in old.get("security", []):
            if new.get("security") and scheme not in new["security"]:
                yield f"{place}: the credential {' and '.join(scheme)} is no longer taken."
        if new.get("security") and not old.get("security"):
            yield f"{place}: a credential is now needed."

    def _parameters(self, old: Schema, new: Schema, place: str) -> Iterator[str]:
        before, now = ({(p["in"], p["name"]): p for p in side.get("parameters", ())} for side in (old, new))
        for key, parameter in before.items():
            where = f"{place}: the {key[0]} parameter {key[1]}"
            if key not in now:
                yield f"{where} has vanished."
                continue
            yield from self._request(parameter["schema"], now[key]["schema"], where)
        for key, parameter in now.items():
            if parameter.get("required") and not before.get(key, {}).get("required"):
                yield f"{place}: the {key[0]} parameter {key[1]} is now required."

    def _body(self, old: Schema, new: Schema, place: str) -> Iterator[str]:
        before, now = old.get("requestBody"), new.get("requestBody")
        if now and now.get("required") and not (before or {}).get("required"):
            yield f"{place}: a body is now required."
        if before:
            contents = (now or {}).get("content", {})
            for kind, content in before["content"].items():
                if kind not in contents:
                    yield f"{place}: bodies of {kind} are no longer taken."
                    continue
                yield from self._request(content["schema"], contents[kind]["schema"], f"{place}: body")

    def _answers(self, old: Schema, new: Schema, place: str) -> Iterator[str]:
        for status, answer in old["responses"].items():
            where = f"{place}: {status}"
            now = new["responses"].get(status)
            if now is None:
                yield f"{where} has vanished."
                continue
            yield from (
                f"{where}: the header {name} has vanished."
                for name in _gone(answer.get("headers", {}), now.get("headers", {}))
            )
            yield from (
                f"{where}: the code {code} has vanished."
                for code in _gone(answer.get("x-error-codes", ()), now.get("x-error-codes", ()))
            )
            for kind, content in answer.get("content", {}).items():
                if kind not in now.get("content", {}):
                    yield f"{where}: answers of {kind} have vanished."
                    continue
                yield from self._answer(content["schema"], now["content"][kind]["schema"], where)

    def _request(self, old: Schema, new: Schema, place: str) -> Iterator[str]:
        if not (self.same_components and old == new):
            yield from self._vanished(old, new, place)
            yield from self._refused(old, self._old, new, self._new, place)

    def _answer(self, old: Schema, new: Schema, place: str) -> Iterator[str]:
        if not (self.same_components and old == new):
            yield from self._vanished(old, new, place)
            yield from self._refused(new, self._new, old, self._old, place)

    def _once(self, way: str, one: Schema, other: Schema) -> bool:
        """Return whether this pair is compared for the first time in this way: schemas may contain themselves."""
        pair = (way, id(one), id(other))
        if pair in self._seen:
            return False
        self._seen.add(pair)
        return True

    def _alternatives(self, schema: Schema, side: int) -> dict[str, Schema]:
        """Return a value's schemas by kind of JSON value, with references followed and unions split."""
        if "$ref" in schema:
            return self._alternatives(self._schemas[side][schema["$ref"].rpartition("/")[2]], side)
        if "anyOf" in schema:
            found: dict[str, Schema] = {}
            for part in schema["anyOf"]:
                for kind, one in self._alternatives(part, side).items():
                    found[f"{kind} {len(found)}" if kind in found else kind] = one
            return found
        kinds = schema.get("type", "anything")
        return dict.fromkeys([kinds] if isinstance(kinds, str) else kinds, schema)

    def _vanished(self, old: Schema, new: Schema, place: str) -> Iterator[str]:
        """Yield a sentence for each field, code and kind of value that was published and no longer is."""
        now = self._alternatives(new, self._new)
        for kind, before in self._alternatives(old, self._old).items():
            after = now.get(kind)
            if after is None:
                yield f"{place} is no longer {kind}."
                continue
            if not self._once("vanished", before, after):
                continue
            yield from (
                f"{place}: the code {code} has vanished."
                for code in _gone(before.get("enum", ()), after.get("enum", before.get("enum", ())))
            )
            yield from (
                f"{place}.{name} has vanished."
                for name in _gone(before.get("properties", {}), after.get("properties", {}))
            )
            for name, inner, outer in _shared(before, after):
                yield from self._vanished(inner, outer, f"{place}{name}")

    def _refused(self, inner: Schema, inner_side: int, outer: Schema, outer_side: int, place: str) -> Iterator[str]:
        """Yield a sentence for each place where a value of `inner` would not be a value of `outer`."""
        taken = self._alternatives(outer, outer_side)
        for kind, one in self._alternatives(inner, inner_side).items():
            other = taken.get(kind) or taken.get("anything") or (taken.get("number") if kind == "integer" else None)
            if other is None:
                yield f"{place} may be {kind} on one side only."
                continue
            if not self._once("refused", one, other):
                continue
            yield from _narrowed(one, other, place)
            for name, part, whole in _shared(one, other):
                yield from self._refused(part, inner_side, whole, outer_side, f"{place}{name}")


def _narrowed(inner: Schema, outer: Schema, place: str) -> Iterator[str]:
    """Yield a sentence for each way in which `outer` requires more than `inner`, without the schemas inside them."""
    if "enum" in outer and not outer.get("x-open"):
        for code in _gone(inner.get("enum", ("any text",)), outer["enum"]):
            yield f"{place}: {code} is a code on one side only."
    for name in _gone(outer.get("required", ()), inner.get("required", ())):
        yield f"{place}.{name} is required on one side only."
    if outer.get("additionalProperties") is False:
        for name in _gone(inner.get("properties", {}), outer.get("properties", {})):
            yield f"{place}.{name} is a field on one side only."
        if inner.get("additionalProperties") is not False:
            yield f"{place}: unknown fields are refused on one side only."
    for bound in _LEAST:
        if bound in outer and inner.get(bound, float("-inf")) < outer[bound]:
            yield f"{place}: {bound} differs."
    for bound in _MOST:
        if bound in outer and inner.get(bound, float("inf")) > outer[bound]:
            yield f"{place}: {bound} differs."
    for keyword in _EQUAL:
        if keyword in outer and inner.get(keyword) != outer[keyword]:
            yield f"{place}: {keyword} differs."


def _shared(one: Schema, other: Schema) -> Iterator[tuple[str, Schema, Schema]]:
    """Yield the schemas that both contain in the same place, with that place's name."""
    others = other.get("properties", {})
    for name, schema in one.get("properties", {}).items():
        if name in others:
            yield f".{name}", schema, others[name]
    if "items" in one and "items" in other:
        yield "[]", one["items"], other["items"]
    values = (one.get("additionalProperties"), other.get("additionalProperties"))
    if isinstance(values[0], dict) and isinstance(values[1], dict):
        yield ".*", values[0], values[1]
