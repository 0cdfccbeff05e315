"""A count of one is said in the singular, in every language, on the pages and in messages."""

import re
from datetime import date
from pathlib import Path

import pytest

from api.pages import render
from api.pages.render import rows, text
from schemas.messages import Message, day, translate
from tests.schemas.test_messages import in_code

COUNTED = re.compile(r"\{(count|total|items|components|days|skipped|units|number)\} [^\W\d]{3,}")
NEVER_ONE = {
    "edit.too_long.part": "more than a form shows",
    "edit.too_long.part.copy": "more than a form shows",
    "edit.too_long.volume": "more than a form shows",
    "portfolio.expiring": "a constant of many days",
    "portfolio.none_expiring": "a constant of many days",
    "declarations.due.next": "a constant of many days",
    "evidence.lead": "a constant of many days",
    "enquiries.preview.judged": "a constant of many items",
}
SAME_FOR_ONE = {
    "suppliers.overdue",
    "supplier.offer",
    "portfolio.expiring.total",
    "account.end.one",
    "edit.remove",
    "supplier.part",
    "marks.without",
    "evidence.of_parts",
}
NUMBERED = {
    "{market} {year}: {units} units without weight": "{market} {year}: 1 unit without weight",
    "Completed, {count} questions open: this was not stored.": "Completed, 1 question open: this was not stored.",
    "Completed, {total} SKUs: {outcomes}": "Completed, 1 SKU: {outcomes}",
    "{code}: {count} rows, line {lines}": "{code}: {count} row, line {lines}",
    "{skipped} lines are no data and were left out (examples, help, totals, empty lines).": (
        "1 line is no data and was left out (an example, help, a total or an empty line)."
    ),
}


def test_a_text_that_counts_has_a_singular() -> None:
    known = {row["key"] for row in rows()}
    counting = {row["key"] for row in rows() if any(COUNTED.search(row[lang]) for lang in ("en", "fr", "de"))}
    missing = {key for key in counting if f"{key}.one" not in known and not key.endswith(".one")}
    assert missing - NEVER_ONE.keys() - SAME_FOR_ONE == set()


COUNTS = {row["key"] for row in rows() if "{count}" in row["en"]}
KEYS = sorted(key for row in rows() if (key := row["key"].removesuffix(".one")) != row["key"] and key in COUNTS)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("lang", ["en", "fr", "de"])
def test_one_is_said_otherwise_than_many(key: str, lang: str) -> None:
    gaps = dict.fromkeys(("done", "fact", "tonnes"), "x")
    one, two = text(key, lang, count="1", **gaps), text(key, lang, count="2", **gaps)
    assert "{" not in one
    if lang == "en":
        assert one != two.replace("2", "1")


def test_a_message_that_counts_has_a_singular() -> None:
    told = in_code()
    assert {many for many in NUMBERED if many in told} == {many for many, one in NUMBERED.items() if one in told}
    assert set(NUMBERED) <= set(told)


@pytest.mark.parametrize("lang", ["fr", "de"])
def test_the_singular_is_translated(lang: str) -> None:
    assert translate(Message("Completed, 1 question open: this was not stored."), lang)[:6] in ("Fertig", "Termin")


@pytest.mark.parametrize(
    ("lang", "zero", "many"),
    [("en", "0 packaging items", "2"), ("fr", "0 emballage", "2"), ("de", "0 Verpackungen", "1.000.000")],
)
def test_zero_is_counted_as_the_language_counts_it(lang: str, zero: str, many: str) -> None:
    """CLDR's plural rules: French has the singular for 0 too."""
    assert text("portfolio.held", lang, count="0") == zero
    assert text("portfolio.held", lang, count=many) != text("portfolio.held.one", lang, count=many)


def test_what_says_once_without_the_number_is_never_said_of_zero() -> None:
    assert text("imports.warnings.count", "fr", count="1") == text("imports.warnings.count.one", "fr")
    assert text("imports.warnings.count", "fr", count="0") != text("imports.warnings.count.one", "fr")


def test_a_page_writes_each_day_as_its_language_does() -> None:
    """A bare `{{ doc.issued_on }}` would show the form of a program, 2026-11-01."""
    templates = Path(render.__file__).parent / "templates"
    shown = {
        (file.name, bare)
        for file in templates.glob("*.html")
        for bare in re.findall(
            r"\{\{ ?\w+\.\w*_on\b(?! in )[^}]*\}\}|\w+\.isoformat\(\)", file.read_text(encoding="utf-8")
        )
    }
    assert shown == set()


@pytest.mark.parametrize(
    ("lang", "written"), [("en", "1 November 2026"), ("fr", "1 novembre 2026"), ("de", "1. November 2026")]
)
def test_a_day_is_written_in_words(lang: str, written: str) -> None:
    assert day(date(2026, 11, 1), lang) == day("2026-11-01", lang) == written
