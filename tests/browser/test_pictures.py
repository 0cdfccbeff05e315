"""The pictures in docs/pages: one of every page at least, each named in a document beside them, none too large."""

from pathlib import Path

from tools.browser.pages import FOR_ALL, FOR_PERSONS

DOCS = Path(__file__).parents[2] / "docs"
PICTURES = list((DOCS / "pages").iterdir())


def test_every_page_has_its_picture_and_all_are_named():
    assert {path.stem for path in PICTURES} >= {*FOR_ALL, *FOR_PERSONS}
    text = "".join((DOCS / name).read_text(encoding="utf-8") for name in ("pages.md", "design.md"))
    assert [path.name for path in PICTURES if f"(pages/{path.name})" not in text] == []


def test_the_pictures_are_small():
    assert sum(path.stat().st_size for path in PICTURES) < 1_500_000
