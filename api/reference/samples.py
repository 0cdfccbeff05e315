"""The request of an operation as a reader copies it: in curl, and in Python and TypeScript with the official clients.

Each can be sent unchanged once the names in capitals are set. `tests/api/test_reference_examples.py` sends them all.
"""

import json
import re
import shlex
from collections.abc import Iterator
from pprint import pformat
from textwrap import indent
from typing import Final

from api.reference.operations import COMPONENT, Operation
from schemas.json_values import Json

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
    arguments = [found.upper() for found in _IN_PATH.findall(operation.path)] + ["client=client"]
    before: list[str] = []
    if operation.media_type is not None:
        model = _model(operation)
        imports.append(f"from pcds_client.models import {model}")
        value = _named(pformat(_given(operation), width=100, sort_dicts=False))
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
    asked = [
        "client = connect(BASE, KEY)",
        *before,
        f"answer = {name}.{call}({', '.join(arguments)})",
        "print(answer)",
    ]
    return "\n".join([*imports, "", *asked])


def _model(operation: Operation) -> str:
    schema = operation.bodies[0][1]["schema"]
    schema = schema.get("items", schema)
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    return "".join(map(str.capitalize, operation.anchor.split("_"))) + ("FilesBody" if operation.bodies[1:] else "Body")


def _is_answered(operation: Operation) -> bool:
    return any("content" in answer for answer in operation.published["responses"].values())


def _given(operation: Operation) -> Json:
    return operation.example | _CREDENTIALS if operation.takes_client else operation.example


def _named(text: str) -> str:
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
        value = json.dumps(_given(operation), indent=2, ensure_ascii=False)
        parts.append(f"body: {_named(indent(value, '  ').lstrip())},")
    if not _is_json(operation):
        parts.append('parseAs: "blob",')
    given = "".join(f"\n  {part}" for part in parts)
    options = f", {{{given}\n}}" if parts else ""
    call = f'const {{ data, error }} = await client.{operation.method}("{operation.path}"{options});'
    said = "console.log(JSON.stringify(data ?? error, null, 2));"
    return "\n".join([*imports, "", "const client = connect(BASE, KEY);", call, said])


def _is_json(operation: Operation) -> bool:
    answers = [answer for status, answer in operation.published["responses"].items() if status < "300"]
    return all("application/json" in answer.get("content", {"application/json": None}) for answer in answers)
