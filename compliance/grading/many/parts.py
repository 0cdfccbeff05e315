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
        weighed = Weighed(part, 1.0, None)
        _, *apart = units([Weighed(self._body, 1.0, None), weighed], None)
        self.form_apart.append(self._words.forms.index(apart[0].form) if apart else 0)
        for separate, word, counted in (
            (False, self.word, self.counted),
            (True, self.word_apart, self.counted_apart),
        ):
            alone = Unit.of([weighed], None, separate=separate)
            word.append(self._words.word(facts_of(alone)))
            half = [what for what, _ in self.weighed]
            counted.append(sum(weighs_more(alone, what, 50.0) << bit for bit, what in enumerate(half)))
        return len(self.parts) - 1
