"""Reads the content types that an Office Open XML package declares for its parts (ECMA-376 Part 2, section 10.1.2)."""

from typing import BinaryIO, Final

from pipelines.reading.office import ZIP_ERRORS, local_name, open_zip, parse_xml

_CONTENTS: Final = "[Content_Types].xml"
_MOST_CONTENTS_BYTES: Final = 2**20
"""A document's list of types has some kilobytes."""


def main_types(file: BinaryIO) -> set[str]:
    """Return the declared types of parts; none where the file is no such package, or its list is too long."""
    types: set[str] = set()

    def start(name: str, attributes: dict[str, str]) -> None:
        if local_name(name) == "Override":
            types.add(attributes.get("ContentType", ""))

    try:
        with open_zip(file) as package, package.open(_CONTENTS) as part:
            content = part.read(_MOST_CONTENTS_BYTES + 1)
        if len(content) > _MOST_CONTENTS_BYTES:
            return set()
        parse_xml([content], start)
    except ZIP_ERRORS:  # includes NoXmlError, which is a ValueError
        return set()
    return types
