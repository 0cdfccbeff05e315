"""The operations of the OpenAPI document: what pages, samples and the collection are made of."""

import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pprint import pformat
from textwrap import indent
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
        example: Json = next(iter(self.bodies[0][1].get("examples", {}).values()), {"value": {}})["value"]
        if self.media_type == "multipart/form-data":
            return {name: value for name, value in example.items() if name != "file"}
        match example:
            case {"response": {"components": [component, *others], **response}}:
                answer = {**component, "component_id": COMPONENT}
                return {**example, "response": {"components": [answer, *others], **response}}
        return example


def operations(document: Document) -> dict[str, list[Operation]]:
    """Return operations by tag, both in the document's order."""
    by_tag: dict[str, list[Operation]] = {tag["name"]: [] for tag in document["tags"]}
    for path, methods in document["paths"].items():
        for method, published in methods.items():
            by_tag[published["tags"][0]].append(Operation(method.upper(), path, published))
    return {tag: group for tag, group in by_tag.items() if group}


Schema = JsonObject


@dataclass(frozen=True, slots=True)
class Type:
    """A type in words, and the name of the schema that it refers to, where it has one."""

    words: str
    schema: str | None


@dataclass(frozen=True, slots=True)
class FieldRow:
    """One row of a field table."""

    name: str
    type: Type
    required: bool
    deprecated: bool
    limits: str
    meaning: str


def rows(schema: Schema) -> list[FieldRow]:
    """Return the fields of an object, in their order."""
    required = schema.get("required", ())
    return [
        FieldRow(
            name=name,
            type=type_of(field),
            required=name in required,
            deprecated=bool(field.get("deprecated")),
            limits=limits(field),
            meaning=field.get("description", ""),
        )
        for name, field in schema.get("properties", {}).items()
    ]


def type_of(schema: Schema) -> Type:
    """Return the type in words: `array of SkuComponent`, `string or null`, `number`."""
    reference = next(_references(schema), None)
    return Type(_words(schema), reference)


def _references(schema: Schema) -> Iterator[str]:
    if "$ref" in schema:
        yield _name(schema)
    for part in (*schema.get("anyOf", ()), *([schema["items"]] if "items" in schema else ())):
        yield from _references(part)


def _name(schema: Schema) -> str:
    return str(schema["$ref"]).rpartition("/")[2]


def _words(schema: Schema) -> str:
    if "$ref" in schema:
        return _name(schema)
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_words(part) for part in schema["anyOf"]))
    if "const" in schema:
        return json.dumps(schema["const"]).strip('"')
    if "enum" in schema:
        return " | ".join(str(code) for code in schema["enum"])
    kinds = schema.get("type", "any value")
    words = [_kind(kind, schema) for kind in ([kinds] if isinstance(kinds, str) else kinds)]
    return " or ".join(words)


def _kind(kind: str, schema: Schema) -> str:
    if kind == "array":
        return f"array of {_words(schema['items'])}"
    if kind == "string" and schema.get("format"):
        return {"date-time": "instant", "date": "date", "uuid": "uuid", "binary": "file"}.get(schema["format"], kind)
    return kind


def limits(schema: Schema) -> str:
    """Return the limits in words: `0 to 100`, `at most 255 characters`; empty where there are none."""
    if part_limits := next((limits(part) for part in schema.get("anyOf", ()) if limits(part)), ""):
        return part_limits
    texts = [
        _between(schema.get("minimum"), schema.get("maximum"), ""),
        _between(schema.get("minLength"), schema.get("maxLength"), " characters"),
        _between(schema.get("minItems"), schema.get("maxItems"), " entries"),
    ]
    if "default" in schema and schema["default"] is not None:
        texts.append(f"default {str(schema['default']).lower()}")
    return ", ".join(filter(None, texts))


def _between(least: float | None, most: float | None, unit: str) -> str:
    if least is None and most is None:
        return ""
    if most is None:
        return f"at least {_number(least)}{unit}"
    if least is None:
        return f"at most {_number(most)}{unit}"
    return f"{_number(least)} to {_number(most)}{unit}"


def _number(value: float | None) -> str:
    return f"{value:,.10g}".replace(",", "\N{NARROW NO-BREAK SPACE}")


_IN_PATH: Final = re.compile(r"\{(\w{1,40})\}")
_CREDENTIALS: Final = {"client_id": "$CLIENT_ID", "client_secret": "$KEY"}
_NAMED: Final = re.compile(r"""(["'])\$([A-Z_]{2,20})\1""")
"""A text that stands for a variable, as a language writes texts."""
_OUT_OF_QUOTES: Final = f"""'"{COMPONENT}"'"""
"""The variable in a text that the shell has in single quotes."""


def module_name(tag: str) -> str:
    """Return the module of the Python client that has the operations of a tag: `technical_files`."""
    return tag.lower().replace(" ", "_")


def curl(operation: Operation) -> str:
    """Return the command."""
    is_implied = operation.method == ("GET" if operation.media_type is None else "POST")
    parts = ["curl" if is_implied else f"curl -X {operation.method}"]
    if operation.takes_key:
        parts.append('-H "X-API-Key: $KEY"')
    elif operation.takes_client:
        parts.append('-u "$CLIENT_ID:$KEY"')
    parts += _options(operation)
    return " \\\n  ".join([*parts, f'"$BASE{_IN_PATH.sub(_variable, operation.path)}"'])


def _options(operation: Operation) -> Iterator[str]:
    match operation.media_type:
        case "application/json":
            yield "-H 'Content-Type: application/json'"
            text = shlex.quote(json.dumps(operation.example, ensure_ascii=False))
            yield "-d " + text.replace(COMPONENT, _OUT_OF_QUOTES)
        case "multipart/form-data":
            yield '-F file=@"$FILE"'
            yield from (f"-F {name}={value}" for name, value in operation.example.items())


def _variable(name: re.Match[str]) -> str:
    return f"${name[1].upper()}"


def python(operation: Operation) -> str:
    """Return the lines of a program."""
    name = operation.anchor
    imports = ["from pcds_client import connect", f"from pcds_client.api.{module_name(operation.tag)} import {name}"]
    arguments = [parameter.upper() for parameter in _IN_PATH.findall(operation.path)] + ["client=client"]
    before: list[str] = []
    if operation.media_type is not None:
        model = _model(operation)
        imports.append(f"from pcds_client.models import {model}")
        value = _with_variables(pformat(_example_of(operation), width=100, sort_dicts=False))
        if operation.media_type == "multipart/form-data":
            before += ['with open(FILE, "rb") as file:']
            before.append(f"    fields = {indent(value, ' ' * 10).lstrip()} | {{'file': file.read()}}")
            before += [f"body = {model}.from_dict(fields)", "body.file.file_name = FILE"]
        elif isinstance(operation.example, list):
            before += [f"rows = {value}", f"body = [{model}.from_dict(row) for row in rows]"]
        else:
            before.append(f"body = {model}.from_dict(\n{indent(value, '    ')}\n)")
        arguments.append("body=body")
    call = "sync" if _is_answered(operation) else "sync_detailed"
    lines = ["client = connect(BASE, KEY)", *before, f"answer = {name}.{call}({', '.join(arguments)})", "print(answer)"]
    return "\n".join([*imports, "", *lines])


def _model(operation: Operation) -> str:
    schema = operation.bodies[0][1]["schema"]
    schema = schema.get("items", schema)
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    return "".join(map(str.capitalize, operation.anchor.split("_"))) + ("FilesBody" if operation.bodies[1:] else "Body")


def _is_answered(operation: Operation) -> bool:
    return any("content" in answer for answer in operation.published["responses"].values())


def _example_of(operation: Operation) -> Json:
    return operation.example | _CREDENTIALS if operation.takes_client else operation.example


def _with_variables(text: str) -> str:
    """Return a literal with variables where texts stand for them."""
    return _NAMED.sub(r"\2", text)


def typescript(operation: Operation) -> str:
    """Return the lines of a module."""
    imports = ['import { connect } from "pcds-client";']
    parts: list[str] = []
    if names := _IN_PATH.findall(operation.path):
        parts.append(f"params: {{ path: {{ {', '.join(f'{name}: {name.upper()}' for name in names)} }} }},")
    if operation.media_type == "multipart/form-data":
        imports.insert(0, 'import { readFile } from "node:fs/promises";')
        fields = "".join(f", {name}: {json.dumps(value)}" for name, value in operation.example.items())
        parts.append(f"body: {{ file: new File([await readFile(FILE)], FILE){fields} }},")
    elif operation.media_type is not None:
        value = json.dumps(_example_of(operation), indent=2, ensure_ascii=False)
        parts.append(f"body: {_with_variables(indent(value, '  ').lstrip())},")
    if not _is_json(operation):
        parts.append('parseAs: "blob",')
    members = "".join(f"\n  {part}" for part in parts)
    options = f", {{{members}\n}}" if parts else ""
    call = f'const {{ data, error }} = await client.{operation.method}("{operation.path}"{options});'
    said = "console.log(JSON.stringify(data ?? error, null, 2));"
    return "\n".join([*imports, "", "const client = connect(BASE, KEY);", call, said])


def _is_json(operation: Operation) -> bool:
    answers = [answer for status, answer in operation.published["responses"].items() if status < "300"]
    return all("application/json" in answer.get("content", {"application/json": None}) for answer in answers)
