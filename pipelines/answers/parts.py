"""The facts by which a part is known: type, material, polymer or grade, position and weight; and how two differ."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple, cast

from schemas.json_values import JsonMapping
from schemas.sku import Component, PartFacts

FACTS: Final = ("component_type", "material_family", "polymer_or_grade", "position_in_sku", "weight_g")
"""In the order in which they are shown. *Position* is `position_in_sku`, never the place in the list."""
_KIND: Final = ("component_type", "material_family", "polymer_or_grade")


class AskedPart(NamedTuple):
    """A part that was asked about: its id, what it was then (None: not known), what it is now (None: it is gone)."""

    id: str
    asked: PartFacts | None
    now: PartFacts | None

    @property
    def differs(self) -> tuple[str, ...]:
        """Return the facts that are others now; empty where one side is not there to compare."""
        return differences(self.asked, self.now) if self.asked and self.now else ()


def facts_of(line: Component) -> PartFacts:
    """Return the facts of a line, null where they are not recorded."""
    fields: Mapping[str, object] = line
    return cast(PartFacts, {name: fields.get(name) for name in FACTS})


def facts_by_id(lines: Iterable[Component], wanted: Collection[str]) -> dict[str, PartFacts]:
    """Return the facts of the lines of these ids, by id."""
    return {line["id"]: facts_of(line) for line in lines if line["id"] in wanted}


def described(facts: PartFacts) -> str:
    """Return a part in English words: its type, and in brackets its material, position and weight."""
    position, weight = facts["position_in_sku"], facts["weight_g"]
    about = [
        facts["polymer_or_grade"] or facts["material_family"],
        f"position {position}" if position is not None else None,
        f"{weight:g} g" if weight is not None else None,
    ]
    known = ", ".join(filter(None, about))
    return f"{facts['component_type']} ({known})" if known else facts["component_type"]


def differences(asked: PartFacts, now: PartFacts) -> tuple[str, ...]:
    """Return the names of the facts that differ."""
    before, after = cast(Mapping[str, object], asked), cast(Mapping[str, object], now)
    return tuple(name for name in FACTS if before[name] != after[name])


def is_another(asked: PartFacts, now: PartFacts, moved: Sequence[PartFacts] = ()) -> bool:
    """Return whether the part that has the id now is another than the one that was asked about.

    It is where type, material or polymer are recorded for both and differ, where position and weight both are others,
    or where the part that was asked about came to stand under another id (`moved`: what other ids have come to be). A
    fact that was added later, a position or a weight alone may have been corrected.
    """
    before, after = cast(Mapping[str, object], asked), cast(Mapping[str, object], now)
    others = {name for name in differences(asked, now) if None not in (before[name], after[name])}
    return bool(others & set(_KIND)) or {"position_in_sku", "weight_g"} <= others or (asked != now and asked in moved)


def named_ids(kind: str, payload: JsonMapping) -> list[str]:  # stored JSON
    """Return the ids of the parts that an entry of the review queue is about, each once."""
    if kind == "supplier_answer":
        named = [answer["component_id"] for answer in payload.get("components") or ()]
    elif kind == "sku_update":
        lines = payload.get("changes", {}).get("components") or ()
        named = [change["id"] for change in (*(payload.get("component_changes") or ()), *lines) if change.get("id")]
    else:
        named = []
    return list(dict.fromkeys(map(str, named)))
