"""Resolves people's words for materials and packaging formats to codes (grading.md, step 1).

The words are rows of `polymer_aliases.csv`, `alias_words.csv` and `formats.csv`. A near match never resolves: it is
only offered in a warning.
"""

import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations
from types import MappingProxyType
from typing import Final

from rapidfuzz import fuzz, process

from compliance.rule_rows import Format, Material, RuleSet, Value
from schemas.words import code_of, without_accents

_PERCENTAGE: Final = re.compile(r"(?<!\d)\d++(?:[.,]\d++)?+\s*+%")
_MEASURE: Final = re.compile(
    r"(?<![\w.,])\d++(?:[.,]\d++)?+(?:\s*+[-–x×]\s*+\d++(?:[.,]\d++)?+)?+\s*+"
    r"(?:[µμu]m?|my|mics?|microns?|mm|gsm|g(?:r|ramm)?\s?/\s?(?:m²|m2|qm|sqm))(?!\w)",
    re.IGNORECASE,
)
"""A thickness or a grammage in a material's text: *PE 50 µm*, *Karton 300 g/m²*; it says nothing of the material."""
_RESIN_SIGNS: Final = {0x2673 + place: str(place + 1) for place in range(7)}
_LONGEST: Final = 500
"""Characters of the longest text that is searched for words: a longer one is prose, and names no one material."""
_LETTERS: Final = str.maketrans({"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o"})
_JOINING: Final = frozenset(
    {
        *("mit", "avec", "with", "et", "and", "und", "pour", "for", "fur", "de", "of", "en", "aus", "in"),
        *("con", "com", "met", "incl", "inkl", "inklusive", "including", "einschliesslich"),
    }
)
"""Words after which a format text names something else: *bottle with cap* is a bottle."""
_DENYING: Final = frozenset(
    {
        *("no", "not", "none", "without", "except", "kein", "keine", "keinen", "keiner", "nicht", "ohne"),
        *("sans", "pas", "aucun", "aucune", "sauf", "sin", "ningun", "ninguna", "senza", "nessun", "nessuna"),
        *("geen", "niet", "zonder", "nie", "bez", "brak", "zadny", "uden", "ingen", "utan", "sem"),
    }
)
"""Words that deny what comes behind them: *no bottle*, *tray without lid*."""
_ARTICLES: Final = frozenset({"a", "an", "the", "un", "una", "une", "uno", "e", "est", "es"})
_LISTING: Final = re.compile(r"[,;+&|\n]|\s/\s|(?<=\s)(?:or|oder|ou|o|lub|bzw)(?=[.\s])", re.IGNORECASE)
"""What stands between things that one text lists, or between which it leaves the choice."""


_KEPT_SIGNS: Final = "/?¿≠¬~≈*"


def normalise(text: str) -> str:
    """Return the form in which texts are compared: no percentages, measures, accents or case, `/` kept, single spaces.

    Signs of a doubt, a negation or a note are kept too: *PET?* and *PET** name no material.
    """
    text = _MEASURE.sub(" ", _PERCENTAGE.sub(" ", text)).translate(_RESIN_SIGNS)
    plain = without_accents(text).lower().translate(_LETTERS)
    return " ".join("".join(c if c.isalnum() or c in _KEPT_SIGNS else " " for c in plain).split())


@dataclass(frozen=True, slots=True)
class MaterialText:
    """What a material text means: its canonical code, and the attributes that its words for colour and metal give."""

    code: str | None = None
    facts: Mapping[str, Value] = field(default_factory=lambda: MappingProxyType({}))


_NOTHING: Final = MaterialText()
_HUE: Final = "hue"
"""What a colour says that may be transparent or opaque: *blue*. Beside another word it says nothing but this pair."""
_PAIRS: Final[Mapping[frozenset[Value], str | None]] = {
    frozenset({"transparent", "transparent_coloured"}): "transparent_coloured",
    frozenset({"dark", "transparent_coloured"}): "dark",
    frozenset({"transparent", _HUE}): "transparent_coloured",
    frozenset({"transparent", "transparent_coloured", _HUE}): "transparent_coloured",
    frozenset({"natural", _HUE}): None,
}
"""Two colours of one text that are one: *transparent green*, *dark brown*. Other pairs say nothing certain."""


def resolve_material(text: str, rules: "RuleSet") -> str | None:
    """Return the canonical code of a material text, or None where no alias fits.

    A code whose `specified` is N (plastic, metal, unknown …) is returned like any other; callers that grade treat it as
    no material.
    """
    return material_of(text, rules).code


@lru_cache(maxsize=65_536)
def material_of(text: str, rules: "RuleSet") -> MaterialText:
    """Return the code of a material text with what its other words say: *PET schwarz* is PET, and dark.

    A colour that the material's own name implies (*green glass*) is no fact of the text; a text without a code has
    none.
    """
    if len(text) > _LONGEST:
        return _NOTHING
    normal = normalise(text)
    code, said = _alias(normal, rules)
    if code is None and "/" in normal:
        code, said = _laminate(normal, rules)
    if code is None:
        code, said = _named_twice(normal, rules)
    return _NOTHING if code is None else MaterialText(code, _facts(said, code, rules))


def _facts(said: list[str], code: str, rules: "RuleSet") -> Mapping[str, Value]:
    """Return the attributes that a text's words give a part of this material; two colours that differ give none."""
    material, from_words = rules.materials[code], [rules.word_facts[word] for word in said if word in rules.word_facts]
    holding = [fact for fact in from_words if fact.holds_for(material) and fact.field not in material.implied]
    facts: dict[str, Value] = {}
    for name in sorted({fact.field for fact in holding}):
        values: frozenset[Value] = frozenset(fact.value for fact in holding if fact.field == name)
        value = _one_value(values, said, rules)
        if value is not None:
            facts[name] = value
    return MappingProxyType(facts)


def _one_value(values: frozenset[Value], said: Iterable[str], rules: "RuleSet") -> Value | None:
    """Return what a text's words say together, those that give no attribute too; None where it is not certain."""
    colours = rules.dropped_words.get("colour", frozenset())
    hued = values | {_HUE} if any(word in colours and word not in rules.word_facts for word in said) else values
    if hued in _PAIRS or len(values) != 1:
        return _PAIRS.get(hued)
    return next(iter(values))


def colour_of(text: str, rules: "RuleSet") -> str | None:
    """Return the colour of a text of colours alone, as a material's text would give it: *transparent blue*."""
    left, said = _without(normalise(text[:_LONGEST]), ("colour",), rules)
    facts = (rules.word_facts[word] for word in said if word in rules.word_facts)
    value = None if left else _one_value(frozenset(fact.value for fact in facts if fact.field == "colour"), said, rules)
    return None if value is None else str(value)


def names_hue(text: str, rules: "RuleSet") -> bool:
    """Return whether a text of colours alone does not say how it lets light through: *blue*, *red/yellow*."""
    left, said = _without(normalise(text[:_LONGEST]), ("colour",), rules)
    return bool(said) and not left.strip("/+ ") and not any(word in rules.word_facts for word in said)


def _alias(normal: str, rules: "RuleSet") -> tuple[str | None, list[str]]:
    """Return the code of a normalised text as it is, without its form words, or also without its colours.

    With it come the words that may give facts: those that were dropped, and the colours of an alias (*pet clear*).
    """
    # A metallisation goes first: without its form words *carton board métallisé* would be the metallisation alone.
    for kinds in ((), ("metallised",), ("recycled",), ("printed",), _FORM):
        if (code := _code_and_words(normal, kinds, rules)) is not None:
            return code
    code = _with_fewest_dropped(normal, rules) if rules.word_facts else None
    return code or _code_and_words(normal, _ALL, rules) or (None, [])


def _code_and_words(normal: str, kinds: tuple[str, ...], rules: "RuleSet") -> tuple[str, list[str]] | None:
    kept, dropped = _without(normal, kinds, rules)
    code = rules.aliases.get(kept)
    if code is None or names_another(dropped, rules.materials[code].family, rules):
        return None
    colours = [word for word in _without(normal, ("colour",), rules)[1] if word not in dropped]
    return code, [*dropped, *colours]


def names_another(words: Iterable[str], family: str, rules: "RuleSet") -> bool:
    """Return whether a word of a form is a material of another family: *carton + PE* is not PE."""
    forms = rules.dropped_words.get("form", frozenset()) & rules.aliases.keys()
    named = [rules.materials[rules.aliases[word]] for word in words if word in forms]
    return any(material.specified and material.family != family for material in named)


def _with_fewest_dropped(normal: str, rules: "RuleSet") -> tuple[str, list[str]] | None:
    """Return the same for an alias that has words of colour or form itself: *PE-coated board black*.

    Only colours and metallisations are dropped, as few as possible.
    """
    dropped = _without(normal, ("colour", "metallised"), rules)[1]
    if len(dropped) > _MOST_DROPPED:
        return None
    runs = (run for count in range(1, len(dropped) + 1) for run in combinations(dropped, count))
    return next(
        ((rules.aliases[kept], dropped) for run in runs if (kept := _words_out(normal, run)) in rules.aliases), None
    )


def _words_out(normal: str, words: Iterable[str]) -> str:
    for word in words:
        normal = " ".join(f" {normal} ".replace(f" {word} ", " ", 1).split())
    return normal


_FORM: Final = ("form", "recycled", "printed")
_ALL: Final = (*_FORM, "colour", "metallised")


def _without(normal: str, kinds: tuple[str, ...], rules: "RuleSet") -> tuple[str, list[str]]:
    """Return a normalised text without its words of these kinds, and those; of words that overlap the longest goes."""
    droppable = [words for kind in kinds if (words := rules.dropped_words.get(kind))]
    if not droppable:
        return normal, []
    tokens, kept, dropped, start = normal.split(), [], [], 0
    while start < len(tokens):
        ends = range(min(len(tokens), start + _MOST_WORDS), start, -1)
        runs = ((end, " ".join(tokens[start:end])) for end in ends)
        end, word = next(((e, run) for e, run in runs if any(run in words for words in droppable)), (start, ""))
        if word:
            dropped.append(word)
        else:
            kept.append(tokens[start])
        start = max(end, start + 1)
    return " ".join(kept), dropped


_MOST_DROPPED: Final = 5
"""Colours of a text that are tried one by one: a text of more is prose."""
_MOST_WORDS: Final = 3
"""Words of the longest colour: *noir de carbone*."""


def _laminate(normal: str, rules: "RuleSet") -> tuple[str | None, list[str]]:
    """Return the code of layers written with `/`: their common group, or the alias of their groups in order.

    A side that is only a colour or a form (*PET / black*) is no layer, where the rule-set says what its words give.
    """
    sides = [side.strip() for side in normal.split("/")]
    bare = [side for side in sides if side and rules.word_facts and not _without(side, _ALL, rules)[0]]
    colours = [side for side in bare if not names_another(side.split(), "", rules)]
    layers = [_alias(side, rules) for side in sides if side not in colours]
    codes = [code for code, _ in layers]
    said = [word for _, words in layers for word in words]
    said += [word for side in colours for word in _without(side, _ALL, rules)[1]]
    if not codes or not all(codes):
        return None, []
    if len(codes) == 1:
        return codes[0], said
    groups = [rules.materials[code].group for code in codes if code]
    if len(set(groups)) == 1 and groups[0] in rules.materials:
        return groups[0], said
    return rules.aliases.get(normalise("/".join(groups))), said


def _named_twice(normal: str, rules: "RuleSet") -> tuple[str | None, list[str]]:
    """Return the code of one material with two names beside each other: *Polypropylene (PP)*, *Metal (aluminium)*."""
    tokens = normal.split()
    for cut in range(1, len(tokens) if len(tokens) <= _MOST_OF_NAMES else 1):
        first, said = _alias(" ".join(tokens[:cut]), rules)
        if first is None:
            continue
        second, also = _alias(" ".join(tokens[cut:]), rules)
        if second is not None and (code := _narrower(first, second, rules)) is not None:
            return code, [*said, *also]
    return None, []


_MOST_OF_NAMES: Final = 8
"""Words of a material's two names: a text of more is prose."""


def _narrower(first: str, second: str, rules: "RuleSet") -> str | None:
    """Return the code that says more: of equal ones, and where one is only the other's group or family."""
    one, other = rules.materials[first], rules.materials[second]
    if one == other or _is_wider(other, one):
        return first
    return second if _is_wider(one, other) else None


def _is_wider(one: Material, other: Material) -> bool:
    return one.code == other.group or (not one.specified and bool(other.contract_families & one.contract_families))


def plain_materials(text: str, rules: "RuleSet") -> list[str]:
    """Return a material text, normalised, without its colours and metallisation, then without its form words too."""
    normal = normalise(text[:_LONGEST])
    return [_without(normal, kinds, rules)[0] for kinds in (("colour", "metallised"), _ALL)]


def nearest_materials(text: str, rules: "RuleSet") -> list[str]:
    """Return the three known words nearest to an unresolved text, for its warning."""
    nearest = process.extract(normalise(text[:_LONGEST]), rules.aliases.keys(), scorer=fuzz.ratio, limit=3)
    return [word for word, _, _ in nearest]


@lru_cache(maxsize=65_536)
def resolve_format(text: str, rules: "RuleSet") -> "Format | None":
    """Return the packaging format that a text names; None where no word is known, or several of other forms are.

    Of a whole packaging and parts in one list (*bottle, cap*) it is the whole one; beside each other without a sign
    (*tray lid*) nothing tells which of them it is. What the text denies (*not a bottle*) it does not name.
    """
    if len(text) > _LONGEST:
        return None
    normal = normalise(text)
    if normal in rules.formats and not lists_several(text):
        return rules.formats[normal]
    named = [each for tokens in affirmed(text, rules) if (each := _one_format(tokens, rules)) is not None]
    wholes = [each for each in named if not _is_part(each)] or named
    return wholes[0] if len({each.key for each in wholes}) == 1 else None


def lists_several(text: str) -> bool:
    """Return whether a text lists things, or leaves the choice of them: *bottle + cap*, *bottle or jar*."""
    return _LISTING.search(text) is not None


def affirmed(text: str, rules: "RuleSet") -> list[list[str]]:
    """Return the words of each thing that a text lists, normalised, up to what it is with, for or without.

    A thing that is denied is left out: *not a bottle*, *no lid*. `non` before another word than a format's belongs to
    that word: *non-returnable bottle*.
    """
    things: list[list[str]] = []
    for side in _LISTING.split(text[:_LONGEST]):
        tokens = normalise(side).split()
        formats = {word for alias in rules.formats for word in alias.split()[:1]} | _ARTICLES if "non" in tokens else ()
        denied = [at for at, word in enumerate(tokens) if word in _DENYING or _is_denying(tokens, at, formats)]
        if not tokens or denied[:1] == [0] or denied[-1:] == [len(tokens) - 1]:
            continue
        ends = [*denied, *(at for at, word in enumerate(tokens) if at and word in _JOINING), len(tokens)]
        things.append(tokens[: min(ends)])
    return things


def _is_denying(tokens: list[str], at: int, formats: Container[str]) -> bool:
    return tokens[at] == "non" and tokens[at + 1 : at + 2] != [] and tokens[at + 1] in formats


def formats_among(tokens: list[str], rules: "RuleSet") -> list["Format"]:
    """Return the formats that words name, the longest alias from each word on.

    A first word that is a material's too is the material where another format follows: *Karton Schale*.
    """
    reach, at = _longest_alias(rules), 0
    named: list[tuple[str, Format]] = []
    while at < len(tokens):
        spans = ((end, " ".join(tokens[at:end])) for end in range(min(len(tokens), at + reach), at, -1))
        end, alias = next(((end, span) for end, span in spans if span in rules.formats), (at + 1, ""))
        named += [(alias, rules.formats[alias])] if alias else []
        at = end
    alias, first = named[0] if len(named) > 1 else ("", None)
    is_material = first is not None and alias in rules.aliases and first.form != "film"
    return [each for _, each in named[is_material:]]


def _one_format(tokens: list[str], rules: "RuleSet") -> "Format | None":
    """Return the format of words that stand beside each other; None where they name none, or two of other forms."""
    named = formats_among(tokens, rules)
    kinds = {(each.form, _is_part(each)) for each in named}
    return named[0] if len(kinds) == 1 else None


def _is_part(named: "Format") -> bool:
    return code_of(named.key, "component_type") not in (None, "body")


@lru_cache(maxsize=16)
def _longest_alias(rules: "RuleSet") -> int:
    """Return the number of words of the longest format alias."""
    return max(len(alias.split()) for alias in rules.formats)
