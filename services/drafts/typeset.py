"""Typesets a draft as a PDF with typst and `declaration.typ`. The content is data, and never read as markup."""

from collections.abc import Iterator
from functools import lru_cache
from importlib.resources import files
from itertools import islice
from pathlib import Path
from typing import Final

import orjson
import typst

from schemas.issues import Issue
from schemas.issuing_form import POINT
from schemas.messages import Message
from schemas.normalise import shown
from schemas.refusals import Refused
from services.drafts.content import Draft, Point

_TEMPLATE: Final = Path(__file__).with_name("declaration.typ")
_STANDARD: Final = "a-3a"
"""PDF/A-3, level A (ISO 19005-3): tagged, every font embedded. typst refuses a character that no font has."""
_FONTS: Final = "static/weblate_fonts/kurinto/ttf"
_MOST_NAMED: Final = 5
"""Characters that one refusal names."""


def pdf(draft: Draft) -> bytes:
    """Return the draft as a tagged PDF (PDF/A-3a), with the fonts of `weblate-fonts`.

    Raises `Refused` where no font has a character: an issue for each such line, whose field is `point.<key>`.
    """
    try:
        return _compile(draft)
    except typst.TypstError:
        issues = [
            Issue("invalid_format", sentence, f"{POINT}{point.key}")
            for point in draft.points
            for line in (*point.lines, *point.notes)
            if (sentence := unprintable_line(line)) is not None
        ]
        if not issues:
            raise
        raise Refused(issues) from None


def unprintable(text: str) -> Message | None:
    """Return a sentence with the characters of a form's text that no font has; None where it can be printed."""
    if not (letters := _without_font(text)):
        return None
    return Message("A declaration has no font for {characters}; write this without.", characters=_named(letters))


def unprintable_line(line: str) -> Message | None:
    """Return the same of a line that was drawn from the record."""
    if not (letters := _without_font(line)):
        return None
    return Message(
        "A declaration has no font for {characters} in the line {line}; correct the record and prepare a new draft.",
        characters=_named(letters),
        line=shown(line),
    )


def _named(letters: list[str]) -> str:
    return ", ".join(f"{letter} (U+{ord(letter):04X})" if len(letter) == 1 else letter for letter in letters)


def _without_font(text: str) -> list[str]:
    """Return the first characters that no font has, or the text where only their combination has none."""
    if _is_printable(text):
        return []
    return list(islice(_each_without_font("".join(dict.fromkeys(text))), _MOST_NAMED)) or [text]


def _each_without_font(letters: str) -> Iterator[str]:
    """Halve what cannot be printed until one character is left: some ten trials for each that is found."""
    if _is_printable(letters):
        return
    if len(letters) == 1:
        yield letters
        return
    half = len(letters) // 2
    yield from _each_without_font(letters[:half])
    yield from _each_without_font(letters[half:])


def _is_printable(text: str) -> bool:
    try:
        _compile(Draft("en", "", "", "", [Point(0, "", "", [text], complete=True, source="")], "", [], ""))
    except typst.TypstError:
        return False
    return True


def _compile(draft: Draft) -> bytes:
    made = typst.compile(
        _TEMPLATE.read_bytes(),
        format="pdf",
        sys_inputs={"draft": orjson.dumps(draft.as_dict()).decode()},
        font_paths=_fonts(),
        ignore_system_fonts=True,
        pdf_standards=_STANDARD,
    )
    assert isinstance(made, bytes), "one document is compiled"
    return made


@lru_cache(maxsize=1)
def _fonts() -> typst.Fonts:
    """Return the fonts of the package, which are read once; a font's file is read when a letter needs it."""
    return typst.Fonts(include_system_fonts=False, font_paths=[str(files("weblate_fonts") / _FONTS)])
