"""Matches the lines of a graph that is sent with the stored lines, so that a part keeps its id (decisions §13, Parts).

A line keeps the id that it names. The others are matched by what they are, in this order: equality in every field; the
library component; type, material and polymer or grade; type and material, where one line of each side is left. Several
of one library component or one triple are told apart by `position_in_sku`, then by weight. The order of the lines
decides nothing: what matches nothing is a new line, since another part's id would bring it that part's answers.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Final, cast

import orjson

from schemas.sku import Component

Pairs = list[tuple[int, int]]
"""Places of a sent and of a stored line that are the same part."""


def matched_ids(sent: Sequence[Component], stored: Sequence[Component]) -> list[str | None]:
    """Return the stored id of each sent line; None for a new one. No id is returned twice.

    The ids that sent lines name are of stored lines, each once (`components.id_faults`).
    """
    ids: list[str | None] = [None] * len(sent)
    open_sent, open_stored = dict.fromkeys(range(len(sent))), dict.fromkeys(range(len(stored)))

    def pair(pairs: Pairs) -> None:
        for at, place in pairs:
            ids[at] = stored[place]["id"]
            del open_sent[at], open_stored[place]

    if any("id" in line for line in sent):
        places = {line["id"]: place for place, line in enumerate(stored)}
        pair([(at, places[line["id"]]) for at, line in enumerate(sent) if "id" in line])
    else:
        pair(_equal_at_the_ends(sent, stored))
    for key, tell_apart in _STEPS:
        if not open_sent or not open_stored:
            break
        theirs = _by_key(key, stored, open_stored)
        for value, ours in _by_key(key, sent, open_sent).items():
            if value in theirs:
                pair(tell_apart(sent, ours, stored, theirs[value]))
    return ids


def _equal_at_the_ends(sent: Sequence[Component], stored: Sequence[Component]) -> Pairs:
    """Pair equal lines from the start, then from the end: most of a graph in which one part changed, without keys."""
    most = min(len(sent), len(stored))
    start = next((at for at in range(most) if not _is_equal(sent[at], stored[at])), most)
    rest = range(1, most - start + 1)
    end = next((back - 1 for back in rest if not _is_equal(sent[-back], stored[-back])), most - start)
    last = [(len(sent) - back, len(stored) - back) for back in range(1, end + 1)]
    return [*((at, at) for at in range(start)), *last]


def _is_equal(line: Component, stored: Component) -> bool:
    return {**line, "id": stored["id"]} == stored


def _by_key(
    key: Callable[[Component], Hashable], lines: Sequence[Component], places: Iterable[int]
) -> dict[Hashable, list[int]]:
    """Return the places of lines by key, without those that have none."""
    found: defaultdict[Hashable, list[int]] = defaultdict(list)
    for place in places:
        if (value := key(lines[place])) is not None:
            found[value].append(place)
    return found


def _every_field(line: Component) -> Hashable:
    return orjson.dumps({name: value for name, value in line.items() if name != "id"}, option=orjson.OPT_SORT_KEYS)


def _position(line: Component) -> tuple[bool, int]:
    position = line.get("position_in_sku")
    return position is not None, position or 0


def _every_field_but_position(line: Component) -> Hashable:
    return _every_field(cast(Component, {name: value for name, value in line.items() if name != "position_in_sku"}))


def _library_component(line: Component) -> Hashable:
    return line.get("component_id")


def _triple(line: Component) -> Hashable:
    return line["component_type"], line.get("material_family"), line.get("polymer_or_grade")


def _type_and_material(line: Component) -> Hashable:
    return line["component_type"], line.get("material_family")


def _any(_: Sequence[Component], ours: list[int], __: Sequence[Component], theirs: list[int]) -> Pairs:
    """Pair lines that nothing tells apart: whichever has which id, the parts are the same."""
    return list(zip(ours, theirs, strict=False))


def _only(_: Sequence[Component], ours: list[int], __: Sequence[Component], theirs: list[int]) -> Pairs:
    """Pair the one line of each side; none where there are several."""
    return [(ours[0], theirs[0])] if len(ours) == len(theirs) == 1 else []


def _alike(sent: Sequence[Component], ours: list[int], stored: Sequence[Component], theirs: list[int]) -> Pairs:
    """Pair lines of one kind: the only ones, then by position, then by weight, then the only ones that are left.

    Where lines of the kind were inserted or removed, those behind them may have been numbered anew: if that explains
    them all, their positions do not tell them apart.
    """
    if len(ours) == len(theirs) == 1:
        return [(ours[0], theirs[0])]
    pairs: Pairs = []
    for step in (_numbered_anew, _by_position, _by_equal_weight, _only, _by_weight, _only):
        for at, place in step(sent, ours, stored, theirs):
            pairs.append((at, place))
            ours, theirs = [o for o in ours if o != at], [t for t in theirs if t != place]
        if not ours or not theirs:
            break
    return pairs


def _numbered_anew(sent: Sequence[Component], ours: list[int], stored: Sequence[Component], theirs: list[int]) -> Pairs:
    """Pair lines that differ in their position alone, if all of the side with fewer lines do; else none."""
    if len(ours) == len(theirs):
        return []
    by_fields = _by_key(_every_field_but_position, stored, sorted(theirs, key=lambda at: _position(stored[at])))
    pairs: Pairs = []
    for fields, places in _by_key(
        _every_field_but_position, sent, sorted(ours, key=lambda at: _position(sent[at]))
    ).items():
        pairs += zip(places, by_fields.get(fields, ()), strict=False)
    return pairs if len(pairs) == min(len(ours), len(theirs)) else []


def _once(lines: Sequence[Component], places: list[int], field: str) -> dict[float, int]:
    """Return the places of lines by a number that no other of them has; without those that lack it."""
    values = {place: value for place in places if (value := lines[place].get(field)) is not None}
    counts = Counter(values.values())
    return {value: place for place, value in values.items() if counts[value] == 1}  # type: ignore[misc]


def _by_position(sent: Sequence[Component], ours: list[int], stored: Sequence[Component], theirs: list[int]) -> Pairs:
    return _equal(_once(sent, ours, "position_in_sku"), _once(stored, theirs, "position_in_sku"))


def _by_equal_weight(
    sent: Sequence[Component], ours: list[int], stored: Sequence[Component], theirs: list[int]
) -> Pairs:
    return _equal(_once(sent, ours, "weight_g"), _once(stored, theirs, "weight_g"))


def _equal(ours: dict[float, int], theirs: dict[float, int]) -> Pairs:
    return [(at, theirs[value]) for value, at in ours.items() if value in theirs]


def _by_weight(sent: Sequence[Component], ours: list[int], stored: Sequence[Component], theirs: list[int]) -> Pairs:
    """Pair lines whose weights differ: as many on each side by their rank, else the nearest first.

    Lines that others are as near to are left out: nothing but their order would decide between them.
    """
    left, right = _once(sent, ours, "weight_g"), _once(stored, theirs, "weight_g")
    if len(ours) == len(theirs) == len(left) == len(right):
        return [(left[a], right[b]) for a, b in zip(sorted(left), sorted(right), strict=True)]
    by_distance: defaultdict[float, list[tuple[float, float]]] = defaultdict(list)
    for a in left:
        for b in right:
            by_distance[abs(a - b)].append((a, b))
    pairs: Pairs = []
    for distance in sorted(by_distance):
        near = [(a, b) for a, b in by_distance[distance] if a in left and b in right]
        counts = Counter(side for a, b in near for side in (("sent", a), ("stored", b)))
        pairs += [(left[a], right[b]) for a, b in near if counts["sent", a] == counts["stored", b] == 1]
        for a, b in near:
            left.pop(a, None)
            right.pop(b, None)
    return pairs


_STEPS: Final = (
    (_every_field, _any),
    (_library_component, _alike),
    (_triple, _alike),
    (_type_and_material, _only),
)
"""The kinds of lines that are matched, in their order, each with how several of one kind are told apart."""
