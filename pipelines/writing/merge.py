"""Merges a patch with the stored rows: computes each record after the write, and whether it differs from before.

An omitted field stays, a null clears (interface v1, write semantics). The functions work column by column.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

import polars as pl

from compliance.grading import GRADED_INPUTS, grade_many
from compliance.ruleset import RuleSet
from compliance.weights import are_likely, repeats_sum
from pipelines.writing import json_fields
from pipelines.writing.patch import Library, Patch, RowIssue, TypedPatch, folded_markets
from pipelines.writing.refuse import warns_of_material
from warehouse.operate.sessions import Connection
from warehouse.skus.queries import GRADED_BEFORE, EarlierGrade
from warehouse.skus.store import alike
from warehouse.skus.tables import DERIVED_COLUMNS, VALUE_COLUMNS, Column, Table

_CARRIED: Final = ("id", "version", "created_at", "updated_at", "doc_status", GRADED_BEFORE, *DERIVED_COLUMNS)
_GRADED_BY: Final = ("ruleset_version", "recyclability_grade", "recyclability_score")


def merge(
    patch: Patch,
    stored: Table,
    library: Library,
    rules: RuleSet,
    *,
    renamed: Mapping[str, str] = MappingProxyType({}),
) -> tuple[Table, list[RowIssue]]:
    """Return each row of the patch as it would be stored, with `row` and `outcome` (created, updated, unchanged).

    Its value columns are those of `stored`; the stored `id`, `version`, instants and derived columns are added, null
    where there is no stored row. Faults of a component line are found here, because a library component may fill a
    missing field; the caller rejects such rows, which are in the result too. `renamed` has the new codes of rows.
    """
    places = {code: place for place, code in enumerate(stored["sku_code"])}
    stored_at = [places.get(code) for code in patch.values["sku_code"]]
    in_order = stored_at == list(range(len(stored)))  # as with every single SKU that is stored
    before = {
        name: stored.columns[name] if in_order else _at(stored.columns[name], stored_at)
        for name in (*_CARRIED, *VALUE_COLUMNS)
        if name in stored.columns
    }
    patch, issues = _composed(patch, before, library, rules)
    merged = {name: _merged(patch, name, before[name]) for name in VALUE_COLUMNS if name in before}
    if "weight_grams" in patch.presence:
        merged["weight_grams"] = _stated_weights(merged, before)
    if renamed:
        merged["sku_code"] = [renamed.get(code, code) for code in merged["sku_code"]]
    changed = _changed(merged, before) if places else set()
    outcomes = [
        "created" if place is None else "updated" if at in changed else "unchanged"
        for at, place in enumerate(stored_at)
    ]
    carried: dict[str, Column] = {name: before[name] for name in _CARRIED if name in before}
    if GRADED_BEFORE in carried:
        carried[GRADED_BEFORE] = _previous_grades(before, merged, outcomes, rules)
    return Table({"row": patch.values["row"], **carried, **merged, "outcome": outcomes}), issues


def _at(column: Column, places: list[int | None]) -> Column:
    if not column:
        return [None] * len(places)
    return [None if place is None else column[place] for place in places]


def _merged(patch: Patch, name: str, before: Column) -> Column:
    if name not in patch.presence:
        return before
    presence, values = patch.presence[name], patch.values[name]
    if all(presence):
        return values
    return [value if is_given else old for value, is_given, old in zip(values, presence, before, strict=True)]


def _stated_weights(merged: Mapping[str, Column], before: Mapping[str, Column]) -> Column:
    """Return the weights without those that only repeat the sum of the stored or the sent parts (decisions §13).

    A weight that was stated stays stated: a SKU without one answers the sum of its parts, and written back it would
    stand still when the parts change.
    """
    if not any(merged["components"]) and not any(before["components"]):
        return merged["weight_grams"]
    weights = zip(merged["weight_grams"], before["weight_grams"], strict=True)
    graphs = zip(merged["components"], before["components"], before["components_weight_g"], strict=True)
    return [
        None
        if weight is not None
        and stated is None
        and repeats_sum(weight, stored_sum_g, None if graph == stored else json_fields.total_weight_g(graph))
        else weight
        for (weight, stated), (graph, stored, stored_sum_g) in zip(weights, graphs, strict=True)
    ]


def _changed(merged: dict[str, Column], before: dict[str, Column]) -> set[int]:
    """Return the positions at which some value differs from the stored one."""
    changed: set[int] = set()
    for name, after in merged.items():
        if after != before[name]:
            changed.update(at for at, (new, old) in enumerate(zip(after, before[name], strict=True)) if new != old)
    return changed


def _composed(
    patch: Patch, before: dict[str, Column], library: Library, rules: RuleSet
) -> tuple[Patch, list[RowIssue]]:
    """Return the patch with graphs, volumes and answers as they would be stored: each depends on the stored one."""
    composed: dict[str, list[str | None]] = {}
    issues: list[RowIssue] = []
    if "components" in patch.presence:
        composed["components"], issues = _graphs(patch, before["components"], library, rules)
    if "volumes" in patch.presence:
        rows = zip(patch.values["volumes"], before["volumes"], strict=True)
        composed["volumes"] = [json_fields.merged_volumes(stored, sent) for sent, stored in rows]
    if "flag_facts" in patch.presence:
        rows = zip(patch.values["flag_facts"], before["flag_facts"], strict=True)
        composed["flag_facts"] = [json_fields.merged_flag_facts(stored, sent) for sent, stored in rows]
    return Patch(patch.values.with_columns(composed), patch.presence) if composed else patch, issues


def _graphs(
    patch: Patch, before: list[str | None], library: Library, rules: RuleSet
) -> tuple[list[str | None], list[RowIssue]]:
    """Return each given draft as the canonical text to store, with ids from the stored graph."""
    issues: list[RowIssue] = []
    texts: list[str | None] = []
    for row, draft, stored in zip(patch.values["row"], patch.values["components"], before, strict=True):
        lines, faults = json_fields.complete_lines(draft, library, rules) if draft is not None else ([], [])
        text, id_faults = (None, []) if faults else json_fields.graph_text(lines, stored)
        issues += [RowIssue(row, fault) for fault in (*faults, *id_faults)]
        texts.append(text)
    return texts, issues


def _previous_grades(
    before: Mapping[str, Column], after: Mapping[str, Column], outcomes: Sequence[str], rules: RuleSet
) -> list[EarlierGrade | None]:
    """Return each row's previous grade after a write that changes it from `before` to `after`, graded by `rules`.

    A record has a previous grade as long as the facts that grading reads do not change: the rule-set before never
    graded the changed facts. `warehouse.skus.queries` finds it among the versions; `services.skus.detail` shows it.
    """
    same = [True] * len(outcomes)
    for name in GRADED_INPUTS:
        if after[name] is not before[name]:
            same = [so_far and new == old for so_far, new, old in zip(same, after[name], before[name], strict=True)]
    return [
        stored if outcome == "unchanged" else _after_change(stored, graded, rules) if stays else None
        for outcome, stays, stored, graded in zip(
            outcomes, same, before[GRADED_BEFORE], zip(*(before[n] for n in _GRADED_BY), strict=True), strict=True
        )
    ]


def _after_change(
    stored: EarlierGrade | None, graded: tuple[str | None, str, float | None], rules: RuleSet
) -> EarlierGrade | None:
    """Return the previous grade of a row with the same facts: its own if another rule-set gave it, else the stored."""
    version, grade, score = graded
    if version in (None, rules.version):
        return stored
    return {"ruleset_version": version, "grade": grade, "score": score}


_GRADED: Final = ("recyclability_grade", "recyclability_score", "grade_provisional")


def grade(merged: Table, rules: RuleSet) -> Table:
    """Return the merged rows with their derived columns computed again; unchanged rows keep the stored ones."""
    changed = [outcome != "unchanged" for outcome in merged["outcome"]]
    if not any(changed):
        return merged
    to_grade = merged.where(changed)
    graded = zip(*grade_many(list(to_grade.rows(GRADED_INPUTS)), rules), strict=True)
    computed = {
        **{name: list(values) for name, values in zip(_GRADED, graded, strict=True)},
        "components_weight_g": [json_fields.total_weight_g(graph) for graph in to_grade["components"]],
        "ruleset_version": [rules.version] * len(to_grade),
    }
    if to_grade is merged:
        return merged.with_columns(computed)
    return merged.with_columns({name: _filled(merged[name], changed, values) for name, values in computed.items()})


def _filled(stored: Column, changed: list[bool], computed: Column) -> Column:
    """Return the column with the computed values, in their order, where the row changed."""
    new = iter(computed)
    return [next(new) if is_changed else old for old, is_changed in zip(stored, changed, strict=True)]


SAMPLE_ROWS: Final = 200
"""Rows that are compared to decide about more; no more than these are compared at once, without a sample."""
_WORTHWHILE: Final = 0.5
"""Share of the sample that must be unchanged: below it a comparison of all rows costs more than it saves."""


def no_grades(typed: TypedPatch) -> pl.Series:
    """Return the result of `find` where no row is unchanged."""
    return pl.repeat(None, typed.values.height, dtype=pl.String, eager=True)


def likely(conn: Connection, typed: TypedPatch, rules: RuleSet) -> bool:
    """Return whether so many rows of a sample are unchanged that comparing all rows saves time."""
    every = -(-typed.values.height // SAMPLE_ROWS) or 1
    sampled = TypedPatch(typed.values.gather_every(every), typed.presence.gather_every(every), typed.issues)
    sample = _candidates(conn, sampled, rules)
    if sample.is_empty():
        return False
    likely_skus = alike(conn, sample, sample["sku_code"].to_list())
    return sum(len(places) for _, places in likely_skus) >= _WORTHWHILE * sample.height


def find(conn: Connection, typed: TypedPatch, rules: RuleSet) -> pl.Series:
    """Return for each unchanged row its stored grade; null for a row that the write path must process."""
    grades, candidates = no_grades(typed), _candidates(conn, typed, rules)
    if candidates.is_empty():
        return grades
    codes = candidates["sku_code"].to_list() if candidates.height <= SAMPLE_ROWS else None
    for grade, places in alike(conn, candidates, codes):
        grades = grades.scatter(places, grade)
    return grades


def _candidates(conn: Connection, typed: TypedPatch, rules: RuleSet) -> pl.DataFrame:
    """Return the rows that may be unchanged, in the columns with values, with their position `at` among all rows."""
    columns = [name for name in typed.presence.columns if name != "components" and typed.presence[name].any()]
    return _folded(conn, typed.values.with_row_index("at").filter(_plain(typed, rules)).select("at", *columns))


def _plain(typed: TypedPatch, rules: RuleSet) -> pl.Series:
    """Return which rows give plain values only: no graph, no cleared field, no fault, nothing to warn about."""
    values, presence = typed.values, typed.presence
    unsure = [presence[name] & values[name].is_null() for name in presence.columns]
    unsure.append(values["row"].is_in([row for row, _ in typed.issues]).alias("faulty"))
    if "components" in values.columns:
        unsure.append(values["components"].is_not_null().alias("graph"))
    unsure.append(warns_of_material(values, rules).alias("warned"))
    unsure.append((~are_likely(values)).alias("unlikely"))
    return ~pl.DataFrame(unsure).select(pl.any_horizontal(pl.all())).to_series()


def _folded(conn: Connection, values: pl.DataFrame) -> pl.DataFrame:
    if "markets" not in values.columns:
        return values
    folded = folded_markets(conn, values["markets"].unique())
    return values.with_columns(pl.col("markets").replace(folded)) if folded else values
