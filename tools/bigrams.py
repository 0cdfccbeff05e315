"""Writes the pairs of letters of `pipelines/reading/bigrams.csv` anew: how often they follow each other in a language.

    pip install wordfreq==3.1.1 babel==2.18.0  # in an environment of its own
    python -m tools.bigrams

wordfreq has the frequency of words in most languages (its sources are under CC BY-SA 4.0); it is no dependency of the
service, so it is installed elsewhere. For languages that it lacks, CLDR has the names of countries, languages and
currencies. The file's first two columns, languages and their encodings, are kept. `encoding.py` reads it, and decisions
0081 says why.
"""

import csv
import importlib
import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from itertools import pairwise
from math import log, sqrt
from pathlib import Path
from typing import Final

TABLE: Final = Path(__file__).parents[1] / "pipelines" / "reading" / "bigrams.csv"
_MOST_WORDS: Final = 30_000
_FROM_CLDR: Final = ("et", "ga", "mt", "sr")
_LEAST_SHARE: Final = 3e-5
"""Share of the rarest pair that is kept."""
_WRITTEN_AS: Final = str.maketrans("șț", "şţ")
"""Letters that no encoding of one byte has, and what people write instead."""


def pairs_of(words: Mapping[str, float]) -> str:
    """Return the pairs of letters of weighted words, each with a letter for its share: `a` is all of them.

    Each further letter is rarer by a factor of e^0.5, 1.65. `_` is the edge of a word.
    """
    weights = defaultdict[str, float](float)
    for word, weight in words.items():
        for first, second in pairwise(f"_{word.translate(_WRITTEN_AS)}_"):
            weights[first + second] += weight
    total = sum(weights.values())
    shares = {pair: weight / total for pair, weight in sorted(weights.items()) if weight >= _LEAST_SHARE * total}
    return "".join(f"{pair}{chr(ord('a') + round(-2 * log(share)))}" for pair, share in shares.items())


def _words_of(language: str) -> dict[str, float]:
    """Return the words of a language with their weights: the root of their frequency, or how often CLDR has them."""
    if language in _FROM_CLDR:
        own = importlib.import_module("babel").Locale.parse(language)
        names = [*own.territories.values(), *own.languages.values(), *own.currencies.values()]
        return dict(Counter(word for name in names for word in re.findall(r"[^\W\d_]+", name.lower())))
    wordfreq = importlib.import_module("wordfreq")
    frequent = wordfreq.top_n_list(language, _MOST_WORDS)
    return {word: sqrt(wordfreq.word_frequency(word, language)) for word in frequent if word.isalpha()}


def main() -> None:
    """Write the table."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["language", "encodings", "bigrams"])
        for row in rows:
            out.writerow([row["language"], row["encodings"], pairs_of(_words_of(row["language"]))])


if __name__ == "__main__":
    main()
