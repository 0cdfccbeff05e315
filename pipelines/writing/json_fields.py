"""The fields of a SKU that are stored as text: its arrays, component graph, substances and units placed.

Arrays are Postgres literals, all else is JSON. A graph is replaced whole and compared as text: two graphs are equal
when their texts are. A line has the id of the stored line that is the same part, so that an unchanged graph has an
unchanged text. An entry of a substance stands for the deprecated fields, too, which are read back from it (decisions
§2, §9, §11); `compliance.substances` compares values with limits. Volumes are one object with keys `FR/2026/0` in
sorted order; a patch names the rows that it changes, a null clears a row, and rows that it does not name stay.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Set
from functools import lru_cache
from typing import Final, Literal, cast, get_args

import orjson
from uuid_utils import uuid7

from compliance.ruleset import RuleSet
from compliance.substances import contradiction, implied_status, unit_of_limit
from compliance.weights import total_g
from schemas.fields import COMPONENT_FIELDS
from schemas.issues import Issue
from schemas.messages import Figure, Message
from schemas.normalise import country_of
from schemas.skus.types import Component, FlagFact, LibraryPart, SkuPatch, SubstanceEntry, Substances, VolumeRow
from schemas.vocabularies import SUBSTANCES, Substance

_Legacy = Literal["pfas_intentional", "svhc_declared", "bpa_present", "heavy_metals_sum_ppm"]
LEGACY: Final[Mapping[str, _Legacy]] = {
    "pfas": "pfas_intentional",
    "svhc": "svhc_declared",
    "bpa": "bpa_present",
    "heavy_metals": "heavy_metals_sum_ppm",
}
_Part = Literal["status", "value", "unit", "basis", "source", "evidence"]
PARTS: Final[tuple[_Part, ...]] = get_args(_Part)
"""The keys of an entry, each of which can be an import column: `pfas_status`."""

COLUMNS: Final = frozenset(
    {*LEGACY.values(), "substances_source"} | {f"{substance}_{part}" for substance in SUBSTANCES for part in PARTS}
)
"""Import columns that this module turns into entries."""

_PPM: Final = {"mg_per_kg": 1, "percent_w_w": 10_000, "ppb": 0.001}
"""Each unit in mg/kg, the unit of `heavy_metals_sum_ppm`."""

_PPM_LIMIT: Final = 100.0
"""The bound that `heavy_metals_sum_ppm` reads as where an attestation named no lower one (decisions §11)."""

_KEYS: Final = (*PARTS, "below")


def declared(record: SkuPatch, rules: RuleSet) -> tuple[Substances, list[Issue]]:
    """Return what a record declares of each substance: an entry, None where it clears it, no key where it omits it."""
    substances: Substances = {}
    issues: list[Issue] = []
    sent = record.get("substances", {})
    for substance in SUBSTANCES:
        legacy = LEGACY[substance]
        if sent is None:
            substances[substance] = None
        elif substance in sent:
            entry, fault = _complete(substance, sent[substance], rules)
            issues += [fault] if fault else []
            substances[substance] = entry
        if legacy not in record:
            continue
        implied = _from_legacy(substance, record[legacy], record.get("substances_source") or "imported", rules)
        if substance not in substances:
            substances[substance] = implied
        elif not _agree(substances[substance], implied, substance):
            issues.append(_conflict(substance, legacy))
        elif implied and "below" in implied and (entry := substances[substance]):
            substances[substance] = {**entry, "below": implied["below"]}
    return substances, issues


def declared_in_columns(row: Mapping[str, object], rules: RuleSet) -> tuple[Substances, list[Issue]]:
    """Return the same for one row of import columns; `given:<column>` is whether the cell had a value."""
    record = {name: row[name] for name in row if name in COLUMNS and row[f"given:{name}"]}
    sent: Substances = {}
    issues: list[Issue] = []
    for substance in SUBSTANCES:
        values = {part: record[f"{substance}_{part}"] for part in PARTS if f"{substance}_{part}" in record}
        if all(value is None for value in values.values()):
            if "status" in values or "value" in values:
                sent[substance] = None
            continue
        entry = cast(SubstanceEntry, {"source": record.get("substances_source"), **values})
        status, value = values.get("status"), entry.get("value")
        if value is not None:
            status = status or implied_status(substance, value, entry.get("unit"), entry.get("basis"), rules)
        if status is None:
            field = f"{substance}_status"
            needed = Message(
                "A measured value of {substance} needs a {status} beside it.", substance=substance, status=field
            )
            issues.append(Issue("required", needed, field))
        else:
            entry["status"] = str(status)
        sent[substance] = entry
    entries, faults = declared(cast(SkuPatch, {**record, "substances": sent}), rules)
    return entries, [*issues, *faults]


def _complete(
    substance: Substance, entry: SubstanceEntry | None, rules: RuleSet
) -> tuple[SubstanceEntry | None, Issue | None]:
    """Return the entry with its unit, without nulls, and the fault where its value and its status disagree."""
    if entry is None:
        return None, None
    kept = entry = without_nulls(entry)
    if "value" in entry and (unit := unit_of_limit(substance, entry.get("basis"), rules)) is not None:
        kept = without_nulls({"unit": unit, **entry})
    implied = contradiction(substance, kept, rules)
    if implied is None:
        return kept, None
    sentence = Message(
        "The measured value {value} means {implied}, but the status says {status}; "
        "send the status that the value implies, or leave the value out.",
        value=Figure(kept["value"]),
        implied=implied,
        status=kept.get("status"),
    )
    return kept, Issue("substance_status_contradicts_value", sentence, f"substances.{substance}.status")


def _from_legacy(substance: Substance, value: float | str | None, source: str, rules: RuleSet) -> SubstanceEntry | None:
    if value is None:
        return None
    if substance != "heavy_metals":
        return {"status": "above_limit" if value else "absent", "source": source}
    if isinstance(value, str) and value.startswith("<"):
        below = float(value[1:])  # the limit itself is what an entry without `below` says
        attested: SubstanceEntry = {"status": "below_limit", "source": source}
        return attested if below == _PPM_LIMIT else {**attested, "below": below}
    measured = float(value)
    status = implied_status(substance, measured, "mg_per_kg", None, rules) or "unknown"
    return {"status": status, "value": measured, "unit": "mg_per_kg", "source": source}


def _agree(entry: SubstanceEntry | None, implied: SubstanceEntry | None, substance: Substance) -> bool:
    """Return whether a legacy value beside an entry means the same: reads return it for that entry."""
    if substance == "heavy_metals" and entry and implied and "below" in implied:
        return entry.get("status") == "below_limit" and "value" not in entry
    return legacy_of(substance, entry) == legacy_of(substance, implied)


def _conflict(substance: str, legacy: str) -> Issue:
    sentence = Message(
        "{legacy} and substances.{substance} declare different things; send only substances.{substance}.",
        legacy=legacy,
        substance=substance,
    )
    return Issue("conflicting_declaration", sentence, f"substances.{substance}")


def legacy_of(substance: Substance, entry: SubstanceEntry | None) -> float | str | None:
    """Return the value of a substance's deprecated field."""
    if entry is None:
        return None
    if substance == "heavy_metals":
        if (value := entry.get("value")) is not None:
            return value * _PPM[entry.get("unit") or "mg_per_kg"]
        return f"<{entry.get('below', _PPM_LIMIT):g}" if entry["status"] == "below_limit" else None
    return {"above_limit": True, "absent": False, "below_limit": False}.get(entry["status"])


def entry_text(entry: SubstanceEntry | None) -> str | None:
    """Return the stored form: JSON with the keys in one order and no nulls."""
    if entry is None:
        return None
    return orjson.dumps(without_nulls(entry)).decode()


def without_nulls(entry: SubstanceEntry) -> SubstanceEntry:
    """Return the entry with its keys in one order, without nulls."""
    members: Mapping[str, object] = entry
    return cast(SubstanceEntry, {key: members[key] for key in _KEYS if members.get(key) is not None})


def published_entry(entry: SubstanceEntry | None) -> SubstanceEntry | None:
    """Return the form of reads: every key of the contract, null where nothing was declared."""
    return None if entry is None else cast(SubstanceEntry, {key: entry.get(key) for key in PARTS})


def array_literal(values: Sequence[str] | None) -> str | None:
    """Return codes as Postgres writes an array: {FR,DE}. No code contains a character that needs a quote."""
    return None if values is None else "{" + ",".join(values) + "}"


def array_values(literal: str | None) -> list[str] | None:
    """Return the codes of an array literal; None for null."""
    return None if literal is None else [code for code in literal.strip("{}").split(",") if code]


Pairs = list[tuple[int, int]]
"""Places of a sent and of a stored line that are the same part."""


def matched_ids(sent: Sequence[Component], stored: Sequence[Component]) -> list[str | None]:
    """Return the stored id of each sent line; None for a new one. No id is returned twice.

    The ids that sent lines name are of stored lines, each once (`id_faults`).
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
    lines_by_key: defaultdict[Hashable, list[int]] = defaultdict(list)
    for place in places:
        if (value := key(lines[place])) is not None:
            lines_by_key[value].append(place)
    return lines_by_key


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


_ORDER: Final = tuple(field.name for field in COMPONENT_FIELDS)
_PLACE: Final = {name: place for place, name in enumerate(("id", *_ORDER))}
_BLANK: Final[Mapping[str, None]] = dict.fromkeys(("id", *_ORDER))
_NUMBERS: Final = frozenset(field.name for field in COMPONENT_FIELDS if field.kind == "number")
_REFERENCES: Final = {field.name: field.references for field in COMPONENT_FIELDS if field.references}
_FILLED: Final = tuple(LibraryPart.__annotations__)
"""Fields that a library component fills where the line leaves them out."""


def draft_text(lines: Sequence[Component] | None) -> str:
    """Return the lines that a caller sent as text for the patch; null is the empty graph."""
    return orjson.dumps(list(lines or ())).decode()


def complete_lines(
    draft: str, library: Mapping[str, LibraryPart], rules: RuleSet
) -> tuple[list[Component], list[Issue]]:
    """Return the lines of a draft with library values filled in, in canonical key order and without nulls.

    A line has the id that it names, if any. `library` has the company's own components by id; ids that are not in it
    were rejected before.
    """
    lines: list[Component] = []
    issues: list[Issue] = []
    sent_lines: list[Component] = orjson.loads(draft)
    for number, line in enumerate(sent_lines):
        filled = _with_library_values(line, library)
        if filled.get("material_family") is None:
            issues.append(
                Issue(
                    "required",
                    Message("A component needs a material_family or a component_id that fills it."),
                    f"components[{number}].material_family",
                )
            )
        if (declared := line.get("substances")) is not None:
            kept, faults = _substances(declared, number, rules)
            filled = {**filled, "substances": kept}
            issues += faults
        lines.append(_canonical(filled))
    return lines, issues


def _with_library_values(line: Component, library: Mapping[str, LibraryPart]) -> Mapping[str, object]:
    """Return the line with the library component's values where it gives none itself."""
    if (part := library.get(line.get("component_id") or "")) is None:
        return line
    own: Mapping[str, object] = line
    values: Mapping[str, object] = part
    return {**own, **{name: values[name] for name in _FILLED if own.get(name) is None and values.get(name) is not None}}


def _substances(sent: Substances, number: int, rules: RuleSet) -> tuple[Substances, list[Issue]]:
    entries, faults = declared({"substances": sent}, rules)
    kept: Substances = {name: without_nulls(entry) for name in SUBSTANCES if (entry := entries.get(name)) is not None}
    return kept, [Issue(f.code, f.message, f"components[{number}].{f.field}") for f in faults]


def _canonical(line: Mapping[str, object]) -> Component:
    """Return the given values in canonical order; components of one file mostly give the same fields."""
    values = {
        name: float(cast(float, value)) if name in _NUMBERS else value  # it was validated
        for name in _in_order(tuple(line))
        if (value := line[name]) is not None and value != {}
    }
    return cast(Component, values)


@lru_cache(maxsize=4096)
def _in_order(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(names, key=_PLACE.__getitem__))


def id_faults(lines: Sequence[Component], stored: Sequence[Component]) -> list[Issue]:
    """Return what is wrong with the ids that lines name: each is of a stored line of this SKU, and named once."""
    if not any("id" in line for line in lines):
        return []
    ids, seen, issues = {line["id"] for line in stored}, set[str](), list[Issue]()
    for number, line in enumerate(lines):
        if (line_id := line.get("id")) is None:
            continue
        field = f"components[{number}].id"
        if line_id not in ids:
            sentence = Message("{id} is no component of this SKU; leave the id out for a new one.", id=line_id)
            issues.append(Issue("unknown_reference", sentence, field))
        elif line_id in seen:
            sentence = Message("{id} is named by two components; name it once.", id=line_id)
            issues.append(Issue("duplicate_row", sentence, field))
        seen.add(line_id)
    return issues


def graph_text(lines: Sequence[Component], stored: str | None) -> tuple[str | None, list[Issue]]:
    """Return the canonical text of a graph with the ids of its parts, None for an empty one; and faults of ids."""
    old: list[Component] = orjson.loads(stored) if stored else []
    if len(lines) == len(old) and stored == (same := _text([line["id"] for line in old], lines)):
        return same, []  # as with most lines of a file that is sent again
    if issues := id_faults(lines, old):
        return None, issues
    ids = matched_ids(lines, old) if old else [None] * len(lines)
    return (_text([identity or str(uuid7()) for identity in ids], lines) if lines else None), []


def _text(ids: Sequence[str], lines: Sequence[Component]) -> str:
    return orjson.dumps([{"id": identity, **line} for identity, line in zip(ids, lines, strict=True)]).decode()


def total_weight_g(graph: str | None) -> float | None:
    """Return the sum of the weights in a graph; None where there is no graph or no weight in it."""
    return None if graph is None else total_g(orjson.loads(graph))


def references(draft: str | None) -> list[tuple[str, str, str]]:
    """Return the references of a draft's lines: (table, id, field path)."""
    if draft is None or "_id" not in draft:
        return []
    return [
        (table, str(line[name]), f"components[{number}].{name}")
        for number, line in enumerate(orjson.loads(draft))
        for name, table in _REFERENCES.items()
        if line.get(name) is not None
    ]


def published_line(line: Component) -> Component:
    """Return a line as reads return it: every field of the contract, null where nothing was given."""
    declared = line.get("substances", {})
    entries: Substances = {name: published_entry(declared.get(name)) for name in SUBSTANCES}
    return cast(Component, {**_BLANK, **line, "substances": entries})


def served_market(code: str, served: Set[str]) -> str | None:
    """Return the market that a normalised code counts for; None where neither it nor its country is served."""
    return next((market for market in (code, country_of(code)) if market in served), None)


def not_served(market: str) -> Message:
    """Return what is said of a market that `served_market` does not know."""
    return Message("The catalogue does not serve {market}; GET /jurisdictions lists what it serves.", market=market)


def no_halves(market: str) -> Message:
    """Return what is said of a half of a market that is recorded by the year."""
    return Message("Halves 1 and 2 are for GB only; send 0, the calendar year, for {market}.", market=market)


def volume_key(market: str, year: int, half: int) -> str:
    """Return the key of a row."""
    return f"{market}/{year}/{half}"


def merged_volumes(stored: str | None, patch: str | None) -> str | None:
    """Return the stored rows with those of the patch in their place; None where no row is left."""
    if patch is None:
        return None
    rows = (orjson.loads(stored) if stored else {}) | orjson.loads(patch)
    if None in rows.values():
        rows = {key: units for key, units in rows.items() if units is not None}
    return orjson.dumps(rows, option=orjson.OPT_SORT_KEYS).decode() if rows else None


def merged_flag_facts(stored: str | None, patch: str | None) -> str | None:
    """Return the stored answers with those of the patch, null to take one back; an equal answer keeps who gave it."""
    if patch is None:
        return None
    held: dict[str, FlagFact] = {fact["fact"]: fact for fact in orjson.loads(stored or "[]")}
    for key, sent in orjson.loads(patch).items():
        if sent is None:
            held.pop(key, None)
        elif key not in held or held[key]["answer"] is not sent["answer"]:
            held[key] = sent
    return orjson.dumps([held[key] for key in sorted(held)]).decode() if held else None


def published_volumes(stored: str | None) -> list[VolumeRow]:
    """Return the rows as reads return them, by market, year and half."""
    return [
        {"market": market, "year": int(year), "half": int(half), "units_placed": units}
        for key, units in sorted(orjson.loads(stored or "{}").items())
        for market, year, half in [key.split("/")]
    ]
