"""Reads a workbook as a zip of XML parts, with bounds: its declared sizes are not trusted.

Every part is inflated in pieces, and all pieces together may have `MOST_BYTES`. `book.py`, `styles.py`, `strings.py`
and `cells.py` read the parts; `pipelines.reading.office` opens untrusted zips and XML.
"""

import io
from collections.abc import Callable, Iterator

from pipelines.reading.office import ZIP_ERRORS, DocumentTypeError, NoXmlError, open_zip, parse_xml
from pipelines.reading.refusal import ReadingRefused, refuse
from schemas.messages import Message

MOST_BYTES = 300 * 1024 * 1024
"""Inflated size of all parts read. A workbook of 10 MiB with 50 000 rows of 25 columns has 60 MiB."""
_MOST_PARTS = 5_000
_LARGEST_LIST = 16 * 1024 * 1024
"""Bytes of a part that lists sheets, relations or styles; lists of 5 000 sheets have one MiB."""
_FIRST_PIECE = 256 * 1024
_PIECE = 4 * 1024 * 1024
_ENCRYPTED_FLAG = 0x1


class Package:
    """The parts of a workbook by path, inflated to at most `MOST_BYTES` in all."""

    def __init__(self, data: bytes) -> None:
        """Raise `ReadingRefused` (`unreadable_file`, `encrypted_file`) where the bytes cannot be a workbook."""
        try:
            self._zip = open_zip(io.BytesIO(data))
            infos = self._zip.infolist()
        except ZIP_ERRORS:
            raise unreadable(Message("it is cut off or damaged")) from None
        if any(info.flag_bits & _ENCRYPTED_FLAG for info in infos):
            raise refuse("encrypted_file", Message("The workbook is protected by a password; save it without one."))
        if len(infos) > _MOST_PARTS or sum(info.file_size for info in infos) > MOST_BYTES:
            raise _too_large()
        # Some programs separate folders as Windows does.
        self._names = {info.filename.lower().replace("\\", "/").lstrip("/"): info.filename for info in infos}
        self._left = MOST_BYTES

    def __contains__(self, path: str) -> bool:
        return path.lower() in self._names

    def pieces(self, path: str) -> Iterator[bytes]:
        """Yield a part's bytes in pieces. Raises `ReadingRefused` where it is damaged or too large."""
        if path not in self:
            raise unreadable(Message("its part {path} is missing", path=path))
        size = _FIRST_PIECE
        try:
            with self._zip.open(self._names[path.lower()]) as part:
                while piece := part.read(size):
                    self._left -= len(piece)
                    if self._left < 0:
                        raise _too_large()
                    yield piece
                    size = _PIECE
        except ZIP_ERRORS:
            raise unreadable(Message("it is cut off or damaged")) from None

    def elements(
        self, path: str, start: Callable[[str, dict[str, str]], None], end: Callable[[str], None] | None = None
    ) -> None:
        """Pass the elements of a part that is a list to the handlers. Raises `ReadingRefused` for one too large."""
        try:
            parse_xml(self._bounded(path), start, end)
        except NoXmlError as error:
            raise invalid_xml(Message("its part {path} is no XML", path=path), error) from None

    def _bounded(self, path: str) -> Iterator[bytes]:
        size = 0
        for piece in self.pieces(path):
            size += len(piece)
            if size > _LARGEST_LIST:
                raise unreadable(Message("its part {path} is larger than that of any workbook", path=path))
            yield piece


def unreadable(why: Message) -> ReadingRefused:
    """Return the refusal of a workbook that cannot be read."""
    return refuse(
        "unreadable_file",
        Message("The workbook cannot be read: {why}. Open it in Excel and save it as .xlsx again.", why=why),
    )


def invalid_xml(part: Message, why: NoXmlError) -> ReadingRefused:
    """Return the refusal of a workbook in which a part is no XML, as `part` says, or no XML that is read here."""
    if isinstance(why, DocumentTypeError):
        return unreadable(Message("one of its parts declares a document type, which no workbook needs"))
    return unreadable(part)


def _too_large() -> ReadingRefused:
    return unreadable(
        Message(
            "unpacked it is larger than {most} MiB; send the table alone, or in parts", most=MOST_BYTES // 1024 // 1024
        )
    )
