"""Small numbers for the words of the algorithm: grades, kinds of missing facts, forms, and the facts of a unit.

The numbers of grades are the kernel's order of grades, so that the worst of several is the smallest.
"""

from collections.abc import Iterable
from typing import Final

from compliance.grading.firing import Facts
from compliance.grading.score import ORDER
from compliance.rule_rows import RuleSet, Value
from schemas.vocabularies import VOCABULARIES

UNGRADED: Final = len(ORDER)
GRADES: Final = (*sorted(ORDER, key=ORDER.__getitem__), "not_assessed")
"""The grade of each number; the last is `not_assessed`."""
MISSING: Final = {"material": 1, "components": 2, "packaging_format": 4, "polymer_or_grade": 8, "weight_g": 16}
"""The bit of each kind of missing fact; in a SKU without components the last two are its subtype and weight."""

_FACTS: Final = 50_000


class BeyondArraysError(Exception):
    """A block has more of something than the arrays number: the kernel grades it."""


class FactWords:
    """The facts of a unit as the bits of one number: what several parts give is the union of their bits."""

    def __init__(self, rules: RuleSet) -> None:
        self.forms: list[str | None] = [
            None,
            *sorted({"film", "rigid"} | {f.form for f in rules.formats.values() if f.form}),
        ]
        self._form_bits = len(self.forms).bit_length()
        self.layers = 1 << self._form_bits
        self._words: dict[str, dict[str, int]] = {}
        self.masks = {"form": self.layers - 1, "layers_recorded": self.layers}
        self._given = {"colour": 0}
        at = self._form_bits + 1
        for field, bits in (("colour", VOCABULARIES["colour"]), ("additives", VOCABULARIES["additive"])):
            self._words[field] = {word: 1 << (at + place) for place, word in enumerate(bits)}
            self.masks[field] = sum(self._words[field].values())
            at += len(bits)
        self._given["additives"] = 1 << at
        self.masks["additives"] |= 1 << at
        self.bits = at + 1
        self._facts: dict[int, Facts] = {}

    def word(self, facts: Facts) -> int:
        """Return the word of these facts."""
        found = self.forms.index(facts.form) | (self.layers if facts.layers_recorded else 0)
        for field, values in (("colour", facts.colour), ("additives", facts.additives)):
            if values is not None:
                found |= self.of(field, values)
        return found

    def of(self, field: str, values: Iterable[str]) -> int:
        """Return the bits of a given attribute of the body."""
        try:
            return self._given[field] | sum(self._words[field][value] for value in values)
        except KeyError as unknown:
            raise BeyondArraysError from unknown

    def of_trial(self, field: str, value: Value) -> int:
        """Return the bits of an attribute with one value as step 8 tries it."""
        return self.of(field, value if isinstance(value, frozenset) else [str(value)])

    def facts(self, word: int) -> Facts:
        """Return the facts of a word."""
        if (known := self._facts.get(word)) is None:
            if len(self._facts) > _FACTS:
                self._facts.clear()
            known = self._facts[word] = self._read(word)
        return known

    def _read(self, word: int) -> Facts:
        values = {
            field: frozenset(value for value, bit in words.items() if word & bit) if word & self.masks[field] else None
            for field, words in self._words.items()
        }
        form = self.forms[word & self.masks["form"]]
        return Facts(form, bool(word & self.layers), values["colour"], values["additives"])
