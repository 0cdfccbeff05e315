"""Writes docs/settings.md: every setting with its variable, type, default and meaning, from the settings type.

python -m tools.settings_page
"""

import ast
import inspect
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal, get_args, get_origin

from pydantic import SecretStr
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from warehouse.operate.settings import Settings

PAGE: Final = Path(__file__).parent.parent / "docs" / "settings.md"
_INTRODUCTION: Final = """# Settings

Every setting is an environment variable, read once per process; API, workers and commands of one data directory have
the same. An empty variable counts as not set. A value that is not usable ends the program with one sentence, which
never repeats it. `python -m tools.settings_page` writes it from `warehouse/operate/settings.py`, and a test
holds it equal.

| Variable | Takes | Default | Meaning |
|---|---|---|---|
"""
_OTHERS: Final = """
Read by libraries: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_REGION` and `AWS_ENDPOINT_URL` where
`PCDS_OBJECTS_URL` or a watched folder names an S3-compatible store; `PROMETHEUS_MULTIPROC_DIR`, which `pcds serve` sets
([operations](operations.md)). Programs that use the API read `PCDS_KEY`; `PCDS_SUPERVISOR` marks processes of `pcds
serve`: do not set it.
"""


def page() -> str:
    """Return the page."""
    meanings = _meanings()
    missing = {*Settings.model_fields} - {*meanings}
    assert not missing, f"say in warehouse/operate/settings.py what these mean: {', '.join(sorted(missing))}"
    rows = (
        f"| `{variable(name)}` | {_takes(field)} | {_default(field)} | {meanings[name]} |\n"
        for name, field in Settings.model_fields.items()
    )
    return _INTRODUCTION + "".join(rows) + _OTHERS


def variable(name: str) -> str:
    """Return the environment variable of a field."""
    return {"database_url": "DATABASE_URL", "public_url": "PCDS_BASE_URL"}.get(name, f"PCDS_{name.upper()}")


def _meanings() -> dict[str, str]:
    """Return the text below each field, on one line."""
    parsed = ast.parse(textwrap.dedent(inspect.getsource(Settings)))
    [body] = [node for node in parsed.body if isinstance(node, ast.ClassDef)]
    found = {}
    for field, text in zip(body.body, body.body[1:], strict=False):
        match field, text:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(said))):
                found[name] = " ".join(said.split()).replace("|", "\\|")
    return found


_KINDS: Final[Mapping[type, str]] = {
    bool: "`true`, `false`",
    int: "whole number",
    float: "number",
    Path: "path",
    SecretStr: "text, secret",
    str: "text",
}


def _takes(field: FieldInfo) -> str:
    """Return what a setting takes, in words."""
    if get_origin(field.annotation) is Literal:
        return ", ".join(f"`{value}`" for value in get_args(field.annotation))
    if get_origin(field.annotation) is tuple:
        return "texts, separated by commas"
    annotated = str(field.annotation)
    described = next(text for kind, text in _KINDS.items() if field.annotation is kind or kind.__name__ in annotated)
    limits = {
        sign: getattr(each, sign)
        for each in field.metadata
        for sign in ("ge", "gt", "le")
        if getattr(each, sign, None) is not None
    }
    words = {"ge": "from", "gt": "above", "le": "to"}
    return " ".join([described, *(f"{words[sign]} {_grouped(limit)}" for sign, limit in limits.items())])


def _grouped(number: float) -> str:
    return f"{number:,}".replace(",", " ")


def _default(field: FieldInfo) -> str:
    value = field.default
    if value is None or value == () or value is PydanticUndefined:
        return "none"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
