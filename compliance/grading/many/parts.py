"""Steps 1 and 2 of grading.md for many SKUs: reads stored rows as numbers, each part as the number of an equal one.

A part is asked of the kernel once, by a unit with that part alone, whatever its weight. Numbers become the bands
between the rule-set's bounds first, else every thickness were a part of its own.
"""

from collections.abc import Callable, Hashable, Iterable
from math import prod
from typing import Final, NamedTuple, TypeAlias, cast

import numpy as np
import polars as pl

from compliance.grading.assessment import ORDER
from compliance.grading.firing import CLASS_OF, Facts, facts_of
from compliance.grading.many.keys import Bools, Columns, Floats, Ints, Keys, Lists, meaning
from compliance.grading.rows import GRADED_INPUTS, Inputs
from compliance.grading.units import (
    Part,
    Unit,
    Weighed,
    alike,
    make_part,
    outside_article_6,
    packaging_format,
    part_of,
    units,
    weighs_more,
)
from compliance.rule_rows import RuleSet, Value
from compliance.words import material_of
from schemas.skus.types import Component
from schemas.vocabularies import VOCABULARIES

UNGRADED: Final = len(ORDER)
GRADES: Final = (*sorted(ORDER, key=ORDER.__getitem__), "not_assessed")
"""The grade of each number; the last is `not_assessed`."""
MISSING: Final = {"components": 1, "packaging_format": 2, "polymer_or_grade": 4, "weight_g": 8}
"""The bit of each kind of missing fact of a unit."""

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
        bits = self.forms.index(facts.form) | (self.layers if facts.layers_recorded else 0)
        for field, values in (("colour", facts.colour), ("additives", facts.additives)):
            if values is not None:
                bits |= self.bits_of(field, values)
        return bits

    def bits_of(self, field: str, values: Iterable[str]) -> int:
        """Return the bits of a given attribute of the body."""
        try:
            return self._given[field] | sum(self._words[field][value] for value in values)
        except KeyError as unknown:
            raise BeyondArraysError from unknown

    def of_trial(self, field: str, value: Value) -> int:
        """Return the bits of an attribute with one value as step 8 tries it."""
        return self.bits_of(field, value if isinstance(value, frozenset) else [str(value)])

    def facts(self, word: int) -> Facts:
        """Return the facts of a word."""
        if (facts_of_word := self._facts.get(word)) is None:
            if len(self._facts) > _FACTS:
                self._facts.clear()
            facts_of_word = self._facts[word] = self._read(word)
        return facts_of_word

    def _read(self, word: int) -> Facts:
        values = {
            field: frozenset(value for value, bit in words.items() if word & bit) if word & self.masks[field] else None
            for field, words in self._words.items()
        }
        form = self.forms[word & self.masks["form"]]
        return Facts(form, bool(word & self.layers), values["colour"], values["additives"])


TYPES: Final = tuple(sorted(CLASS_OF))
"""The types of parts, by number."""
BODY: Final = TYPES.index("body")
"""The type of a body."""
MATERIALS: Final = 256
"""More than there are materials: a type and a material are one number, `type * MATERIALS + material`."""


class Parts(Columns):
    """The table of parts. Columns are named for what `Part` and the functions of the kernel call them.

    `counted` are the bits of `weighed` that count the part. Columns `…_apart` are of the part as a unit of its own.
    """

    def __init__(self, rules: RuleSet, words: FactWords) -> None:
        super().__init__(
            **dict.fromkeys(("type", "material", "group", "family", "form_apart"), np.int64),
            **dict.fromkeys(("word", "word_apart", "counted", "counted_apart"), np.int64),
            **dict.fromkeys(("weightless", "generic", "hides_layers"), np.bool_),
        )
        self._words = words
        self._known: dict[Hashable, int] = {}
        self._kinds: dict[Hashable, dict[str, int]] = {}
        self.parts: list[Part] = []
        self.carried, self.of_columns = Lists(), Keys()
        self.codes = {code: place for place, code in enumerate(rules.materials)}
        self.groups = sorted({material.group for material in rules.materials.values()})
        self.families = sorted({material.family for material in rules.materials.values()})
        self.weighed = list(dict.fromkeys(row.when for rows in rules.streams.values() for row in rows if row.when))
        """What conditions of `streams.csv` weigh, with the share that they ask."""
        sound = next(material for material in rules.materials.values() if material.specified)
        self._body = make_part(
            rules,
            "body",
            family=None,
            material=sound,
            attributes={},
            separable=False,
            coded_by_text=True,
            generic=False,
        )

    def number(self, part: Part) -> int:
        """Return the number of a part; a new one is asked of the kernel."""
        key = (alike(Weighed(part, None, None)), part.is_carried)
        if (number_of_key := self._known.get(key)) is None:
            carried = [self.number(part_of_it) for part_of_it in part.carried]
            number_of_key = self._known[key] = self._add(part, carried)
        return number_of_key

    def _add(self, part: Part, carried: list[int]) -> int:
        material = part.material
        kind = (part.component_type, material, part.separable)
        if kind not in self._kinds:
            self._kinds[kind] = self._of_kind(part)
        of_kind = self._kinds[kind]
        if not part.fields.keys().isdisjoint(("colour", "additives")):
            of_kind = of_kind | self._words_of(part)
        self.parts.append(part)
        self.carried.append(carried)
        return self.append(
            type=TYPES.index(part.component_type),
            material=-1 if material is None else self.codes[material.code],
            group=-1 if material is None else self.groups.index(material.group),
            family=-1 if material is None else self.families.index(material.family),
            weightless=part.weightless,
            generic=part.generic,
            hides_layers=material is not None and material.layers_unrecorded,
            **of_kind,
        )

    def _of_kind(self, part: Part) -> dict[str, int]:
        """Return what the kernel says of a part without attributes, by its type, its material and if it comes off."""
        _, *apart = units([Weighed(self._body, 1.0, None), Weighed(part, 1.0, None)], None)
        bare = part._replace(fields={}, carried=())
        counted = [
            sum(weighs_more(_alone(bare, separate), what, 50.0) << bit for bit, (what, _) in enumerate(self.weighed))
            for separate in (False, True)
        ]
        return {
            "form_apart": self._words.forms.index(apart[0].form) if apart else 0,
            "counted": counted[0],
            "counted_apart": counted[1],
            **self._words_of(bare),
        }

    def _words_of(self, part: Part) -> dict[str, int]:
        word, apart = (self._words.word(facts_of(_alone(part, separate))) for separate in (False, True))
        return {"word": word, "word_apart": apart}


def _alone(part: Part, separate: bool) -> Unit:
    return Unit.from_members([Weighed(part, 1.0, None)], None, separate=separate)


_WORDS: Final = {
    name: pl.Enum(VOCABULARIES[name])
    for name in (
        *("component_type", "material_family", "colour", "attachment", "adhesive_type", "ink_type", "coating_type"),
    )
}
_STATUS: Final = pl.Enum(VOCABULARIES["substance_status"])
_TRUTHS: Final = ("separable", "metallised", "direct_print")
_NUMBERS: Final = ("coverage_percent", "density_g_cm3", "thickness_um")
_LINE: Final[dict[str, pl.DataType | type[pl.DataType]]] = {
    "weight_g": pl.Float64,
    "polymer_or_grade": pl.String,
    "additives": pl.List(pl.String),
    **dict.fromkeys(_WORDS, pl.String),
    **dict.fromkeys(_TRUTHS, pl.Boolean),
    **dict.fromkeys(_NUMBERS, pl.Float64),
}
"""What is read of a line of a graph, beside its substances."""
_ADDITIVES: Final = 1024
"""More different sets of additives than a process sees; beyond them the kernel grades."""
_TEXT_FACTS: Final = 2 * (len(VOCABULARIES["colour"]) + 1)
"""What a material text can say beside its material: a colour or none, a metallisation or none."""
_TEXTS: Final = 200_000
"""Distinct texts that are remembered, of materials and of SKUs' columns."""


Frames: TypeAlias = tuple[pl.DataFrame, pl.DataFrame]
"""SKUs, and the lines of their graphs."""


def frames_of(rows: Iterable[Inputs]) -> Frames:
    """Return the SKUs and the lines of their graphs: `sku` is the place of its SKU, `svhc` a status alone."""
    shape = {name: pl.Float64 if name == "weight_grams" else pl.String for name in GRADED_INPUTS}
    stored = pl.DataFrame(list(rows), schema=shape, orient="row", strict=False)
    status = pl.Struct({"status": pl.String})
    line = pl.Struct({**_LINE, "substances": pl.Struct({"svhc": status})})
    graphs = stored.select(
        pl.int_range(pl.len(), dtype=pl.Int64).alias("sku"),
        pl.col("components").str.json_decode(pl.List(line)),
    ).filter(pl.col("components").list.len() > 0)
    lines = graphs.explode("components").unnest("components")
    return (
        stored.with_columns(pl.col("svhc").str.json_decode(status).struct.field("status").alias("svhc")),
        lines.with_columns(pl.col("substances").struct.field("svhc").struct.field("status").alias("svhc")),
    )


class Read(NamedTuple):
    """A row a component (`sku` to `unweighed`), in the order of the SKUs, and a row a SKU (`form` to `outside`).

    `outside` is the number of the reason for which a SKU needs no grade, 0 where there is none.
    """

    sku: Ints
    part: Ints
    grams: Floats
    unweighed: Bools
    form: Ints
    level: Ints
    outside: Ints


class Reader:
    """Reads the frames of a block as numbers by one rule-set."""

    def __init__(self, rules: RuleSet, words: FactWords, parts: Parts) -> None:
        self._rules, self._words, self._parts = rules, words, parts
        self._of_line = _packed(rules)
        self.levels: list[str | None] = []
        self._texts: dict[str, int] = {}
        self._sets_of_texts: dict[str, int] = {}
        self._additives: dict[str, int] = {}
        self._own: dict[tuple[str | None, ...], tuple[int, int, int]] = {}

    def read(self, skus: pl.DataFrame, components: pl.DataFrame) -> Read:
        """Return the frames as numbers."""
        if len(self._own) > _TEXTS:
            self._own.clear()
        own = skus.select("packaging_format", "packaging_level", "use_contexts").iter_rows()
        form, level, outside = (
            np.array([self._own.get(row) or self._of_sku(row) for row in own], np.int64).reshape(-1, 3).T
        )
        return Read(
            sku=components["sku"].to_numpy(),
            part=self._numbers(skus, components),
            grams=components["weight_g"].fill_null(0.0).to_numpy(),
            unweighed=components["weight_g"].is_null().to_numpy(),
            form=form,
            level=level,
            outside=outside,
        )

    def _of_sku(self, row: tuple[str | None, ...]) -> tuple[int, int, int]:
        """Return form, packaging level and the reason why Article 6 asks no grade, by a SKU's own columns."""
        form, level, contexts = row
        record = {
            "packaging_format": form,
            "packaging_level": level,
            "use_contexts": contexts.strip("{}").split(",") if contexts else (),
        }
        meant = packaging_format(record, self._rules)  # type: ignore[arg-type]
        reason = outside_article_6(record, meant)  # type: ignore[arg-type]
        if level not in self.levels:
            self.levels.append(level)
        self._own[row] = (
            self._words.forms.index(meant.form if meant else None),
            self.levels.index(level),
            meaning(reason) if reason else 0,
        )
        return self._own[row]

    def _numbers(self, skus: pl.DataFrame, components: pl.DataFrame) -> Ints:
        """Return the part of each component of these SKUs."""
        keys = self._keys(skus, components)
        row_of: dict[int, int] = {}

        def ask(key: int) -> int:
            if not row_of:
                _, first = np.unique(keys, return_index=True)
                row_of.update(zip(keys[first].tolist(), first.tolist(), strict=True))
            row = components.row(row_of[key], named=True)
            line = {name: value for name, value in row.items() if value is not None and name in _LINE}
            if row["svhc"] is not None:
                line["substances"] = {"svhc": {"status": row["svhc"]}}
            return self._parts.number(part_of(cast(Component, line), skus["svhc"][row["sku"]], self._rules))

        return self._parts.of_columns.numbers(keys, ask)

    def _keys(self, skus: pl.DataFrame, components: pl.DataFrame) -> Ints:
        """Return one number for all columns of a component but its weight: equal numbers are equal parts."""
        try:
            key = components.select(self._of_line).to_series().to_numpy()
            status = skus.select(_place("svhc", _STATUS)).to_series().to_numpy()[components["sku"].to_numpy()]
        except pl.exceptions.InvalidOperationError as unknown:
            raise BeyondArraysError from unknown
        for column, size in (
            (status, len(_STATUS.categories) + 1),
            (_mapped(components["polymer_or_grade"], self._texts, self._material), _materials_and_facts(self._rules)),
            (_mapped(components["additives"].list.join(","), self._sets_of_texts, self._set), _ADDITIVES),
        ):
            key = key * size + column
        return key

    def _material(self, text: str) -> int:
        """Return 0 where a text names nothing, 2 where it is unknown, else a number of its material and facts.

        The material's is 1 where it is no one material, else its code's; the facts are a colour and a metallisation.
        """
        meant = material_of(text, self._rules) if text else None
        if meant is None or meant.code is None:
            return 2 if text else 0
        number = self._parts.codes[meant.code] + 3 if self._rules.materials[meant.code].specified else 1
        colour = meant.facts.get("colour")
        place = 0 if colour is None else VOCABULARIES["colour"].index(str(colour)) + 1
        facts = 2 * place + (1 if meant.facts.get("metallised") else 0)
        return number + (len(self._rules.materials) + 3) * facts

    def _set(self, text: str) -> int:
        """Sort the words of a new text only: sorting those of every row took longer than the rest."""
        ordered = ",".join(sorted(text.split(",")))
        if ordered not in self._additives:
            if len(self._additives) + 2 > _ADDITIVES:
                raise BeyondArraysError
            self._additives[ordered] = len(self._additives) + 1
        return self._additives[ordered]


def _mapped(texts: pl.Series, numbers_by_text: dict[str, int], ask: Callable[[str], int]) -> Ints:
    """Return the number of each text, 0 for null."""
    if len(numbers_by_text) > _TEXTS:
        numbers_by_text.clear()
    distinct = texts.unique().drop_nulls().to_list()
    for text in distinct:
        if text not in numbers_by_text:
            numbers_by_text[text] = ask(text)
    numbers = pl.Series([numbers_by_text[text] for text in distinct], dtype=pl.Int64)
    return texts.replace_strict(distinct, numbers, default=0, return_dtype=pl.Int64).to_numpy()


def _materials_and_facts(rules: RuleSet) -> int:
    return _TEXT_FACTS * (len(rules.materials) + 3)


def _packed(rules: RuleSet) -> pl.Expr:
    """Return the number of what a component gives in columns of few values."""
    columns = [
        *((_place(name, kind), len(kind.categories) + 1) for name, kind in {**_WORDS, "svhc": _STATUS}.items()),
        *(((pl.col(name).cast(pl.Int64) + 1).fill_null(0), 3) for name in _TRUTHS),
        *((_band(name, rules.bands.get(name, ())), 2 * len(rules.bands.get(name, ())) + 2) for name in _NUMBERS),
    ]
    sizes = [size for _, size in columns]
    key = pl.sum_horizontal(column * prod(sizes[:place]) for place, (column, _) in enumerate(columns))
    if prod(sizes) * (len(_STATUS.categories) + 1) * _materials_and_facts(rules) * _ADDITIVES > 1 << 63:
        raise BeyondArraysError
    return key


def _place(name: str, kind: pl.Enum) -> pl.Expr:
    """Return the place of each word in its vocabulary, counted from 1; 0 for null."""
    return (pl.col(name).cast(kind).to_physical().cast(pl.Int64) + 1).fill_null(0)


def _band(name: str, bounds: tuple[float, ...]) -> pl.Expr:
    """Return the band of each number between the bounds, or the bound itself, counted from 1; 0 for null."""
    number = pl.col(name)
    passed = sum(
        ((number >= bound).cast(pl.Int64) + (number > bound).cast(pl.Int64) for bound in bounds), pl.lit(0, pl.Int64)
    )
    return pl.when(number.is_null()).then(0).otherwise(passed + 1)
