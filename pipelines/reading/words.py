"""Resolves words of cells and headers: units, levels of packaging, parts and materials.

The factors of units are data in `units.csv`, the words are in `words.csv`. Levels are the vocabulary `level_packaging`,
and `level_title` for words that mean a level only in a title (`Primary`): a primary material is the main one. Forms put
the levels side by side; the SKU is the sold unit, so its columns are those of the sales packaging. A word of a whole
rigid packaging is its body. A word for a part that no list has, or that may be a body or a part of one (film, foil,
wrap, sheet, bag), is open: `layouts.py` asks what it is.
"""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, lru_cache
from math import isclose
from pathlib import Path
from typing import Final, NamedTuple

import polars as pl

from compliance import ruleset
from compliance.grading.units import GENERIC
from compliance.rule_rows import Format
from compliance.words import (
    affirmed,
    colour_of,
    formats_among,
    lists_several,
    material_of,
    names_another,
    normalise,
    plain_materials,
    resolve_format,
    resolve_material,
)
from pipelines.reading.grid import LONGEST_VALUE
from schemas.messages import Message
from schemas.normalise import Unfit, quote
from schemas.vocabularies import VOCABULARIES
from schemas.words import code_of, fold, market_named, words


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit that can be converted: `factor` times the value is the value in the field's unit."""

    name: str
    dimension: str
    factor: Decimal


def unit_of(word: str, field_unit: str | None) -> Unit | None:
    """Return the unit that a word names (`kg`, `grammes`, `%`), or None where the field cannot be given in it."""
    word = "percent" if word.strip() == "%" else word
    for dimension in _by_field_unit().get(field_unit or "", {}):
        code = code_of(word, dimension)
        if code is not None:
            return _by_field_unit()[field_unit or ""][dimension].get(code)
    return None


def unit_by_factor(factor: float, field_unit: str | None) -> Unit | None:
    """Return the first unit of this factor to a field's unit; None where there is none."""
    units = (unit for by_name in _by_field_unit().get(field_unit or "", {}).values() for unit in by_name.values())
    return next((unit for unit in units if isclose(float(unit.factor), factor, rel_tol=1e-9)), None)


@cache
def first_words_of_units() -> frozenset[str]:
    """Return the words with which a unit begins."""
    dimensions = {dimension for units in _by_field_unit().values() for dimension in units}
    return frozenset(word.split()[0] for dimension in dimensions for word in words(dimension) if word)


@cache
def _by_field_unit() -> dict[str, dict[str, dict[str, Unit]]]:
    """Return the units by field unit, dimension and unit code."""
    table: dict[str, dict[str, dict[str, Unit]]] = {}
    with (Path(__file__).parent / "units.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            unit = Unit(row["unit"], row["dimension"], Decimal(row["factor"]))
            table.setdefault(row["field_unit"], {}).setdefault(row["dimension"], {})[row["unit"]] = unit
    return table


SALES: Final = "sales"
_LONGEST_NAME: Final = 4
_MOST_WORDS: Final = 12


def level_of(title: str) -> str | None:
    """Return the level that a title names in any of its words; None where it names none, or two."""
    tokens = fold(title).split()[:_MOST_WORDS]
    levels = {level for start, end in runs(len(tokens)) if (level := _levels().get(" ".join(tokens[start:end])))}
    return levels.pop() if len(levels) == 1 else None


def level_at(tokens: Sequence[str], at: int, *, in_title: bool = False) -> tuple[str, int] | None:
    """Return the level that is named by the longest phrase which begins at a word, and the phrase's end.

    `Primary` alone means the sales level only `in_title` or in a note.
    """
    for end in range(min(len(tokens), at + _LONGEST_NAME), at, -1):
        phrase = " ".join(tokens[at:end])
        level = _levels().get(phrase)
        if level is not None and (in_title or level != SALES or phrase in words("level_packaging")):
            return level, end
    return None


def names_sales_level(header: str) -> bool:
    """Return whether a header names the sales packaging by more than one word: `Primary packaging material`."""
    tokens = fold(header).split()[:_MOST_WORDS]
    names = {" ".join(tokens[start:end]) for start, end in runs(len(tokens))}
    return any(words("level_packaging").get(name) == SALES for name in names)


@cache
def _levels() -> dict[str, str]:
    return {**words("level_title"), **words("level_packaging")}


def are_levels(cells: pl.Series) -> bool:
    """Return whether every given cell is a word for a level, and at least one is no word for a packaging (`Pallet`)."""
    distinct = cells.drop_nulls().unique()
    if not len(distinct) or any(code_of(cell, "packaging_level") is None for cell in distinct):
        return False
    rules = ruleset.load()
    return any(resolve_format(cell, rules) is None for cell in distinct)


def are_mostly_levels(cells: pl.Series) -> bool:
    """Return whether most given cells name a level (`Primary`), and none names only a use (`Online`)."""
    texts = cells.drop_nulls()
    levels = {cell for cell in texts.unique() if code_of(cell, "packaging_level") is not None}
    uses = {cell for cell in texts.unique() if code_of(cell, "use_context") is not None}
    return 2 * int(texts.is_in(list(levels)).sum()) > len(texts) and uses < levels


def runs(count: int) -> list[tuple[int, int]]:
    """Return start and end of every run of words, the longest first."""
    return [(start, start + size) for size in range(count, 0, -1) for start in range(count - size + 1)]


_BODY: Final = "body"
_NOT_WHOLE: Final = frozenset(
    {"corrugated_sheet", "loose_fill", "protective_foam", "spool", "rack", "dispenser", "cutlery", "pallet"}
)
"""Rigid formats that are no packaging around a product, but lie in one or hold several."""


_CLOSURES: Final = frozenset({"cap", "closure"})
"""Types that one part's two names may have: `Deckel / Verschluss`."""
_OPEN: Final = "open"
_LIKE_PARTS: Final = frozenset({"box", "carton", "case", "capsule"})
"""Formats whose words are a sleeve's or a cap's too: `Étui / Fourreau`, `Capsule / Couvercle`."""


def part_type_of_word(text: str) -> str | None:
    """Return the component_type that a text is a listed word for, as a whole or in its parts between slashes."""
    if is_uncertain(text):
        return None
    if (code := code_of(text, "component_type")) is not None:
        return code
    formats = ruleset.load().formats
    sides = [side for side in text.split("/") if side.strip()]
    codes = [code for side in sides if (code := code_of(side, "component_type")) is not None]
    others = (formats.get(normalise(side)) for side in sides if code_of(side, "component_type") is None)
    wholes = (form for form in others if form is not None and form.key not in _LIKE_PARTS)
    said = {*codes, *(_type_of_format(form) or _OPEN for form in wholes)}
    return codes[0] if codes and (len(said) == 1 or said == _CLOSURES) else None


@lru_cache(maxsize=65_536)
def part_type(text: str) -> str | None:
    """Return the component_type that a text means: `body` for a rigid packaging (`Flacon`); None where it is open.

    A part beside a packaging is that part (`bottle label`, `Deckel Glas`); a list of two (`Bottle + cap`) is open, and
    so is what the text denies (`no cap`).
    """
    if (code := part_type_of_word(text)) is not None or is_uncertain(text):
        return code
    rules = ruleset.load()
    whole = rules.formats.get(normalise(text))
    if whole is not None and not lists_several(text):
        return _type_of_format(whole)
    kinds = [kinds for tokens in affirmed(text, rules) if (kinds := _kinds_among(tokens, rules))]
    if not kinds or (len(kinds) > 1 and len(set.union(*kinds)) > 1):
        return None
    parts = kinds[0] - {_BODY, _OPEN}
    if parts or len(kinds[0]) > 1:
        return parts.pop() if len(parts) == 1 else None
    return _BODY if kinds[0] == {_BODY} else None


def _kinds_among(tokens: list[str], rules: ruleset.RuleSet) -> set[str]:
    """Return the types that words beside each other name; `open` for what may be several parts.

    A film may, and a piece of a packaging whose type its word does not say: the `insert` of a box, the `end` of a can.
    """
    listed, reach, pieces = words("component_type"), _words_of_parts(), words("open_part")
    spans = ((at, at + size) for at, word in enumerate(tokens) for size in range(1, reach.get(word, 0) + 1))
    kinds = {code for start, end in spans if (code := listed.get(" ".join(tokens[start:end]))) is not None}
    kinds |= {_OPEN for token in tokens if token in pieces}
    return kinds | {_type_of_format(each) or _OPEN for each in formats_among(tokens, rules)}


@cache
def _words_of_parts() -> dict[str, int]:
    """Return by its first word how many words the longest name of a part has."""
    longest: dict[str, int] = {}
    for first, *more in map(str.split, words("component_type")):
        longest[first] = max(longest.get(first, 0), 1 + len(more))
    return longest


def parts_named(text: str) -> list[str]:
    """Return the types that a text's words name, but the body, in the order of the vocabulary; none where it doubts."""
    rules = ruleset.load()
    named = {kind for tokens in affirmed(text, rules) for kind in _kinds_among(tokens, rules)} - {_BODY, _OPEN}
    return [] if is_uncertain(text) else [each for each in VOCABULARIES["component_type"] if each in named]


def _type_of_format(form: Format) -> str | None:
    """Return the type of a part of this format; None where a film, an insert or the like may be several."""
    if (code := code_of(form.key, "component_type")) is not None:
        return code
    return _BODY if form.form not in (None, "film") and form.key not in _NOT_WHOLE else None


def code_by_rules(text: str, vocabulary: str) -> str | None:
    """Return the part or the colour that a text means by the rule-set's words; None for other vocabularies."""
    if vocabulary == "colour":
        return colour_of(text, ruleset.load())
    return part_type(text) if vocabulary == "component_type" else None


def names_part(text: str) -> bool:
    """Return whether a text is a word for a part or for a packaging: `Couvercle`, `Film`."""
    rules = ruleset.load()
    if part_type_of_word(text) is not None or resolve_format(text, rules) is not None:
        return True
    return any(_kinds_among(tokens, rules) for tokens in affirmed(text, rules))


def part_types(texts: pl.Series, answered: Mapping[str, str | None] | None = None) -> pl.Series:
    """Return the type that each text means, `body` where there is no text.

    `answered` are the types that the caller's mapping gives, by folded text. With them a text whose type is open stays,
    to be asked about; without, it is no word for a part, and the part is the `body`.
    """
    distinct = texts.drop_nulls().unique()
    types = [(answered or {}).get(fold(t)) or part_type(t) or (_BODY if answered is None else t) for t in distinct]
    return texts.replace_strict(distinct, types, default=_BODY, return_dtype=pl.String)


_LANGUAGE_PREFIX: Final = re.compile(r"^\s*[a-z]{2}:(?:(?P<code>[a-z]{1,5})-\d{1,2}-\S+$)?", re.IGNORECASE)
"""A language, and behind it the recycling code with its number and its name: `en:pet-1-polyethylene-terephthalate`."""
_SHARE: Final = re.compile(r"(?<!\d)\d++(?:[.,]\d++)?+\s*+%")
_SHARE_SEPARATOR: Final = re.compile(r"[/,;+&](?!\d)|\s(?=\d++(?:[.,]\d++)?+\s*+%)")
"""Separators of materials that each have a share: `carton 80 % / PE 20 %`."""
_SEPARATOR: Final = re.compile(r"/|(?<=\s)[-–—](?=\s)")


class MaterialWords(NamedTuple):
    """The family that a material text names, and the detail beside it: None where it is only the family's word."""

    family: str
    detail: str | None


_UNCERTAIN: Final = re.compile(r"[?？¿≠¬~≈*]|^\s*!")
"""Signs of a doubt, a negation or a note; words are compared without any sign."""


def is_uncertain(cell: str) -> bool:
    """Return whether a cell doubts or denies what its word says, or a note says more: `PET?`, `≠ yes`, `yes*`."""
    return _UNCERTAIN.search(cell) is not None


def certain(cell: str, code: str) -> str:
    """Return a cell that is not uncertain; raise `Unfit` with the code for another one."""
    if is_uncertain(cell):
        message = Message(
            "{cell} doubts or denies what it says, or has a note; write what is certain, or leave the cell empty.",
            cell=quote(cell),
        )
        raise Unfit(code, message)
    return cell


def read_material(text: str, vocabulary: str) -> MaterialWords | None:
    """Return what a text names, by the vocabulary `material` or `material_family`; None where it means none, or two."""
    text = without_language(text).strip()
    if len(text) > LONGEST_VALUE or is_uncertain(text):
        return None
    own_family, _, detail = words("material_column").get(fold(text), "").partition(" ")
    if detail:
        return MaterialWords(own_family, detail) if own_family in VOCABULARIES[vocabulary] else None
    if (own := code_of(text, vocabulary)) is not None:
        return MaterialWords(own, text if _names_more(text, own) else None)
    if len(_SHARE.findall(text)) > 1:
        sides = [side for side in _SHARE_SEPARATOR.split(text) if _SHARE.sub("", side).strip()]
        family = _only([_family_by_ruleset(side) or code_of(_SHARE.sub("", side), vocabulary) for side in sides])
        return None if family is None else MaterialWords(family, text)
    rules = ruleset.load()
    # A text with separators may be one material's name as a whole, a colour beside: `Papier/PE-Verbund`.
    is_one_name = normalise(text) in rules.aliases or plain_materials(text, rules)[0] in rules.aliases
    if is_one_name and (family := _family_by_ruleset(text)) in VOCABULARIES[vocabulary]:
        return MaterialWords(str(family), text)
    first, *rest = map(str.strip, _SEPARATOR.split(text))
    families = [code for side in (first, *rest) if (code := code_of(side, vocabulary)) is not None]
    if families:
        if len(set(families)) > 1 or code_of(first, vocabulary) is None:
            return None
        whole = text[len(first) :].lstrip(" /-–—")
        is_named_twice = len({resolve_material(name, rules) for name in (whole, *rest)}) == 1  # `PEBD - Polyethylène`
        kinds = (kind for kind in (rest if is_named_twice else (whole, *rest)) if _family_by_ruleset(kind) is not None)
        return MaterialWords(families[0], next(kinds, whole))
    virgin = " ".join(word for word in text.split() if code_of(word, "header_word") != "recycled")
    readings = [(_family_by_ruleset(detail), detail) for detail in (text, virgin)]
    readings.append((_only([_family_by_ruleset(side) for side in (first, *rest)]), text))
    readings = [(family, detail) for family, detail in readings if family in VOCABULARIES[vocabulary]]
    readings += [(code_of(words_left, vocabulary), text) for words_left in plain_materials(text, rules)]
    said = [MaterialWords(family, detail) for family, detail in readings if family is not None]
    words_of_text = normalise(text).replace("/", " ").split()
    return next((material for material in said if not names_another(words_of_text, material.family, rules)), None)


def family_of_detail(text: str) -> str | None:
    """Return the family that a detail means, in the SKU's vocabulary; None where it means none, or two."""
    material = read_material(text, "material")
    return None if material is None else material.family


def facts_of_text(text: str) -> dict[str, str]:
    """Return the cells of the attributes that a material's text gives its part: a colour, a metallisation."""
    facts = material_of(text, ruleset.load()).facts
    return {name: "true" if value is True else str(value) for name, value in facts.items()}


@lru_cache(maxsize=4096)
def says_within(header: str) -> bool:
    """Return whether a header is of what another column has already: `davon PET (g)` beside `Kunststoff (g)`."""
    return any(f" {fold(header)} ".startswith(f" {word} ") for word in words("within"))


def says_recycled(text: str) -> bool:
    """Return whether a material's text says that it is recycled: `rPET`, `PET recycled`."""
    rules, name = ruleset.load(), normalise(text)
    short = name[:1] == "r" and name[1:] in rules.aliases
    return short or not rules.dropped_words["recycled"].isdisjoint(name.split())


def _names_more(text: str, family: str) -> bool:
    """Return whether a family's word names a kind of it too: `Wellpappe` is more than paper, `Papier` is not."""
    rules = ruleset.load()
    is_one_name = any(name in rules.aliases for name in (normalise(text), *plain_materials(text, rules)))
    code = resolve_material(text, rules) if is_one_name else None  # `Papier Karton` are two names of the family
    material = None if code is None or code in GENERIC.values() else rules.materials[code]
    return material is not None and material.specified and family in material.contract_families


def _only(families: list[str | None]) -> str | None:
    """Return the family that all parts of a text mean: `PS - Polystyrène` names one material twice."""
    return families[0] if len(set(families)) == 1 else None


def _family_by_ruleset(text: str) -> str | None:
    """Return the family of the material that a text means by the rule-set's words; None where that is not a single one.

    A bare number means none: `1` may be the resin code of PET, and as well a number of the sender's own list.
    """
    if not any(map(str.isalpha, text)):
        return None
    rules = ruleset.load()
    code = resolve_material(text, rules)
    if code is None or not (material := rules.materials[code]).specified:
        return None
    of_contract = material.family in VOCABULARIES["material_family"] or "other" not in material.contract_families
    return material.family if of_contract else "other"  # ceramics, rubber and wax have no family of the contract


def without_language(word: str) -> str:
    """Return a word without the language that open product databases put before it: `en:france`, `fr:verre`.

    Of a recycling code with its number and name the code is kept: `xx:pp-5-polypropylene` is `pp`.
    """
    return _LANGUAGE_PREFIX.sub(lambda match: match["code"] or "", word, count=1)


_MARKET_SEPARATOR = re.compile(r"[,;|/\n]")
_AND = re.compile(r"[&+]|(?<=\s)(?:and|und|et|[eéyiaи]|en|och|og|ja|és|și|şi|si|ve|και)(?=\s)", re.IGNORECASE)


def market_parts(cell: str) -> list[str]:
    """Return the markets that a cell names, each as it is written: `BE/LU` names two."""
    parts = [without_language(part).strip() for part in _MARKET_SEPARATOR.split(cell) if part.strip()]
    return [name for part in parts for name in _joined_markets(part)]


def _joined_markets(part: str) -> list[str]:
    """Return the markets that a word or a sign joins, `FR und DE`, `FR & IT`; `Bosnia and Herzegovina` is one."""
    names = [name.strip() for name in _AND.split(part) if name.strip()]
    if len(names) > 1:
        with suppress(Unfit):
            market_named(part)
            return [part]
    return names


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
