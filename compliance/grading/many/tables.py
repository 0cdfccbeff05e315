"""The tables of one rule-set: faces, outcomes, effects, alternatives and streams, each row asked of the kernel once.

They are kept in the process and start anew when they have grown too large.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from threading import Lock
from typing import Final

import numpy as np

from compliance.grading.firing import CLASS_OF, Effect, Face, Rows, face, open_fields, outcome, weight_counted
from compliance.grading.many.keys import Bools, Columns, Ints, Keys, Lists, meaning
from compliance.grading.many.parts import MATERIALS, MISSING, TYPES, BeyondArraysError, FactWords, Parts, Reader
from compliance.grading.provisional import Alternatives, alternatives, other_parts, trial_values
from compliance.grading.rows import told_of_part
from compliance.grading.units import Unit, fitting_row, lightweight_exemption
from compliance.rule_rows import Rule, RuleSet

BODY_FIELDS: Final = ("additives", "colour")
"""The attributes of a whole body that step 8 tries, by bit."""
_PART_BITS: Final = 26
_HELD_BITS: Final = 8
_FEATURES: Final = 63
_UNKNOWN: Final = -1
_LARGEST: Final = 200_000
"""Parts or faces past which tables start anew."""
_SEATS: Final = 4
"""Seats that take the memory of one part; a part has a seat for each stream that it was met in."""


class Tables:
    """What the kernel said by one rule-set, by numbers."""

    def __init__(self, rules: RuleSet) -> None:
        self.rules = rules
        self.words = FactWords(rules)
        self.parts = Parts(rules, self.words)
        self.reader = Reader(rules, self.words, self.parts)
        self.streams = sorted(rules.targets)
        self.seats, self.shares, self.faces = Seats(self), Shares(self), Faces(self)
        self.effects, self.cases = Effects(self), Cases(self)
        self.stream_rows, self._stream = Keys(), Columns(stream=np.int64, missing=np.int64)
        self.lightweight = Keys()
        self.trials = Keys()
        self.trial_words = Lists()
        if self.words.bits + _PART_BITS > 62 or len(rules.materials) > MATERIALS:
            raise BeyondArraysError

    def full(self) -> bool:
        """Return whether the tables are so large that the next block starts anew."""
        seats = self.seats.count // _SEATS
        return max(self.parts.count, len(self.faces.numbers_of_faces), self.cases.count, seats) > _LARGEST

    def stream(self, groups: Ints, forms: Ints, held: Ints) -> tuple[Ints, Ints]:
        """Return stream (-1 for none) and bits of missing facts of units by group, form and conditions that hold."""
        rows = self.stream_rows.numbers((groups << 32) | (forms << 16) | held, self._ask_stream)
        return self._stream.at("stream", rows), self._stream.at("missing", rows)

    def _ask_stream(self, key: int) -> int:
        group, form, held = key >> 32, key >> 16 & 0xFFFF, key & 0xFFFF
        row = fitting_row(
            self.rules,
            self.parts.groups[group],
            self.words.forms[form],
            lambda what, percent: bool(held >> self.parts.weighed.index((what, percent)) & 1),
        )
        missing = MISSING["packaging_format"] if row is None else 0
        if row is not None and row.stream is None and row.reason == "components":
            missing = MISSING["components"]
        stream = -1 if row is None or row.stream is None else self.streams.index(row.stream)
        return self._stream.append(stream=stream, missing=missing)

    def exempt(self, groups: Ints, levels: Ints) -> Bools:
        """Return whether a body of this group needs no grade at this packaging level; -1 is no group."""
        return self.lightweight.numbers((groups + 1 << 16) | levels, self._ask_exempt) > 0

    def _ask_exempt(self, key: int) -> int:
        group, level = (key >> 16) - 1, self.reader.levels[key & 0xFFFF]
        group_name = None if group < 0 else self.parts.groups[group]
        return int(lightweight_exemption({"packaging_level": level}, group_name) is not None)

    def words_to_try(self, streams: Ints, field: int) -> tuple[Ints, Ints]:
        """Return each value that step 8 tries for an attribute of the body: the unit's place and the bits."""
        lists = self.trials.numbers(streams * len(BODY_FIELDS) + field, self._ask_trials)
        owner, _, bits = self.trial_words.expand(lists)
        return owner, bits

    def _ask_trials(self, key: int) -> int:
        stream, field = self.streams[key // len(BODY_FIELDS)], BODY_FIELDS[key % len(BODY_FIELDS)]
        return self.trial_words.append(
            self.words.of_trial(field, value) for value in trial_values(self.rules, stream, field)
        )


class Seats(Columns):
    """A part in a stream, matched as a type: which facts of its unit its rows ask, and which shares."""

    def __init__(self, tables: Tables) -> None:
        super().__init__(asked=np.int64)
        self._tables, self._keys, self.shares = tables, Keys(), Lists()
        self._seats: list[tuple[str, str, int]] = []

    def numbers(self, streams: Ints, types: Ints, parts: Ints) -> Ints:
        """Return the seat of each part."""
        return self._keys.numbers((streams << 5 | types) << _PART_BITS | parts, self._ask)

    def _ask(self, key: int) -> int:
        tables = self._tables
        part, kind = key & (1 << _PART_BITS) - 1, key >> _PART_BITS
        self._seats.append((tables.streams[kind >> 5], TYPES[kind & 31], part))
        rows = self.face(self.count, 0).rows
        if len(rows.bounded) > _HELD_BITS:
            self._seats.pop()
            raise BeyondArraysError
        self.shares.append(tables.shares.number(rule, rows, by_analogy) for rule, by_analogy in rows.bounded)
        return self.append(asked=sum(tables.words.masks[field] for field in rows.unit))

    def face(self, seat: int, word: int) -> Face:
        """Return the face of a seat in a unit with these facts."""
        tables, (stream, matched, part) = self._tables, self._seats[seat]
        return face(tables.rules, stream, matched, tables.parts.parts[part], tables.words.facts(word))


class Shares(Columns):
    """The shares that bounded rows ask: their bounds, and which types and materials they count."""

    def __init__(self, tables: Tables) -> None:
        super().__init__(low=np.float64, high=np.float64)
        self._tables = tables
        self._known: dict[tuple[object, ...], int] = {}
        self._asking: list[tuple[Rule, Rows, bool]] = []
        self._counted = np.full((64, len(TYPES) * MATERIALS), _UNKNOWN, np.int8)

    def number(self, rule: Rule, rows: Rows, by_analogy: bool) -> int:
        """Return the number of a row's share; rows that count the same have one."""
        scope = CLASS_OF[rows.component_type] if by_analogy else None
        key = (rule, scope, rows.stream, rows.material if rule.share_basis == "code" else None)
        if (number_of_key := self._known.get(key)) is None:
            self._asking.append((rule, rows, by_analogy))
            number_of_key = self._known[key] = self.append(low=rule.low, high=rule.high)
        return number_of_key

    def counted(self, shares: Ints, kinds: Ints) -> Bools:
        """Return whether a share counts parts of a type and material (`type * MATERIALS + material`)."""
        if self.count > len(self._counted):
            more = np.full((self.count, self._counted.shape[1]), _UNKNOWN, np.int8)
            self._counted = np.concatenate([self._counted, more])
        cells = shares * self._counted.shape[1] + kinds
        cells_of_pairs = self._counted.take(cells)
        unknown = cells_of_pairs == _UNKNOWN
        if unknown.any():
            for share, kind in sorted(set(zip(shares[unknown].tolist(), kinds[unknown].tolist(), strict=True))):
                rule, rows, by_analogy = self._asking[share]
                alone = self._tables.faces.alone(kind)
                self._counted[share, kind] = weight_counted(rule, alone, rows, by_analogy, self._tables.rules) > 0
            cells_of_pairs = self._counted.take(cells)
        counted: Bools = cells_of_pairs > 0
        return counted


class Faces:
    """The faces of parts, each numbered once however many parts have it."""

    def __init__(self, tables: Tables) -> None:
        self._tables, self._keys = tables, Keys()
        self.numbers_of_faces: dict[Face, int] = {}
        self.faces: list[Face] = []
        self._alone: dict[int, Unit] = {}

    def numbers(self, seats: Ints, words: Ints) -> Ints:
        """Return the face of each seat in a unit with these facts, of which the seat's rows ask some."""
        to_ask = words & self._tables.seats.at("asked", seats)
        return self._keys.numbers(seats << self._tables.words.bits | to_ask, self._ask)

    def _ask(self, key: int) -> int:
        bits = self._tables.words.bits
        seen = self._tables.seats.face(key >> bits, key & (1 << bits) - 1)
        number = self.numbers_of_faces.setdefault(seen, len(self.faces))
        if number == len(self.faces):
            self.faces.append(seen)
        return number

    def alone(self, kind: int) -> Unit:
        """Return a unit of one gram of this type and material."""
        if kind not in self._alone:
            parts = self._tables.parts
            code = next(code for code, place in parts.codes.items() if place == kind % MATERIALS)
            part = parts.parts[0]._replace(material=self._tables.rules.materials[code], carried=())
            self._alone[kind] = Unit("body", (), [part], [TYPES[kind // MATERIALS]], [1.0], [0], None)
        return self._alone[kind]


class Effects(Columns):
    """The effects that parts have in a stream; limited features are bits, numbered by stream."""

    def __init__(self, tables: Tables) -> None:
        super().__init__(
            removed=np.float64,
            features=np.int64,
            meaning=np.int64,
            **dict.fromkeys(("disqualified", "not_assessed", "unlisted"), np.bool_),
        )
        self._tables = tables
        self._known: dict[tuple[str, Effect], int] = {}
        self._features: dict[str, dict[tuple[str, str | None], int]] = {}

    def number(self, stream: str, effect: Effect) -> int:
        """Return the number of an effect."""
        key = (stream, effect)
        if (number_of_key := self._known.get(key)) is None:
            features = sum(1 << self.feature(stream, feature) for feature in effect.limited)
            row = {**effect._asdict(), "features": features, "meaning": meaning(effect)}
            row.pop("limited")
            number_of_key = self._known[key] = self.append(**row)
        return number_of_key

    def feature(self, stream: str, feature: tuple[str, str | None]) -> int:
        """Return the bit of a limited feature; bit 0 is that of parts that no row lists."""
        numbers_of_feature = self._features.setdefault(stream, {("ANY-011c", None): 0})
        bit = numbers_of_feature.setdefault(feature, len(numbers_of_feature))
        if bit >= _FEATURES:
            raise BeyondArraysError
        return bit


class Cases(Columns):
    """A face with the answers about its shares: its outcome, and what its open facts could change."""

    def __init__(self, tables: Tables) -> None:
        super().__init__(effect=np.int64, reading=np.bool_, open_body=np.int64)
        self._tables, self._keys = tables, Keys()
        self._cases: list[tuple[Face, tuple[bool, ...]]] = []
        self._alternatives, self._effects = Keys(), Lists()
        self._other, self._others = Keys(), Lists()
        self._traces, self._could = Keys(), Keys()

    def numbers(self, faces: Ints, held: Ints) -> Ints:
        """Return the case of each face; `held` are the bits of the bounded rows that hold."""
        return self._keys.numbers(faces << _HELD_BITS | held, self._ask)

    def _ask(self, key: int) -> int:
        tables = self._tables
        seen = tables.faces.faces[key >> _HELD_BITS]
        held = tuple(bool(key >> bit & 1) for bit in range(len(seen.rows.bounded)))
        result = outcome(tables.rules, seen, held)
        body = open_fields(tables.rules, result, seen.rows.component_type)[1]
        if not body <= set(BODY_FIELDS):
            raise BeyondArraysError
        effect = tables.effects.number(seen.rows.stream, result.effect)
        self._cases.append((seen, held))
        return self.append(
            effect=effect,
            reading=result.by_analogy or result.effect.unlisted,
            open_body=sum((field in body) << bit for bit, field in enumerate(BODY_FIELDS)),
        )

    def alternatives(self, case: int) -> Alternatives:
        """Return what the open facts of a case could change."""
        return alternatives(self._tables.rules, *self._cases[case])

    def traces(self, cases: Ints) -> Ints:
        """Return the number of all that a trace says of each case."""

        def ask(case: int) -> int:
            seen, held = self._cases[case]
            return meaning(
                ("told", *told_of_part(self._tables.rules, outcome(self._tables.rules, seen, held), seen.rows))
            )

        return self._traces.numbers(cases, ask)

    def could(self, cases: Ints) -> Ints:
        """Return the number of all that the open facts of each case could change."""

        def ask(case: int) -> int:
            choices = self.alternatives(case)
            effects = frozenset((name, frozenset(effects_of_field)) for name, effects_of_field in choices.by_field)
            return meaning(("could", effects, choices.fields, choices.codes))

        return self._could.numbers(cases, ask)

    def other_effects(self, cases: Ints) -> tuple[Ints, Ints]:
        """Return the other effects that each case could have: its place, and the effect."""

        def ask(case: int) -> int:
            stream = self._cases[case][0].rows.stream
            effects = self.alternatives(case).effects
            return self._effects.append(self._tables.effects.number(stream, effect) for effect in effects)

        owner, _, effects = self._effects.expand(self._alternatives.numbers(cases, ask))
        return owner, effects

    def other_parts(self, cases: Ints, parts: Ints) -> tuple[Ints, Ints]:
        """Return the other parts that each part could be: its place, and the part."""

        def ask(key: int) -> int:
            table, choices = self._tables.parts, self.alternatives(key >> _PART_BITS)
            part = table.parts[key & (1 << _PART_BITS) - 1]
            return self._others.append(
                table.number(other) for _, other in other_parts(part, choices, self._tables.rules)
            )

        owner, _, others = self._others.expand(self._other.numbers(cases << _PART_BITS | parts, ask))
        return owner, others


class _Kept:
    """The tables of a rule-set in this process, and the lock of their use."""

    def __init__(self, rules: RuleSet) -> None:
        self.lock, self.tables = Lock(), Tables(rules)


_kept = lru_cache(maxsize=16)(_Kept)


@contextmanager
def tables_of(rules: RuleSet) -> Iterator[Tables]:
    """Lend the tables of a rule-set to one user at a time; they start anew when too large, or after an exception."""
    kept = _kept(rules)
    with kept.lock:
        if kept.tables.full():
            kept.tables = Tables(rules)
        try:
            yield kept.tables
        except BeyondArraysError:
            raise
        except BaseException:
            kept.tables = Tables(rules)  # a row may be half written
            raise
