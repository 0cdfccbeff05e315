"""No pattern that sees text from outside takes longer than the text is long, whatever the text.

A text four times as long may take four times as long. A pattern that takes sixteen times as long holds up a process for
minutes over a file of some kilobytes.
"""

import re

import pytest

from tests.guards import patterns

FOUND_BEFORE = (
    r"<Override\b[^>]*?\bContentType\s*=\s*[\"']([^\"']*)[\"']",
    rb"<(?:\w+:)?(row|col)\s([^>]*\bhidden=[\"'](?:1|true|on)[\"'][^>]*)>",
    r'"[^"]*"|\\.|_.|\*.|\[[^\]]*\]',
    r"\s*[(\[]([^()\[\]]*)[)\]]",
    r"\s+[/|]\s+|\s*\n\s*",
    r"\d+(?:[.,]\d+)?\s*%",
    r"[\d.,\s'’]*\d\s*(?:[eE][+-]?\d+\s*)?(?P<unit>[^\d\s.,'’].*)",
    r"[\d.,\s]*\d[^\d.,]*?\s*(?:[-–—~±…]|\.\.\.?|\b(?:to|and)\b)\s*\d.*",
)
"""Patterns that the reader had, each of which a file was made for."""


@pytest.mark.long
def test_no_pattern_grows_with_the_square_of_a_text() -> None:
    # A module that imports another's pattern holds the same one.
    held = {(pattern, looked_for): place for place, pattern, looked_for in patterns.of_the_code()}
    assert len(held) > 60
    tried = ((place, patterns.slow(pattern, looked_for=looked_for)) for (pattern, looked_for), place in held.items())
    assert [(place, text) for place, text in tried if text is not None] == []


@pytest.mark.parametrize("pattern", FOUND_BEFORE)
def test_the_patterns_that_did_are_found(pattern: str | bytes) -> None:
    assert patterns.slow(re.compile(pattern))
