"""Decides by its letters in which encoding a text is that is not UTF-8.

It is likeliest in the encoding in which its letters are those of a language: `bigrams.csv` has the pairs of letters
that follow each other in each language that its encodings are used for, with a letter for how often: a the commonest,
each further one rarer by a factor of 1.6; `_` is the edge of a word. Scripts of East Asia are not counted so; among
their encodings chardet decides. Where two encodings give different letters and neither is much likelier, the file is
refused with the choice (decisions §13, docs/decisions/0081).
"""

import csv
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from math import exp, log
from pathlib import Path
from typing import Final, NamedTuple

import chardet

from pipelines.reading.grid import ReadingRefused
from pipelines.reading.questions import question, refused
from schemas.messages import Message
from schemas.normalise import quote

SAMPLE: Final = 1_000_000
"""Bytes that are examined: enough to distinguish encodings in a file of any size."""
EAST_ASIAN: Final = ("cp932", "gb18030", "cp949")
SYMBOLS: Final = frozenset("’‘“”„«»–—…€°²³®™§×½¼±\xa0")
"""Signs that people write in lists of packaging, outside words."""
_FEW_LETTERS: Final = 100
_ODD: Final = -22.0
"""Of a character where no person writes one: a sign within a word, a capital behind a small letter, mixed scripts."""
_SYMBOL: Final = -5.0
_ALONE: Final = -13.0
"""Of a letter of another script that is a word of its own."""
_UNKNOWN: Final = -14.0
_COMMON: Final = {"cp1252": 4.0, **dict.fromkeys(("cp850", "cp852", "cp866", "koi8_r", "mac_roman"), -5.0)}
"""By how much Windows' own encoding is likelier; texts of MS-DOS, old Unix and old Macintoshes are less likely."""
_OF_LANGUAGE: Final = 6.0
"""By how much an encoding is likelier where it is used for the language of the file's other cells."""
_EAST_ASIAN_CHARACTER: Final = re.compile("[\u3000-\u30ff\u4e00-\u9fff\uac00-\ud7a3\uff01-\uff9f]")
_OF_CHARACTER: Final = -9.0
_BEHIND_APOSTROPHE: Final = "aeiouhstàâéèêëíîóôúAEIOUHÀÂÉÈÊ"


class Language(NamedTuple):
    """How likely each letter is in a language: behind another one, and anywhere."""

    name: str
    encodings: tuple[str, ...]
    pairs: dict[str, float]
    letters: dict[str, float]


@cache
def languages() -> tuple[Language, ...]:
    """Return the languages of `bigrams.csv`."""
    entries = []
    with (Path(__file__).parent / "bigrams.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            text = row["bigrams"]
            joint = {text[at : at + 2]: exp((97 - ord(text[at + 2])) / 2) for at in range(0, len(text), 3)}
            total = sum(joint.values())
            first, second = defaultdict[str, float](float), defaultdict[str, float](float)
            for pair, share in joint.items():
                first[pair[0]] += share
                second[pair[1]] += share
            pairs = {pair: share / first[pair[0]] for pair, share in joint.items()}
            letters = {letter: share / total for letter, share in second.items()}
            entries.append(Language(row["language"], tuple(row["encodings"].split()), pairs, letters))
    return tuple(entries)


@cache
def encodings() -> tuple[str, ...]:
    """Return the encodings that are tried, the likelier first."""
    of_languages = ("cp1252", *sorted({name for language in languages() for name in language.encodings} - {"cp1252"}))
    return (*of_languages, *EAST_ASIAN)


@cache
def _anywhere() -> dict[str, float]:
    """Return how likely each letter is in any language."""
    every = defaultdict[str, float](float)
    for language in languages():
        for letter, share in language.letters.items():
            every[letter] += share
    return {letter: share / len(languages()) for letter, share in every.items()}


@cache
def _likelihood(language: int, before: str, letter: str) -> float:
    """Return the logarithm of the likelihood of a letter behind another one."""
    of = languages()[language]
    alone = of.letters.get(letter, 0.0)
    likely = 0.9 * of.pairs.get(before + letter, 0.0) + 0.09 * alone + 0.01 * _anywhere().get(letter, 0.0)
    return log(likely) if likely > 0 else _UNKNOWN


def plausibility(cells: Sequence[str], encoding: str) -> float:
    """Return how plausible cells are as texts that were written in the encoding, as the logarithm of a likelihood."""
    pairs = Counter[tuple[str, str]]()
    score = sum(_count(cell, pairs) for cell in cells)
    own = [number for number, language in enumerate(languages()) if encoding in language.encodings]
    if not own:
        return score + sum(times * (-3.0 if pair[1].isascii() else _UNKNOWN) for pair, times in pairs.items())
    return score + max(_sum(pairs, number) for number in own)


@cache
def _language_of(cells: tuple[str, ...]) -> Language:
    """Return the language that ASCII cells are likeliest to be in; English where they are too few to say."""
    pairs = Counter[tuple[str, str]]()
    for cell in cells:
        _count(cell, pairs)
    if pairs.total() <= _FEW_LETTERS:
        return next(language for language in languages() if language.name == "en")
    return languages()[max(range(len(languages())), key=lambda number: _sum(pairs, number))]


def _sum(pairs: Mapping[tuple[str, str], int], language: int) -> float:
    return sum(times * _likelihood(language, *pair) for pair, times in pairs.items())


def _count(text: str, pairs: Counter[tuple[str, str]]) -> float:
    """Add the pairs of letters of a text; return what its other characters weigh."""
    score, before = 0.0, "_"
    for at, sign in enumerate(text):
        last, following = text[at - 1 : at], text[at + 1 : at + 2]
        if sign.isascii():
            letter = sign.lower() if sign.isalpha() else "_"
            if (before, letter) != ("_", "_"):
                pairs[before, letter] += 1
            before = letter
            continue
        weight = _weight(sign, last, following)
        letter = "_" if weight else sign.lower()[0]
        if not weight:
            pairs[before, letter] += 1
        score, before = score + weight, letter
    if before != "_":
        pairs[before, "_"] += 1
    return score


def _weight(sign: str, last: str, following: str) -> float:
    """Return what a character above ASCII weighs beside its neighbours; 0 for a letter, which its pair weighs."""
    beside_ascii = any(side.isascii() and side.isalpha() for side in (last, following))
    if _EAST_ASIAN_CHARACTER.match(sign):
        return 1.5 * _ODD if beside_ascii else _OF_CHARACTER
    if not sign.isalpha():
        return _SYMBOL if sign in SYMBOLS and not _misplaced(sign, last, following) else _ODD
    if (sign >= "\u0370" and beside_ascii) or sign > "\u2000" or (sign != sign.lower() and last.islower()):
        return _ODD
    alone = sign >= "\u0370" and not last.isalpha() and not following.isalpha()
    return _ALONE if alone else 0.0


def _misplaced(sign: str, last: str, following: str) -> bool:
    """Return whether a sign that people write stands where they do not: within a word, or on its wrong side."""
    if sign == "’" and last.isalpha() and following.isalpha():
        return following not in _BEHIND_APOSTROPHE
    if sign in "–—":
        return last.isalpha() != following.isalpha()
    if sign in "„«…\xa0" and last.isalpha() != following.isalpha():
        return sign in "„«" if last.isalpha() else sign in "…\xa0"
    return last.isalpha() and following.isalpha() and sign != "\xa0"


_CELL: Final = re.compile(rb"[^\t\n\r,;|\"]{0,200}[\x80-\xff][^\t\n\r,;|\"]{0,200}")
_ASCII_CELL: Final = re.compile(rb"(?:^|[\t\n\r,;|\"])([\x20-\x7e]{3,60})(?=[\t\n\r,;|\"]|$)")
_MICRO: Final = re.compile(rb"(?<![A-Za-z\x80-\xff])\xb5(?=[mgl]\b)")
"""The sign of a millionth in each encoding in which people write it: `µm`. In others it is a letter of no unit."""
_MOST_CELLS: Final = 400
"""Different cells with bytes above ASCII that decide."""
_NO_LETTER: Final = re.compile(r"[\W\d_]")
_MARGIN: Final = 10.0
"""How much likelier, as a logarithm, an encoding must be than others that give other letters."""
_MARGIN_OF_LETTERS: Final = 1.0
"""The same for its letters alone: what is common never outweighs what is written."""
_MARGIN_OF_EAST_ASIA: Final = 25.0
"""The same for an encoding of East Asia: nearly every two bytes are a character in it."""
_CONFIDENT: Final = 1.5
"""How many times as sure chardet must be of an encoding of East Asia as of any other."""


def likeliest(data: bytes) -> str:
    """Return the encoding in which the cells are likeliest. Raises `ReadingRefused` where their letters stay open."""
    sample = data[:SAMPLE]
    if b"\xb5" in sample:
        sample = _MICRO.sub(b"u", sample)
    cells = sorted(dict.fromkeys(_CELL.findall(sample)))[:_MOST_CELLS]
    ascii_cells = list(dict.fromkeys(_ASCII_CELL.findall(sample)))[:_MOST_CELLS]
    others = tuple(cell.decode("ascii") for cell in ascii_cells)
    readings = {name: [cell.decode(name, "replace") for cell in cells] for name in encodings()}
    alone = {name: plausibility(texts, name) for name, texts in readings.items()}
    likely = {name: _COMMON.get(name, 0.0) for name in encodings()}  # before a letter is read
    likely |= {name: likely[name] + _OF_LANGUAGE for name in _language_of(others).encodings}
    scores = {name: alone[name] + likely[name] for name in encodings()}
    best = max(encodings(), key=lambda name: scores[name])
    best = next(name for name in encodings() if readings[name] == readings[best])
    margin = _MARGIN_OF_EAST_ASIA if best in EAST_ASIAN else _MARGIN
    letters = {name: [_NO_LETTER.sub("", text) for text in texts] for name, texts in readings.items()}
    rivals = [
        name
        for name in encodings()
        if letters[name] != letters[best]
        and (scores[best] - scores[name] < margin or alone[best] - alone[name] < _MARGIN_OF_LETTERS)
    ]
    if best in EAST_ASIAN:
        guesses = chardet.detect_all(
            b"\n".join(cells),
            ignore_threshold=True,
            compat_names=False,
            include_encodings=EAST_ASIAN,
            no_match_encoding=best,
        )
        sure = {str(one["encoding"]).lower(): one["confidence"] for one in guesses}
        best = max(EAST_ASIAN, key=lambda name: sure.get(name, 0.0))
        doubted = [name for name in EAST_ASIAN if sure.get(best, 0) < _CONFIDENT * sure.get(name, 0) and name != best]
        rivals = [*doubted, *(name for name in rivals if name not in EAST_ASIAN)]
    if rivals:
        names = [best, *{"\n".join(letters[name]): name for name in reversed(rivals)}.values()]
        raise _undecided(names, readings)
    return best


def _undecided(names: list[str], readings: dict[str, list[str]]) -> ReadingRefused:
    """Return the refusal of a text that can be read in several encodings, quoting what it reads as in each."""
    first = readings[names[0]]
    at = [min(at for at, text in enumerate(readings[name]) if text != first[at]) for name in names[1:]]
    samples = "; ".join(
        f"{name}: {quote(readings[name][place].strip())}" for name, place in zip(names, [at[0], *at], strict=True)
    )
    message = Message(
        "The file is not in UTF-8, and its letters can be those of several encodings: {samples}. Save it as UTF-8 "
        "(in Excel: CSV UTF-8), or say the encoding: mapping={mapping}.",
        samples=samples,
        mapping={"encoding": names[0]},
    )
    return refused(question("encoding", message, could_be=names, text=samples))
