"""Makes patches: tables of rows to write, in stored columns, each value with whether it was given at all.

JSON records become a patch by `from_records`, typed import rows by `from_typed`; everything after that is the same for
both. Lists are Postgres array literals; substances, graph and volumes are JSON text: so every column is compared,
copied and merged in the same way.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Self  # Any: a field's kind says its type

import polars as pl

from compliance.ruleset import RuleSet
from pipelines.writing import json_fields
from pipelines.writing.json_fields import array_literal, array_values, draft_text
from schemas import normalise
from schemas.fields import SKU, SKU_FIELDS
from schemas.issues import Issue
from schemas.skus.types import LibraryPart, SkuPatch
from schemas.vocabularies import SUBSTANCES
from warehouse import catalogue, library
from warehouse.operate.sessions import Connection
from warehouse.skus.tables import VALUE_COLUMNS, Table, skus

_ALWAYS: Final = ("sku_code", "name")
"""Columns of every patch, also of one without rows."""


class RowIssue(NamedTuple):
    """A fault or warning of one row of the patch."""

    row: int
    issue: Issue


@dataclass(frozen=True, slots=True)
class Patch:
    """Rows to write. `values` has `row` and stored columns; `presence` has booleans in the same columns but `row`."""

    values: Table
    presence: Table

    @classmethod
    def from_frames(cls, values: pl.DataFrame, presence: pl.DataFrame) -> Self:
        """Return the patch of two frames."""
        return cls(Table.from_frame(values), Table.from_frame(presence))

    def with_volumes(self, units: Mapping[int, str]) -> "Patch":
        """Return the patch with volumes of some rows by their numbers, as `services.skus.write.patch_of` has them."""
        if not units:
            return self
        texts = [units.get(row) for row in self.values["row"]]
        return Patch(
            self.values.with_columns({"volumes": texts}),
            self.presence.with_columns({"volumes": [text is not None for text in texts]}),
        )

    def without(self, rows: Collection[int]) -> "Patch":
        """Return the patch without the rows of these numbers."""
        if not rows:
            return self
        left_out = set(rows)
        kept = [row not in left_out for row in self.values["row"]]
        return Patch(self.values.where(kept), self.presence.where(kept))


def from_records(records: Sequence[tuple[int, SkuPatch]], rules: RuleSet) -> tuple[Patch, list[RowIssue]]:
    """Return the patch of validated records with their row numbers, and the faults that one record has by itself."""
    issues: list[RowIssue] = []
    rows: list[dict[str, object]] = []
    for number, record in records:
        row, faults = _stored(record, rules)
        if faults:
            issues += [RowIssue(number, fault) for fault in faults]
        else:
            rows.append({"row": number, **row})
    names = {*_ALWAYS}.union(*rows)
    columns = [name for name in VALUE_COLUMNS if name in names]
    values = Table({name: [row.get(name) for row in rows] for name in ("row", *columns)})
    return Patch(values, Table({name: [name in row for row in rows] for name in columns})), issues


def _stored(record: SkuPatch, rules: RuleSet) -> tuple[dict[str, object], list[Issue]]:
    """Return one record in stored columns."""
    row: dict[str, object] = {}
    values: Mapping[str, Any] = record  # the kind of a field decides how its value is stored
    for name, value in values.items():
        match SKU[name].kind:
            case "codes" | "markets":
                row[name] = array_literal(None if value is None else list(dict.fromkeys(value)))
            case "components":
                row[name] = draft_text(value)
            case "number":
                row[name] = None if value is None else float(value)
            case _ if name in skus.c:
                row[name] = value
    entries, faults = json_fields.declared(record, rules)
    return {**row, **{name: json_fields.entry_text(entry) for name, entry in entries.items()}}, faults


class TypedPatch(NamedTuple):
    """Typed import rows in stored columns, still as frames, and the faults that one row has by itself."""

    values: pl.DataFrame
    presence: pl.DataFrame
    issues: list[RowIssue]

    def part(self, start: int, stop: int) -> "TypedPatch":
        """Return the rows from position `start` to before `stop`; they keep their numbers."""
        return TypedPatch(self.values[start:stop], self.presence[start:stop], self.issues)


def from_typed(values: pl.DataFrame, presence: pl.DataFrame, rules: RuleSet) -> TypedPatch:
    """Return typed import rows in stored columns; substance columns become entries, once per combination."""
    if "name" not in presence.columns:  # a table of units by code alone
        values = values.with_columns(pl.lit(None, pl.String).alias("name"))
        presence = presence.with_columns(pl.lit(value=False).alias("name"))
    source = [name for name in presence.columns if name in json_fields.COLUMNS]
    plain = [name for name in presence.columns if name in VALUE_COLUMNS]
    if not source:
        return TypedPatch(values.select("row", *plain), presence.select(plain), [])
    flagged = values.select(source).with_columns(presence.select(pl.col(source).name.prefix("given:")))
    combinations = flagged.unique(maintain_order=True)
    declared = [json_fields.declared_in_columns(row, rules) for row in combinations.iter_rows(named=True)]
    entries = combinations.with_columns(
        *(
            pl.Series(name, [json_fields.entry_text(by_name.get(name)) for by_name, _ in declared], pl.String)
            for name in SUBSTANCES
        ),
        *(pl.Series(f"has:{name}", [name in by_name for by_name, _ in declared], pl.Boolean) for name in SUBSTANCES),
        pl.int_range(pl.len()).alias("combination"),
    )
    joined = flagged.join(entries, on=flagged.columns, how="left", nulls_equal=True, maintain_order="left")
    faulty = {number: faults for number, (_, faults) in enumerate(declared) if faults}
    issues = [
        RowIssue(row, fault)
        for row, combination in zip(values["row"], joined["combination"], strict=True)
        for fault in faulty.get(combination, ())
    ]
    return TypedPatch(
        values.select("row", *plain).with_columns(joined.select(SUBSTANCES)),
        presence.select(plain).with_columns(joined.select(pl.col(f"has:{n}").alias(n) for n in SUBSTANCES)),
        issues,
    )


_REFERENCES: Final = {field.name: field.references for field in SKU_FIELDS if field.references}

Library = Mapping[str, LibraryPart]


@dataclass(frozen=True, slots=True)
class _Mention:
    row: int
    table: str
    id: str
    field: str


def resolve(conn: Connection, patch: Patch) -> tuple[Patch, Library, list[RowIssue]]:
    """Return the patch with markets as the catalogue serves them, its library components, and the faults.

    An id of a record that was merged into another one becomes that one's.
    """
    mentions = list(_mentions(patch))
    ids_by_table: dict[str, set[str]] = defaultdict(set)
    for mention in mentions:
        ids_by_table[mention.table].add(mention.id)
    records = {table: library.referred_to(conn, table, ids) for table, ids in ids_by_table.items()}
    issues = [
        RowIssue(
            m.row,
            Issue("unknown_reference", library.not_held(m.id, m.table), m.field),
        )
        for m in mentions
        if m.id not in records[m.table]
    ]
    kept = {m.id: str(dict(records[m.table][m.id])["id"]) for m in mentions if m.id in records[m.table]}
    patch = _renamed(patch, {named: record_id for named, record_id in kept.items() if named != record_id})
    return _fold_markets(conn, patch), records.get("library_components", {}), issues


def _renamed(patch: Patch, ids: Mapping[str, str]) -> Patch:
    columns = [name for name in (*_REFERENCES, "components") if ids and name in patch.values]
    values = {name: [of_kept(text, ids) for text in patch.values[name]] for name in columns}
    return Patch(patch.values.with_columns(values), patch.presence) if values else patch


def of_kept(text: str | None, ids: Mapping[str, str]) -> str | None:
    """Return an id, or the JSON of lines, with the ids of records that stay in place of those merged into them."""
    for named, kept in ids.items() if text else ():
        text = text and text.replace(named, kept)
    return text


def _mentions(patch: Patch) -> Iterable[_Mention]:
    for name, table in _REFERENCES.items():
        if name in patch.values:
            texts = zip(patch.values["row"], patch.values[name], strict=True)
            yield from (_Mention(row, str(table), identity, name) for row, identity in texts if identity is not None)
    if "components" in patch.values:
        for row, draft in zip(patch.values["row"], patch.values["components"], strict=True):
            yield from (_Mention(row, *mention) for mention in json_fields.references(draft))


def _fold_markets(conn: Connection, patch: Patch) -> Patch:
    if "markets" not in patch.values:
        return patch
    folded = folded_markets(conn, patch.values["markets"])
    markets = [folded.get(literal, literal) for literal in patch.values["markets"]]
    return Patch(patch.values.with_columns({"markets": markets}), patch.presence) if folded else patch


def folded_markets(conn: Connection, literals: Iterable[str | None]) -> dict[str | None, str | None]:
    """Return for each array literal that names a subdivision the one to store; most patches name none.

    A subdivision that the catalogue does not serve is stored as its parent.
    """
    with_parts = {literal for literal in literals if literal and "-" in literal}
    if not with_parts:
        return {}
    served = catalogue.served_subdivisions(conn)
    return {old: array_literal(normalise.markets(array_values(old) or [], served)) for old in with_parts}


@dataclass(frozen=True, slots=True)
class Prepared:
    """What a write would do, computed from the rows as they were read.

    `patch`: the requested rows. `merged`: the accepted rows as they would be stored, with `row` and `outcome`; of an
    import's chunk only the columns that it gives and those of `write.prepare`. `errors`: faults of the rejected rows.
    `versions`, `grades_before`: the versions and grades of the stored rows that were read. `rules`: the rule-set that
    graded. `seconds`: the time of each step. `staged`: the changed rows as `store` takes them, once they are in the
    database's staging table. `returned`: the codes of the archived SKUs that the write brings back.
    """

    patch: Patch
    merged: Table
    errors: list[RowIssue]
    versions: dict[str, int]
    grades_before: dict[str, str | None]
    rules: RuleSet
    seconds: dict[str, float]
    staged: Table | None = None
    returned: frozenset[str] = frozenset()

    @property
    def counts(self) -> Counter[str]:
        """Count the rows by outcome: created, updated, unchanged, rejected."""
        counts = Counter(self.merged["outcome"])
        counts["rejected"] = len(self.patch.values) - len(self.merged)
        return counts

    def version_before(self, sku_code: str) -> int | None:
        """Return the version of a SKU that the write met, archived ones included; None for a new SKU."""
        version = self.versions.get(sku_code)
        return version - 1 if version is not None and sku_code in self.returned else version

    @property
    def changes_nothing(self) -> bool:
        """Return whether every accepted row is stored already with the same values."""
        return all(outcome == "unchanged" for outcome in self.merged["outcome"])
