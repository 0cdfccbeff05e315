"""Decides which accepted media type a file's bytes have. The name is ignored; a declared type must agree.

A signature at the start decides for PDF and images. Word and Excel share their containers with other programs, so
there the container's own table of contents decides (`ole`, `ooxml`).
"""

from typing import BinaryIO, Final

import puremagic

from pipelines.reading.media import ole, ooxml
from schemas.messages import Message
from schemas.normalise import Unfit
from schemas.technical_files import MEDIA_TYPES, TAKEN, MediaType

_HEAD_BYTES: Final = 4096
_OLE: Final = bytes.fromhex("d0cf11e0a1b11ae1")
_ZIP: Final = b"PK\x03\x04"


def detect_media_type(file: BinaryIO, declared: MediaType | None) -> MediaType:
    """Return the media type of the bytes.

    Raises `Unfit` (`unsupported_media_type`) for a type that is not accepted, or is not the declared one.
    """
    head = file.read(_HEAD_BYTES)
    if head.startswith(_OLE):
        found = _of_container("ole", ole.streams(file))
    elif head.startswith(_ZIP):
        found = _of_container("ooxml", ooxml.main_types(file))
    else:
        found = _of_signature(head)
    if found is None:
        raise Unfit(
            "unsupported_media_type",
            Message("The file's bytes are none of the kinds that are taken: {taken}.", taken=TAKEN),
        )
    if declared not in {None, found}:
        assert declared is not None
        sentence = Message(
            "The file is declared as {declared}, but its bytes are {found}; "
            "declare what it is, or send it as application/octet-stream.",
            declared=declared.media_type,
            found=found.media_type,
        )
        raise Unfit("unsupported_media_type", sentence)
    return found


def _of_container(container: str, marks: set[str]) -> MediaType | None:
    return next((kind for kind in MEDIA_TYPES if kind.container == container and kind.marks & marks), None)


def _of_signature(head: bytes) -> MediaType | None:
    try:
        types = {match.mime_type for match in puremagic.magic_string(head)}
    except (puremagic.PureError, ValueError):  # an unknown signature, or no bytes
        return None
    return next((kind for kind in MEDIA_TYPES if not kind.container and kind.media_type in types), None)
