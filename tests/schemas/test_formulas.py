"""No cell that the service writes is computed by a spreadsheet, and each reads back as what it was."""

import unicodedata

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from pipelines.reading.values import unescaped
from schemas.texts import harmless
from services.filings import files
from services.imports.workbook import _text as exported

SIGNS = [sign for sign in map(chr, range(0x110000)) if unicodedata.normalize("NFKC", sign)[:1] in ("=", "+", "-", "@")]
UNSEEN = [
    sign
    for sign in map(chr, range(0x10000))
    if unicodedata.category(sign) in ("Cc", "Zs", "Zl", "Zp") or (unicodedata.bidirectional(sign) == "BN")
]
"""Characters that nobody sees before a sign: controls, white space, and marks without a width."""

prefixes = st.lists(st.sampled_from([*UNSEEN, "'"]), max_size=3).map("".join)
cells = st.builds(lambda *parts: "".join(parts), prefixes, st.sampled_from(["", *SIGNS]), st.text(max_size=8))


def computes(cell: str) -> bool:
    """A spreadsheet, reduced to what matters here: it passes over what is not seen, and folds forms of a sign."""
    shown = cell.lstrip("".join(UNSEEN))
    return unicodedata.normalize("NFKC", shown[:1])[:1] in ("=", "+", "-", "@")


def read(cell: str) -> str:
    return str(unescaped(pl.Series([cell]))[0])


@given(cells)
def test_no_cell_leaves_that_would_be_computed_and_each_comes_back(text: str) -> None:
    for written in (harmless(text), exported(text), files._cell(text)):
        assert not computes(written), repr(written)
    assert read(exported(text)) == text
    assert read(harmless(text)) == read(text), "a raw cell means the same with the mark as without"


def test_each_sign_is_known_after_each_character_that_is_not_seen() -> None:
    assert [(sign, before) for sign in SIGNS for before in ("", *UNSEEN) if computes(harmless(before + sign))] == []


def test_what_is_no_formula_stays_as_it_is() -> None:
    assert [harmless(text) for text in ("Cap = 28 mm", "a@b.example", "12-34", "", " Bottle")] == [
        "Cap = 28 mm",
        "a@b.example",
        "12-34",
        "",
        " Bottle",
    ]
