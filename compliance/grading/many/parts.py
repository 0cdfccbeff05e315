"""The parts that were seen, numbered: what the kernel says of each, whatever its weight.

A row is asked of the kernel once, by a unit with that part alone.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Final, cast

import polars as pl

from compliance.grading.assessment import ORDER, rounded_score
from compliance.grading.components import Part, Weighed, alike, make_part
from compliance.grading.firing import CLASS_OF, Facts, facts_of
from compliance.grading.many.keys import Column, Keys, Lists
from compliance.grading.provisional import judge
from compliance.grading.rows import GRADED_INPUTS, Inputs
from compliance.grading.units import Unit, units, weighs_more
from compliance.rule_rows import RuleSet, Value
from schemas.skus.types import Component, Sku
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


TYPES: Final = tuple(sorted(CLASS_OF))
"""The types of parts, by number."""
BODY: Final = TYPES.index("body")
"""The type of a body."""
MATERIALS: Final = 256
"""More than there are materials: a type and a material are one number, `type * MATERIALS + material`."""


class Parts:
    """The table of parts. Columns are named for what `Part` and the functions of the kernel call them."""

    def __init__(self, rules: RuleSet, words: FactWords) -> None:
        self._rules, self._words = rules, words
        self._known: dict[Hashable, int] = {}
        self._kinds: dict[Hashable, _Kind] = {}
        self.parts: list[Part] = []
        self.codes = {code: place for place, code in enumerate(rules.materials)}
        self.groups = sorted({material.group for material in rules.materials.values()})
        self.families = sorted({material.family for material in rules.materials.values()})
        self.weighed = list(dict.fromkeys(row.when for rows in rules.streams.values() for row in rows if row.when))
        """What conditions of `streams.csv` weigh, with the share that they ask."""
        self.type, self.material, self.group, self.family = Column(), Column(), Column(), Column()
        self.form_apart, self.carried = Column(), Lists()
        self.weightless, self.generic, self.hides_layers = Column(), Column(), Column()
        self.word, self.word_apart = Column(), Column()
        self.counted, self.counted_apart = Column(), Column()
        """The bits of `weighed` that count the part, in the body's unit and as a separate one."""
        self.of_columns = Keys()
        sound = next(material for material in rules.materials.values() if material.specified)
        self._body = make_part(
            rules, "body", family=None, material=sound, given={}, separable=False, coded_by_text=True, generic=False
        )

    def number(self, part: Part) -> int:
        """Return the number of a part; a new one is asked of the kernel."""
        key = (alike(Weighed(part, None, None)), part.is_carried)
        if (known := self._known.get(key)) is None:
            carried = [self.number(each) for each in part.carried]
            known = self._known[key] = self._add(part, carried)
        return known

    def _add(self, part: Part, carried: list[int]) -> int:
        material = part.material
        self.parts.append(part)
        self.type.append(TYPES.index(part.component_type))
        self.material.append(-1 if material is None else self.codes[material.code])
        self.group.append(-1 if material is None else self.groups.index(material.group))
        self.family.append(-1 if material is None else self.families.index(material.family))
        self.weightless.append(part.weightless)
        self.generic.append(part.generic)
        self.hides_layers.append(0 if material is None else material.layers_unrecorded)
        self.carried.append(carried)
        key = (part.component_type, part.material, part.separable)
        if key not in self._kinds:
            self._kinds[key] = _Kind(part, self._body, self._words, [what for what, _ in self.weighed])
        kind, told = self._kinds[key], not part.fields.keys().isdisjoint(("colour", "additives"))
        self.form_apart.append(kind.form)
        self.word.append(_word(part, self._words, separate=False) if told else kind.words[0])
        self.word_apart.append(_word(part, self._words, separate=True) if told else kind.words[1])
        self.counted.append(kind.counted[0])
        self.counted_apart.append(kind.counted[1])
        return len(self.parts) - 1


class _Kind:
    """What the kernel says of a part with neither colour nor additives by its type, material and whether it comes off.

    Of each pair the first is for the body's unit, the second for a separate one.
    """

    def __init__(self, part: Part, body: Part, words: FactWords, weighed: list[str]) -> None:
        _, *apart = units([Weighed(body, 1.0, None), Weighed(part, 1.0, None)], None)
        bare = part._replace(fields={}, carried=())
        alone = [Unit.of([Weighed(bare, 1.0, None)], None, separate=separate) for separate in (False, True)]
        self.form = words.forms.index(apart[0].form) if apart else 0
        self.words = [_word(bare, words, separate=separate) for separate in (False, True)]
        self.counted = [sum(weighs_more(unit, what, 50.0) << bit for bit, what in enumerate(weighed)) for unit in alone]


def _word(part: Part, words: FactWords, *, separate: bool) -> int:
    return words.word(facts_of(Unit.of([Weighed(part, 1.0, None)], None, separate=separate)))


SKU_COLUMNS: Final[dict[str, pl.DataType | type[pl.DataType]]] = {
    "material": pl.String,
    "material_subtype": pl.String,
    "packaging_format": pl.String,
    "packaging_level": pl.String,
    "weight_grams": pl.Float64,
    "use_contexts": pl.String,
    "svhc": pl.String,
}
"""A row a SKU: `use_contexts` is Postgres array text, `svhc` the status alone."""
PART_WORDS: Final = (
    "component_type",
    "material_family",
    "colour",
    "attachment",
    "adhesive_type",
    "ink_type",
    "coating_type",
)
PART_TRUTHS: Final = ("separable", "metallised", "direct_print")
PART_NUMBERS: Final = ("coverage_percent", "density_g_cm3", "thickness_um")
COMPONENT_COLUMNS: Final[dict[str, pl.DataType | type[pl.DataType]]] = {
    "sku": pl.UInt32,
    "weight_g": pl.Float64,
    "polymer_or_grade": pl.String,
    "additives": pl.List(pl.String),
    "svhc": pl.String,
    **dict.fromkeys(PART_WORDS, pl.String),
    **dict.fromkeys(PART_TRUTHS, pl.Boolean),
    **dict.fromkeys(PART_NUMBERS, pl.Float64),
}
"""A row a component, in the order of the graphs: `sku` is the place of its SKU, `svhc` the component's own status."""
_LINE: Final = {name: kind for name, kind in COMPONENT_COLUMNS.items() if name not in ("sku", "svhc")}
_STATUS: Final = pl.Struct({"svhc": pl.Struct({"status": pl.String})})


def columns_of(rows: Iterable[Inputs]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return stored rows (`GRADED_INPUTS`) as the two frames."""
    shape = {name: pl.Float64 if name == "weight_grams" else pl.String for name in GRADED_INPUTS}
    stored = pl.DataFrame(list(rows), schema=shape, orient="row", strict=False)
    skus = stored.select(
        *(pl.col(name) for name in SKU_COLUMNS if name != "svhc"),
        pl.col("svhc").str.json_decode(pl.Struct({"status": pl.String})).struct.field("status").alias("svhc"),
    )
    line = pl.Struct({**_LINE, "substances": _STATUS})
    graphs = stored.select(
        pl.int_range(pl.len(), dtype=pl.UInt32).alias("sku"),
        pl.col("components").str.json_decode(pl.List(line)),
    ).filter(pl.col("components").list.len() > 0)
    lines = graphs.explode("components").unnest("components")
    status = pl.col("substances").struct.field("svhc").struct.field("status").alias("svhc")
    return skus, lines.with_columns(status).select(*COMPONENT_COLUMNS)


def with_bodies(skus: pl.DataFrame, components: pl.DataFrame) -> pl.DataFrame:
    """Return the components with the one body that the material of a SKU without a graph implies (step 2).

    Its weight is 1 g or 0: alone, only whether it has one counts.
    """
    bare = skus.with_row_index("sku").filter(
        ~pl.col("sku").is_in(components["sku"].implode())
        & ((pl.col("material").fill_null("") != "") | (pl.col("material_subtype").fill_null("") != ""))
    )
    if bare.is_empty():
        return components
    bodies = bare.select(
        pl.col("sku"),
        (pl.col("weight_grams") > 0).cast(pl.Float64).alias("weight_g"),
        pl.lit("body").alias("component_type"),
        pl.col("material").alias("material_family"),
        pl.col("material_subtype").alias("polymer_or_grade"),
    )
    return pl.concat([components, bodies], how="diagonal").sort("sku", maintain_order=True)


def record_at(skus: pl.DataFrame, lines: Sequence[Component], place: int) -> Sku:
    """Return one SKU of the frames as the kernel takes it."""
    row = skus.row(place, named=True)
    contexts, svhc, weight = row["use_contexts"], row["svhc"], row["weight_grams"]
    return {
        "material": row["material"],
        "material_subtype": row["material_subtype"],
        "packaging_format": row["packaging_format"],
        "packaging_level": row["packaging_level"],
        "weight_grams": weight if weight is None else float(weight > 0),
        "use_contexts": contexts.strip("{}").split(",") if contexts else (),
        "svhc": {"status": svhc} if svhc else None,
        "components": lines,
    }


def line_of(row: Mapping[str, object]) -> Component:
    """Return a row of the components as a line of a graph."""
    given = {name: value for name, value in row.items() if value is not None and name in _LINE}
    if row["svhc"] is not None:
        given["substances"] = {"svhc": {"status": row["svhc"]}}
    return cast(Component, given)


GRADED: Final = pl.Schema(
    {"grade": pl.String, "score": pl.Float64, "provisional": pl.Boolean, "stream": pl.String, "missing": pl.Int64}
)
"""A row a SKU: its answer, the stream of its body's unit, and the bits (`MISSING`) of the kinds of missing facts."""
_KINDS: Final = {**MISSING, "material_subtype": MISSING["polymer_or_grade"], "weight_grams": MISSING["weight_g"]}


def by_the_kernel(skus: pl.DataFrame, components: pl.DataFrame, places: Iterable[int], rules: RuleSet) -> pl.DataFrame:
    """Return `GRADED` of the SKUs at these places."""
    wanted = list(places)
    lines: dict[int, list[Component]] = {place: [] for place in wanted}
    for row in components.filter(pl.col("sku").is_in(wanted)).iter_rows(named=True):
        lines[row["sku"]].append(line_of(row))
    rows = []
    for place in wanted:
        assessed, provisional = judge(record_at(skus, lines[place], place), rules)
        stream = assessed.units[0].stream if assessed.units else None
        missing = {_KINDS[path.rpartition(".")[2]] for path in assessed.missing}
        rows.append((assessed.result.grade, rounded_score(assessed.result.score), provisional, stream, sum(missing)))
    return pl.DataFrame(rows, schema=GRADED, orient="row")
