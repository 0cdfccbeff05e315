"""Maps people's words to fields and codes: headers and terms in English, French, German, Spanish, Italian and Dutch.

Both tables are data: `headers.csv` (table, field, lang, header) and `words.csv` (vocabulary, code, lang, word). A
field's own name and a code itself always match, so the tables list only other words. Words are compared after `fold`. A
word with two meanings in one table or vocabulary is refused when the tables are loaded. `country_names.csv` (name,
code) has countries by their names in the languages of the Union and of its neighbours (CLDR, by `tools.country_names`).
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Final

import pycountry

from schemas import normalise
from schemas.fields import COMPONENT_FIELDS, SKU_FIELDS
from schemas.messages import Message, word
from schemas.normalise import Unfit, quote
from schemas.texts import WITHOUT_INVISIBLE
from schemas.vocabularies import VOCABULARIES, table_rows

_LIGATURES = WITHOUT_INVISIBLE | str.maketrans(
    {"œ": "oe", "æ": "ae", "ø": "o", "ł": "l", "đ": "d", "ı": "i", "µ": "u", "μ": "u", "№": " "}
)
_LONGEST_WORD = 60
"""Characters of the words that are kept folded: those of headers are asked for again and again."""
_NOT_A_WORD = re.compile(r"[^0-9a-zα-ωа-яѐ-џ]+")
"""What is between words, which have letters of the Latin, the Greek and the Cyrillic script."""


class WordCollisionError(ValueError):
    """One word means two fields or two codes; the tables must be corrected before anything is read."""


def fold(text: str) -> str:
    """Return text as words are compared: lower case, without accents, each run of other characters one space.

    Invisible characters do not count: `Verpackung` with a soft hyphen is one word.

    A word that its accents make another one keeps apart from that (`spelling`): Romanian `țara` is no `tara`.

    A text without a digit or a letter of the Latin, Greek or Cyrillic script (`✓`, `%`) is returned trimmed.
    """
    text = text if text.isascii() else _spelled(text)
    lower = text.casefold().translate(_LIGATURES)
    return _NOT_A_WORD.sub(" ", without_accents(lower)).strip() or text.strip()


def _spelled(text: str) -> str:
    """Return a text with the words of `spelling` in letters that folding keeps: `Maße` are dimensions, no `Masse`."""
    lower = text.lower()
    return _spelling().sub(lambda found: _spellings()[found[0]], lower) if _spelling().search(lower) else text


@cache
def _spellings() -> Mapping[str, str]:
    return {row["word"]: row["code"] for row in table_rows("words.csv") if row["vocabulary"] == "spelling"}


@cache
def _spelling() -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(_spellings())})\b")


def is_kept(token: str) -> bool:
    """Return whether folding keeps a folded word as it is beside others: it would drop letters of other scripts."""
    return not token.isalpha() or _NOT_A_WORD.search(token) is None


_GROUPS: Final = (
    "aàáâäăąāåã cçčć dđď eèéêëěęėē gğģ iìíîïıįī kķ lłľ nñňń oòóôöőõø rř sšśşș tťţț uùúûüűůųū yý zžźż "
    "αά εέ ηή ιί οό υύ ωώ ий"
)
"""Each letter of folded words with those that are folded to it."""
_ACCENTED: Final = {group[0]: f"[{group}]" for group in _GROUPS.split()} | {" ": r"[\W_]+"}


def pattern_of(word: str) -> str:
    """Return a regular expression of a folded word, which also matches it with accents and with signs for spaces."""
    return "".join(_ACCENTED.get(letter, letter) for letter in word)


def without_accents(text: str) -> str:
    """Return the text in compatibility decomposition (Unicode Standard Annex 15), without its combining characters.

    Each character is decomposed by itself: decomposing a text also sorts its combining characters, which takes time
    that grows with the square of their number, and they are dropped here anyway.
    """
    return text if text.isascii() else "".join(map(_bare, text))


@lru_cache(maxsize=4096)
def _bare(character: str) -> str:
    decomposed = unicodedata.normalize("NFKD", character)
    return "".join(part for part in decomposed if not unicodedata.combining(part))


def headers(table: str) -> Mapping[str, str]:
    """Return field names by folded header, for the table `sku` or `component`."""
    return _headers()[table]


def words(vocabulary: str) -> Mapping[str, str]:
    """Return codes of the vocabulary by folded word; empty for a vocabulary without words."""
    return _words().get(vocabulary, MappingProxyType({}))


def code_of(word: str, vocabulary: str) -> str | None:
    """Return the code that a word means, or None for an unknown word."""
    return words(vocabulary).get(_folded(word) if len(word) <= _LONGEST_WORD else fold(word))


_folded = lru_cache(maxsize=8192)(fold)


@cache
def _headers() -> Mapping[str, Mapping[str, str]]:
    own = [("sku", field.name, field.name) for field in SKU_FIELDS]
    own += [("component", field.name, field.name) for field in COMPONENT_FIELDS]
    listed = [(row["table"], row["field"], row["header"]) for row in table_rows("headers.csv")]
    headers = [(table, field, field) for table, field, _ in listed]
    return index([*own, *headers, *listed])


@cache
def _words() -> Mapping[str, Mapping[str, str]]:
    own = [(name, code, code) for name, codes in VOCABULARIES.items() for code in codes]
    listed = [(row["vocabulary"], row["code"], row["word"]) for row in table_rows("words.csv")]
    return index([*own, *listed])


@cache
def languages_of_headers(field: str) -> Mapping[str, frozenset[str]]:
    """Return the languages of each word of a field's listed headers, by the folded word."""
    listed = (row for row in table_rows("headers.csv") if row["field"] == field)
    return _languages((word, row["lang"]) for row in listed for word in fold(row["header"]).split())


@cache
def languages_of_words(vocabulary: str) -> Mapping[str, frozenset[str]]:
    """Return the languages of each word of a vocabulary, by the folded word."""
    return _languages((fold(r["word"]), r["lang"]) for r in table_rows("words.csv") if r["vocabulary"] == vocabulary)


def _languages(entries: Iterable[tuple[str, str]]) -> Mapping[str, frozenset[str]]:
    languages: dict[str, frozenset[str]] = {}
    for word_of, lang in entries:
        languages[word_of] = languages.get(word_of, frozenset()) | {lang}
    return MappingProxyType(languages)


def index(entries: Iterable[tuple[str, str, str]]) -> Mapping[str, Mapping[str, str]]:
    """Return entries (table, meaning, word) as table -> folded word -> meaning.

    Raise `WordCollisionError` where a word of one table has two meanings.
    """
    tables: dict[str, dict[str, str]] = {}
    for table, meaning, text in entries:
        words_of_table = tables.setdefault(table, {})
        before = words_of_table.setdefault(fold(text), meaning)
        if before != meaning:
            raise WordCollisionError(f"In {table}, “{text}” stands for both {before} and {meaning}.")
    return MappingProxyType({table: MappingProxyType(words_of_table) for table, words_of_table in tables.items()})


_NEAREST: Final = 3
_LONGEST: Final = 100
"""Characters of a text that are compared with the names: a longer one is none of them."""


def market_named(text: str) -> str:
    """Return the code of the market that a person names. Raise `Unfit` with the nearest known names."""
    code = code_of(text, "market") or _country(text) or native_names().get(plain(text))
    if code is None:
        try:
            code = normalise.place(text)
        except Unfit:
            raise _unknown(text) from None
    _refuse_two(text, code)
    return normalise.market(code)


def markets_named(text: str) -> list[str]:
    """Return the codes of a text with one market, or with several codes beside each other: `FR DE`.

    Raise `Unfit` with the nearest known names.
    """
    try:
        return [market_named(text)]
    except Unfit:
        parts = text.split()
        if len(parts) < 2:
            raise
        try:
            return [normalise.market(part) for part in parts]
        except Unfit:
            pass
        raise


def _unknown(text: str) -> Unfit:
    if (members := code_of(text[:_LONGEST], "market_group")) is not None:
        several = Message(
            "{value} is not one market but several; write the code of each in which it is sold: {codes}.",
            value=quote(text),
            codes="; ".join(members.split()),
        )
        return Unfit("unknown_market", several)
    markets = words("market")
    alike = get_close_matches(fold(text[:_LONGEST]), markets, n=2 * _NEAREST, cutoff=0)
    on_plates = words("vehicle_code").get(fold(text[:_LONGEST]))  # `D` is Germany before it is India
    codes = [on_plates] if on_plates else list(dict.fromkeys(markets[name] for name in alike))[:_NEAREST]
    sentence = Message(
        "{value} is no known market; the nearest are: {names}. Write the name of a country, or a code such as FR or "
        "US-CA.",
        value=quote(text),
        names=", ".join(f"{word('market', code, 'en')} ({code})" for code in codes),
    )
    return Unfit("unknown_market", sentence)


def _refuse_two(text: str, code: str) -> None:
    """Refuse a text such as `FR DE`, which may be two countries or a part of one."""
    country, _, rest = code.partition("-")
    if " " in text.strip() and pycountry.countries.get(alpha_2=rest) and code not in _subdivisions():
        two = Message(
            "{value} can be {country} and {rest}, or a part of {country}; write {country}; {rest} for both.",
            value=quote(text),
            country=country,
            rest=rest,
        )
        raise Unfit("unknown_market", two)


@cache
def _subdivisions() -> frozenset[str]:
    return frozenset(str(part.code) for part in pycountry.subdivisions)


@cache
def native_names() -> Mapping[str, str]:
    """Return the codes of countries by their names in the languages of the Union and its neighbours."""
    return {row["name"]: row["code"] for row in table_rows("country_names.csv")}


def plain(name: str) -> str:
    """Return a name as it is compared, in any script."""
    return fold(name).casefold()


def _country(name: str) -> str | None:
    """Return the code of a country by its ISO 3166 name (English) or its three letters; None for anything else."""
    if len(name) < 3 or any(map(str.isdigit, name)):
        return None
    try:
        return str(pycountry.countries.lookup(name).alpha_2)
    except LookupError:
        return None


@cache
def code_lists(field: str) -> Mapping[str, Mapping[str, str]]:
    """Return the lists that a field's values may come from: list -> folded code -> the value in our words."""
    lists: dict[str, dict[str, str]] = {}
    for row in table_rows("code_lists.csv"):
        if row["field"] == field:
            lists.setdefault(row["list"], {})[fold(row["code"])] = row["value"]
    return MappingProxyType(lists)
