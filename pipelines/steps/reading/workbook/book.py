"""What a workbook says about itself: its sheets in order, which are hidden, which date system it counts in."""

import posixpath
from dataclasses import dataclass

from pipelines.steps.reading.workbook.package import Package, local, unreadable

_BOOK = "xl/workbook.xml"
_HIDDEN = ("hidden", "veryHidden")
_TRUE = ("1", "true", "on")


@dataclass(frozen=True, slots=True)
class SheetPart:
    """A worksheet: its name as people see it, where its cells are, and whether it is hidden."""

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
    """The book of a package. Raises `ReadingRefused` where the archive holds no workbook that is read here."""
    path = _book_path(package)
    root = package.tree(path)
    relations = _relations(package, path)
    sheets = []
    since_1904 = False
    for element in root.iter():
        if local(element.tag) == "workbookPr":
            since_1904 = element.get("date1904", "0") in _TRUE
        elif local(element.tag) == "sheet":
            key = next((value for name, value in element.attrib.items() if local(name) == "id"), "")
            kind, target = relations.get(key, ("", ""))
            if kind == "worksheet":
                sheets.append(SheetPart(element.get("name", ""), target, element.get("state") in _HIDDEN))
    parts = {kind: target for kind, target in relations.values() if target in package}
    return Book(tuple(sheets), since_1904, parts.get("styles"), parts.get("sharedStrings"))


def _book_path(package: Package) -> str:
    if "xl/workbook.bin" in package:
        raise unreadable("it is a binary workbook (.xlsb)")
    if _BOOK in package:
        return _BOOK
    if "_rels/.rels" in package:
        for kind, target in _relations(package, "").values():
            if kind == "officeDocument" and target in package and target.startswith("xl"):
                return target
    raise unreadable("the archive holds no Excel workbook")


def _relations(package: Package, path: str) -> dict[str, tuple[str, str]]:
    """The relations of a part: id -> (kind, path of the target)."""
    folder, name = posixpath.split(path)
    part = posixpath.join(folder, "_rels", f"{name}.rels")
    if part not in package:
        return {}
    relations = {}
    for element in package.tree(part):
        target = element.get("Target", "")
        full = target.lstrip("/") if target.startswith("/") else posixpath.normpath(posixpath.join(folder, target))
        relations[element.get("Id", "")] = (element.get("Type", "").rpartition("/")[2], full)
    return relations
