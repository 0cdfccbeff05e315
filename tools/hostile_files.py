"""Makes small files that are costly to read, for `hostile_load`: the tests' own where they exist, else a few."""

import io
import zipfile
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Final

import orjson

_TESTS: Final = "tests.pipelines.reading.hostile"

Files = Mapping[str, Callable[[], bytes]]


def tables() -> Files:
    """Return files to import."""
    return _of_the_tests("TABLES") or {
        "a header of spaces": lambda: b"sku_code;name;w" + b" " * 16_000 + b"x\nA;B;1\n",
        "a weight of spaces": lambda: b"sku_code;name;weight_grams\nA;B;1" + b" " * 12_000 + b"x\n",
        "quotation marks": lambda: b"sku_code,name\n" + b'a","b\n' * 8_000,
    }


def documents() -> Files:
    """Return technical files."""
    return _of_the_tests("DOCUMENTS") or {"open elements": _open_elements}


def bodies() -> Files:
    """Return JSON bodies of a SKU."""
    part = {"component_type": "body", "material_family": "plastic"}
    return {
        "a SKU of 36 000 components": lambda: _sku(components=[part] * 36_000),
        "a SKU of 20 000 wrong markets": lambda: _sku(markets=["nowhere"] * 20_000),
        "a SKU of 100 000 unknown fields": lambda: _sku(**{f"f{number}": 1 for number in range(100_000)}),
    }


def _of_the_tests(name: str) -> Files:
    if find_spec(_TESTS) is None:
        return {}
    found: Files = getattr(import_module(_TESTS), name, {})
    return found


def _open_elements() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr("[Content_Types].xml", "<Types>" + "<Override " * 100_000)
    return out.getvalue()


def _sku(**fields: object) -> bytes:
    return orjson.dumps({"sku_code": "HOSTILE", "name": "Hostile", **fields})
