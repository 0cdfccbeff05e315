"""Turns the columns of a block into numbers: parts, and what a SKU's own columns decide.

Each distinct row is asked of the kernel once. Numbers become the bands between the rule-set's bounds first, else every
thickness were a part of its own.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Final, Self

import numpy as np
import polars as pl

from compliance.grading.components import part_of
from compliance.grading.many.keys import Bools, Floats, Ints, meaning
from compliance.grading.many.parts import (
    PART_NUMBERS,
    PART_TRUTHS,
    PART_WORDS,
    BeyondArraysError,
    FactWords,
    Parts,
    line_of,
    with_bodies,
)
from compliance.grading.units import outside_article_6, packaging_format
from compliance.rule_rows import RuleSet, Value
from compliance.words import material_of
from schemas.vocabularies import VOCABULARIES

_ENUMS: Final = {name: pl.Enum(VOCABULARIES[name]) for name in PART_WORDS}
_STATUS: Final = pl.Enum(VOCABULARIES["substance_status"])
_ADDITIVES: Final = 1024
"""More different sets of additives than a process sees; beyond them the kernel grades."""
_FACTS: Final = 2 * (len(VOCABULARIES["colour"]) + 1)
"""What a material text can say beside its material: a colour or none, a metallisation or none."""
_TEXTS: Final = 200_000
"""Distinct texts that are remembered, of materials and of SKUs' columns."""


class Coding:
    """The numbers of the columns' values by one rule-set."""

    def __init__(self, rules: RuleSet, words: FactWords, parts: Parts) -> None:
        self._rules, self._words, self._table = rules, words, parts
        self._of_line = _packed(rules)
        self.levels: list[str | None] = []
        self._texts: dict[str, int] = {}
        self._sets_of_texts: dict[str, int] = {}
        self._additives: dict[str, int] = {}
        self._own: dict[tuple[str | None, ...], tuple[int, int, int]] = {}

    def parts(self, components: pl.DataFrame, skus: pl.DataFrame) -> Ints:
        """Return the part of each component of these SKUs."""
        keys = self._keys(components, skus)

        @cache
        def row_of() -> dict[int, int]:
            _, first = np.unique(keys, return_index=True)
            return dict(zip(keys[first].tolist(), first.tolist(), strict=True))

        def ask(key: int) -> int:
            line = components.row(row_of()[key], named=True)
            return self._table.number(part_of(line_of(line), skus["svhc"][line["sku"]], self._rules))

        return self._table.of_columns.numbers(keys, ask)

    def _keys(self, components: pl.DataFrame, skus: pl.DataFrame) -> Ints:
        """Return one number for all columns of a component but its weight: equal numbers are equal parts."""
        try:
            key = components.select(self._of_line).to_series().to_numpy()
            status = skus.select(_place("svhc", _STATUS)).to_series().to_numpy()[components["sku"].to_numpy()]
        except pl.exceptions.InvalidOperationError as unknown:
            raise BeyondArraysError from unknown
        for column, size in (
            (status, len(_STATUS.categories) + 1),
            (self._materials(components["polymer_or_grade"]), _FACTS * (len(self._rules.materials) + 3)),
            (self._sets(components["additives"]), _ADDITIVES),
        ):
            key = key * size + column
        return key

    def _materials(self, texts: pl.Series) -> Ints:
        codes = self._table.codes

        def ask(text: str) -> int:
            """Return 0 where a text names nothing, 2 where it is unknown, else a number of its material and facts.

            The material's is 1 where it is no one material, else its code's.
            """
            found = material_of(text, self._rules) if text else None
            if found is None or found.code is None:
                return 2 if text else 0
            number = codes[found.code] + 3 if self._rules.materials[found.code].specified else 1
            return number + (len(self._rules.materials) + 3) * _facts(found.facts)

        return _mapped(texts, self._texts, ask)

    def _sets(self, additives: pl.Series) -> Ints:
        def ask(text: str) -> int:
            """Sort the words of a new text only: sorting those of every row took longer than the rest."""
            ordered = ",".join(sorted(text.split(",")))
            if ordered not in self._additives:
                if len(self._additives) + 2 > _ADDITIVES:
                    raise BeyondArraysError
                self._additives[ordered] = len(self._additives) + 1
            return self._additives[ordered]

        given = additives.is_not_null()
        found = np.zeros(additives.len(), np.int64)
        if given.any():
            sets = additives.filter(given).list.join(",")
            found[given.to_numpy()] = _mapped(sets, self._sets_of_texts, ask)
        return found

    def own_columns(self, skus: pl.DataFrame) -> tuple[Ints, Ints, Ints]:
        """Return form, packaging level and the reason why Article 6 asks no grade (0 for none), of each SKU."""
        columns = skus.select("packaging_format", "packaging_level", "use_contexts")
        distinct = columns.with_row_index("at").group_by(columns.columns).agg("at")
        if len(self._own) > _TEXTS:
            self._own.clear()
        rows = [self._asked(row) for row in distinct.select(columns.columns).iter_rows()]
        order = distinct["at"].explode().to_numpy()
        found = np.empty((columns.height, 3), np.int64)
        found[order] = np.repeat(np.array(rows, np.int64).reshape(-1, 3), distinct["at"].list.len().to_numpy(), axis=0)
        return found[:, 0], found[:, 1], found[:, 2]

    def _asked(self, row: tuple[str | None, ...]) -> tuple[int, int, int]:
        if row not in self._own:
            form, level, contexts = row
            record = {
                "packaging_format": form,
                "packaging_level": level,
                "use_contexts": contexts.strip("{}").split(",") if contexts else (),
            }
            meant = packaging_format(record, self._rules)  # type: ignore[arg-type]
            levels, reason = self.levels, outside_article_6(record, meant)  # type: ignore[arg-type]
            if level not in levels:
                levels.append(level)
            self._own[row] = (
                self._words.forms.index(meant.form if meant else None),
                levels.index(level),
                meaning(reason) if reason else 0,
            )
        return self._own[row]


def _facts(facts: Mapping[str, Value]) -> int:
    """Return the number of what a text says beside its material, 0 for nothing, below `_FACTS`."""
    colour = facts.get("colour")
    place = 0 if colour is None else VOCABULARIES["colour"].index(str(colour)) + 1
    return 2 * place + (1 if facts.get("metallised") else 0)


def _mapped(texts: pl.Series, known: dict[str, int], ask: Callable[[str], int]) -> Ints:
    """Return the number of each text, 0 for null."""
    if len(known) > _TEXTS:
        known.clear()
    distinct = texts.unique().drop_nulls().to_list()
    for text in distinct:
        if text not in known:
            known[text] = ask(text)
    numbers = pl.Series([known[text] for text in distinct], dtype=pl.Int64)
    return texts.replace_strict(distinct, numbers, default=0, return_dtype=pl.Int64).to_numpy()


def _packed(rules: RuleSet) -> pl.Expr:
    """Return the number of what a component gives in columns of few values."""
    columns = [
        *((_place(name, kind), len(kind.categories) + 1) for name, kind in {**_ENUMS, "svhc": _STATUS}.items()),
        *(((pl.col(name).cast(pl.Int64) + 1).fill_null(0), 3) for name in PART_TRUTHS),
        *((_band(name, rules.bands.get(name, ())), 2 * len(rules.bands.get(name, ())) + 2) for name in PART_NUMBERS),
    ]
    sizes = [size for _, size in columns]
    key = pl.sum_horizontal(column * prod(sizes[:place]) for place, (column, _) in enumerate(columns))
    values = prod(sizes) * (len(_STATUS.categories) + 1) * _FACTS * (len(rules.materials) + 3) * _ADDITIVES
    if values > 1 << 63:
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


@dataclass(frozen=True, slots=True)
class Coded:
    """A row a component (`sku` to `unweighed`), in the order of the SKUs, and a row a SKU (`form` to `has_graph`).

    `outside` is the number of the reason for which a SKU needs no grade, 0 where there is none.
    """

    sku: Ints
    part: Ints
    grams: Floats
    unweighed: Bools
    form: Ints
    level: Ints
    outside: Ints
    has_graph: Bools

    @classmethod
    def of(cls, skus: pl.DataFrame, components: pl.DataFrame, coding: Coding) -> Self:
        """Return these columns as numbers."""
        lines = with_bodies(skus, components)
        form, level, outside = coding.own_columns(skus)
        has_graph = np.zeros(skus.height, np.bool_)
        has_graph[components["sku"].to_numpy()] = True
        return cls(
            sku=lines["sku"].to_numpy().astype(np.int64),
            part=coding.parts(lines, skus),
            grams=lines["weight_g"].fill_null(0.0).to_numpy(),
            unweighed=lines["weight_g"].is_null().to_numpy(),
            form=form,
            level=level,
            outside=outside,
            has_graph=has_graph,
        )

    def __len__(self) -> int:
        return self.form.size

    def blocks(self, size: int) -> Iterator["Coded"]:
        """Yield so many SKUs at a time; `sku` counts from the first of its block."""
        for start in range(0, len(self), size):
            skus = slice(start, start + size)
            lines = slice(*np.searchsorted(self.sku, (start, start + size)))
            yield Coded(
                sku=self.sku[lines] - start,
                part=self.part[lines],
                grams=self.grams[lines],
                unweighed=self.unweighed[lines],
                form=self.form[skus],
                level=self.level[skus],
                outside=self.outside[skus],
                has_graph=self.has_graph[skus],
            )
