"""Rewrites a header as its words are compared: hyphens at breaks, signs for words, what programs add to a name."""

import re
from collections.abc import Iterator
from typing import Final

_HYPHEN_AT_BREAK: Final = re.compile(r"(?<=\w)[-‐\u00ad]\s*\n\s*(?=[a-zß-ÿ])")
_NUMBER_SIGN: Final = re.compile(r"(?<=[^\W\d_])\.? ?#(?!\w)")
_NO_WORD: Final = re.compile(
    r"^x_(?:studio_)?(?=[a-z])| \((?:product|variant)\.metafields\.[\w.-]+\)$| \(97/129(?:/[A-Z]{2,3})?\)$"
)
"""What Odoo and Shopify add to a company's own fields: `x_weight`, `Material (product.metafields.my.pack)`.

So is the Decision whose codes a column of materials has: its numbers count nothing.
"""
_NUMBERED_SHARE: Final = re.compile(r"^%\s*(?=[1-9]\d?$)")
_CAMEL: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")


def spellings(header: str) -> Iterator[str]:
    """Yield the header with words joined that a line break has hyphenated, and with `camelCase` split.

    A `#` behind a word is a number of it: `Item #`. A percent sign before a number is the share of that part: `% 1`.
    """
    joined = _NO_WORD.sub("", _NUMBER_SIGN.sub(" number", _HYPHEN_AT_BREAK.sub("", header)))
    joined = _NUMBERED_SHARE.sub("share ", joined)
    yield joined
    if not re.search(r"\s", joined.partition("(")[0].strip()) and _CAMEL.search(joined):
        yield _CAMEL.sub(" ", joined)
