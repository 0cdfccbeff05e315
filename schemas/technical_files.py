"""Lists the types of technical documents and the accepted media types.

Both tables are data: `technical_file_types.csv` (a type's code, its content in each language, and source) and
`technical_file_media.csv` (a media type and the signature of its bytes). `technical_file_form` parses the form fields;
`pipelines.reading.media` checks the bytes.
"""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

MAX_FILE_BYTES: Final = 20_000_000
"""Largest technical file: 20 MB (interface v1, Limits; decisions §9)."""


@dataclass(frozen=True, slots=True)
class MediaType:
    """One accepted kind of file.

    `container` is `ole` or `ooxml` where the first signature of the bytes only says Office. `marks` then tell the kinds
    apart: names of streams, or the content type of the main part. Empty where the signature decides.
    """

    media_type: str
    name: str
    extension: str
    also_declared_as: frozenset[str]
    container: str
    marks: frozenset[str]


def _rows(table: str) -> Iterator[dict[str, str]]:
    with Path(__file__).with_name(table).open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


TYPES: Final[dict[str, str]] = {row["code"]: row["content"] for row in _rows("technical_file_types.csv")}
"""The vocabulary of `type` with the contents of each document: Annex VII and the contract's examples."""

CONTENTS: Final[dict[str, dict[str, str]]] = {
    "en": TYPES,
    **{
        lang: {row["code"]: row[f"content_{lang}"] for row in _rows("technical_file_types.csv")}
        for lang in ("fr", "de")
    },
}
"""The same in each language, for people."""

MEDIA_TYPES: Final[tuple[MediaType, ...]] = tuple(
    MediaType(
        row["media_type"],
        row["name"],
        row["extension"],
        frozenset(row["also_declared_as"].split()),
        row["container"],
        frozenset(row["mark"].split()),
    )
    for row in _rows("technical_file_media.csv")
)
"""The accepted kinds of file (interface v1, POST /skus/{id}/files)."""

TAKEN: Final = ", ".join(f"{kind.name} ({kind.extension})" for kind in MEDIA_TYPES)
"""The accepted kinds in words, for a refusal."""
