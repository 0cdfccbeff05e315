"""Reads the description of a workbook: its sheets in order, which of them are hidden, and its date system."""

import posixpath
from dataclasses import dataclass

from pipelines.reading.office import local_name
from pipelines.reading.workbook.package import Package, unreadable
from schemas.messages import Message

_BOOK = "xl/workbook.xml"
_HIDDEN = ("hidden", "veryHidden")
_TRUE = ("1", "true", "on")
_LONGEST_NAME = 255
"""Characters of a sheet's name that are kept; a spreadsheet accepts 31."""


@dataclass(frozen=True, slots=True)
class SheetPart:
    """A worksheet: its visible name, the path of its cells, and whether it is hidden."""

    name: str
    path: str
    hidden: bool


@dataclass(frozen=True, slots=True)
class Book:
    """A workbook's sheets in their order and its shared parts; a part that it does not have is None."""

    sheets: tuple[SheetPart, ...]
    since_1904: bool
    styles: str | None
    strings: str | None


def read_book(package: Package) -> Book:
    """Read the book of a package. Raises `ReadingRefused` where the archive contains no workbook that is read here."""
    path = _book_path(package)
    relations = _relations(package, path)
    sheets: list[SheetPart] = []
    since_1904 = False

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal since_1904
        if local_name(name) == "workbookPr":
            since_1904 = attributes.get("date1904", "0") in _TRUE
        elif local_name(name) == "sheet":
            key = next((value for attribute, value in attributes.items() if local_name(attribute) == "id"), "")
            kind, target = relations.get(key, ("", ""))
            if kind == "worksheet":
                called = attributes.get("name", "")[:_LONGEST_NAME]
                sheets.append(SheetPart(called, target, attributes.get("state") in _HIDDEN))

    package.elements(path, start)
    parts = {kind: target for kind, target in relations.values() if target in package}
    return Book(tuple(sheets), since_1904, parts.get("styles"), parts.get("sharedStrings"))


def _book_path(package: Package) -> str:
    if "xl/workbook.bin" in package:
        raise unreadable(Message("it is a binary workbook (.xlsb)"))
    if _BOOK in package:
        return _BOOK
    if "_rels/.rels" in package:
        for kind, target in _relations(package, "").values():
            if kind == "officeDocument" and target in package and target.startswith("xl"):
                return target
    raise unreadable(Message("the archive holds no Excel workbook"))


def _relations(package: Package, path: str) -> dict[str, tuple[str, str]]:
    """Return the relations of a part: id -> (kind, path of the target)."""
    folder, name = posixpath.split(path)
    part = posixpath.join(folder, "_rels", f"{name}.rels")
    if part not in package:
        return {}
    relations: dict[str, tuple[str, str]] = {}

    def start(_: str, of: dict[str, str]) -> None:
        target = of.get("Target", "")
        full = target.lstrip("/") if target.startswith("/") else posixpath.normpath(posixpath.join(folder, target))
        relations[of.get("Id", "")] = (of.get("Type", "").rpartition("/")[2], full)

    package.elements(part, start)
    return relations
