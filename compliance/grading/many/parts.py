"""The parts that were seen, numbered: what the kernel says of each, whatever its weight.

A row is asked of the kernel once, by a unit with that part alone.
"""

from collections.abc import Hashable
from typing import Final

from compliance.grading.components import Part, Weighed, alike, make_part
from compliance.grading.firing import CLASS_OF, facts_of
from compliance.grading.many.codes import FactWords
from compliance.grading.many.keys import Column, Keys, Lists
from compliance.grading.units import Unit, units, weighs_more
from compliance.rule_rows import RuleSet

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
