"""Makes the file of a seed, always the same one: an example mutated byte by byte or by the grammar of its format."""

import io
import random
import zipfile
from pathlib import Path
from typing import Final

from schemas.messages import LANGUAGES
from services.imports.workbook import template
from tools.fuzz_files.quoting import mutated_csv
from tools.fuzz_files.tables import table
from tools.fuzz_files.xml_parts import mutated_xml

_TABLE_OF: Final = 4
"""Every so many seeds there is a table that is well-formed and odd, instead of a damaged file."""
_LARGEST: Final = 256 * 1024
"""Bytes of the largest file that is mutated: larger ones would leave time for fewer seeds."""
_TOKENS: Final = (
    b'"',
    b'""',
    b";",
    b",",
    b"\t",
    b"|",
    b"\n",
    b"\r",
    b"\r\n",
    b"\x00",
    b"\x1a",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"\xfe\xff",
    b"\xff",
    b"\x92",
    b"\xc3",
    b"\xed\xa0\x80",
    b"sep=;\n",
    b"'",
    b'="0"',
    b"#N/A",
    b"null",
    b"1,234",
    b"1e999",
    b"-0",
    b"84-86",
    b"NaN",
    b"inf",
    b"12 kg",
    b"9" * 400,
    b"Total",
    b"Example",
    b"sku_code",
    b"name",
    b"component_type",
    b"packagings_1_",
    b"annual_volume_fr",
    b"A" * 70_000,
    b";" * 5_000,
    b"\n" * 500,
    b"\xe2\x80\xa8",
    b"\xc2\xa0",
    b"\xf0\x9f\xa7\xb4",
    b"<",
    b">",
    b"</row>",
    b"<row>",
    b"<c ",
    b'<c r="XFD1048576"><v>1</v></c>',
    b'r="A0"',
    b't="s"',
    b's="999999"',
    b"<v>",
    b"</v>",
    b"<f>1+1</f>",
    b"&amp;",
    b"&#0;",
    b"&#xD800;",
    b"&x;",
    b"<!--",
    b"]]>",
    b"<![CDATA[",
    b"<!DOCTYPE a>",
    b'ref="A1:XFD1048576"',
    b'<mergeCell ref="A1:B99"/>',
    b"-1",
    b"4294967296",
    b"99999999999999999999",
    b'hidden="1"',
    b'state="hidden"',
    b"\xc3\xa9",
)
"""Bytes that often break readers of text and of XML."""


def corpus(folders: list[Path]) -> list[tuple[str, bytes]]:
    """Return name and bytes of each file below the folders that can be mutated, by path, and then of the templates."""
    paths = sorted(path for folder in folders for path in folder.rglob("*") if path.suffix.lower() in (".csv", ".xlsx"))
    files = [(path.name, path.read_bytes()) for path in paths if 0 < path.stat().st_size <= _LARGEST]
    return [*files, *((f"template-{lang}.xlsx", template(lang)) for lang in LANGUAGES)]


def mutated(seed: int, files: list[tuple[str, bytes]]) -> tuple[str, bytes]:
    """Return the name and bytes of the file of a seed."""
    if seed % _TABLE_OF == 0:
        return table(seed)
    rng = random.Random(seed)
    name, data = rng.choice(files)
    if data.startswith(b"PK") and rng.random() < 0.9:
        return name, _with_mutated_part(rng, data)
    if not data.startswith(b"PK") and rng.random() < 0.6:
        return name, mutated_csv(rng, data)
    _, other = rng.choice(files)
    return name, _overwritten(rng, data, other)


def _with_mutated_part(rng: random.Random, data: bytes) -> bytes:
    """Mutate one or two parts of an archive, so that the damage is behind the decompression."""
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as archive, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as made:
        parts = {name: archive.read(name) for name in archive.namelist()}
        for name in rng.sample(sorted(parts), min(len(parts), rng.choice((1, 1, 2)))):
            other = rng.choice(list(parts.values()))
            by_grammar = rng.random() < 0.6
            parts[name] = mutated_xml(rng, parts[name]) if by_grammar else _overwritten(rng, parts[name], other)
        for name, content in parts.items():
            if rng.random() > 0.01:
                made.writestr(name, content)
    return target.getvalue()


def _overwritten(rng: random.Random, data: bytes, other: bytes) -> bytes:
    for _ in range(rng.choice((1, 1, 2, 3, 8))):
        at = rng.randrange(len(data) + 1)
        end = min(len(data), at + rng.choice((0, 1, 1, 2, 10, 100, 5_000)))
        match rng.randrange(6):
            case 0:
                data = data[:at] + rng.choice(_TOKENS) + data[end:]
            case 1:
                data = data[:at] + rng.choice(_TOKENS) * rng.choice((1, 2, 30)) + data[at:]
            case 2:
                data = data[:at] + data[end:]
            case 3:
                data = data[:end] + data[at:]
            case 4:
                start = rng.randrange(len(other) + 1)
                data = data[:at] + other[start : start + rng.choice((1, 20, 2_000))] + data[end:]
            case _:
                data = data[:at] + rng.randbytes(end - at) + data[end:]
    return data
