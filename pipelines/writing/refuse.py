"""Refuses rows of a write, and warns of others: what cannot be stored, what contradicts itself, what the law forbids.

A row of a file may leave out the name, because an empty cell keeps the stored name; and a components sheet may name a
SKU that is in no other sheet, because it is stored. Neither can create a SKU. The law's rule is in
`compliance.substances`; what only lowers or clears units, no law refuses (decisions §13).
"""

from collections.abc import Collection, Iterator, Sequence
from datetime import date
from functools import lru_cache
from typing import Final, cast

import orjson
import polars as pl

from compliance import grading
from compliance.ruleset import RuleSet
from compliance.substances import UnitlessValue, pfas_food_contact_prohibited, unitless_values
from compliance.weights import unlikely_weight, weight_mismatch
from pipelines.writing import json_fields
from pipelines.writing.patch import Patch, Prepared, RowIssue
from schemas.issues import MAX_COMPONENTS, TOO_MANY_COMPONENTS, Issue
from schemas.messages import Message
from schemas.skus.types import Sku
from schemas.vocabularies import SUBSTANCES
from warehouse.skus.tables import VALUE_COLUMNS, Table

_READ: Final = ("row", "food_contact", "markets", "volumes", "pfas", "components")


def refuse(merged: Table, rules: RuleSet, on: date) -> list[RowIssue]:
    """Return an issue for each row that Article 5(5) of Regulation (EU) 2025/40 forbids on that UTC day."""
    issues: list[RowIssue] = []
    for row, food_contact, markets, units, pfas, graph in merged.rows(_READ):
        if not food_contact or not (pfas or (graph and '"pfas"' in graph)):
            continue
        sentence = pfas_food_contact_prohibited(
            {
                "food_contact": True,
                "markets": json_fields.array_values(markets),
                "volumes": json_fields.published_volumes(units),
                "pfas": orjson.loads(pfas) if pfas else None,
                "components": orjson.loads(graph) if graph else [],
            },
            on=on,
            rules=rules,
        )
        if sentence:
            issues.append(RowIssue(row, Issue("pfas_food_contact_prohibited", sentence, "substances.pfas")))
    return issues


def refuse_write(
    patch: Patch, merged: Table, stored: Table, rules: RuleSet, on: date, *, returning_codes: Collection[str]
) -> list[RowIssue]:
    """Return the same of a write, without the rows that change nothing but units, and raise none of them.

    `merged` has the rows of the patch, `stored` those that are stored, by code. A SKU that comes back from the archive
    by the write (`returning_codes`) is judged like any other.
    """
    issues = refuse(merged, rules, on)
    if not issues or "volumes" not in patch.values:
        return issues
    lowering = _rows_that_lower(patch, merged, stored.where([c not in returning_codes for c in stored["sku_code"]]))
    return [issue for issue in issues if issue.row not in lowering]


def _rows_that_lower(patch: Patch, merged: Table, stored: Table) -> set[int]:
    """Return the rows of stored SKUs that change units alone: some lower or cleared, none higher."""
    columns = [name for name in VALUE_COLUMNS if name in merged and name in stored and name != "volumes"]
    before = {row[0]: row[1:] for row in stored.rows(("sku_code", "volumes", *columns))}
    sent = dict(patch.values.rows(("row", "volumes")))
    rows: set[int] = set()
    for row, code, *after in merged.rows(("row", "sku_code", *columns)):
        was = before.get(code)
        if was is not None and sent[row] is not None and tuple(after) == was[1:] and _only_lowers(was[0], sent[row]):
            rows.add(row)
    return rows


def _only_lowers(stored: str | None, sent: str) -> bool:
    """Return whether the units sent are lower or cleared in some row, and higher in none."""
    held = orjson.loads(stored or "{}")
    steps = [(held.get(key) or 0, units) for key, units in orjson.loads(sent).items()]
    return not any((units or 0) > before for before, units in steps) and any(
        units is None or units < before for before, units in steps
    )


_ONLY_A_GRAPH: Final = {"sku_code", "components"}


def admit(patch: Patch, merged: Table) -> list[RowIssue]:
    """Return a fault for each row that would create a SKU without a name, or store too many components.

    `merged` has the rows of the patch in its order. A graph that a row does not give may be older than the limit.
    """
    issues = []
    if "components" in patch.presence:
        for at, graph in enumerate(patch.values["components"]):
            # Each line is an object: a text with few braces is not parsed.
            if graph and graph.count("{") > MAX_COMPONENTS and len(orjson.loads(graph)) > MAX_COMPONENTS:
                issues.append(RowIssue(merged["row"][at], Issue("out_of_range", TOO_MANY_COMPONENTS, "components")))
    if None in merged["name"]:
        issues += [
            RowIssue(row, _issue(patch, at, code))
            for at, (row, code, name) in enumerate(merged.rows(("row", "sku_code", "name")))
            if name is None
        ]
    return issues


def _issue(patch: Patch, at: int, code: str) -> Issue:
    names = {name for name in patch.presence.names if patch.presence[name][at]}
    if names == _ONLY_A_GRAPH:
        return Issue(
            "unknown_reference", Message("No SKU {code} is in the file or held; add its row.", code=code), "sku_code"
        )
    return nameless(code)


def nameless(code: str) -> Issue:
    """Return the fault of a new SKU that has no name."""
    return Issue("required", Message("{code} is not held yet, and a new SKU needs a name.", code=code), "name")


def judge(merged: Table, rules: RuleSet) -> list[RowIssue]:
    """Return a fault for each value of the rows that is stored without a unit and contradicts its status.

    `merged` has the rows as they would be stored. A value that the write itself sends has its unit by now.
    """
    names: list[str] = [name for name in SUBSTANCES if name in merged and any(merged[name])]
    issues: list[RowIssue] = []
    if not names and not any(merged["components"]):
        return issues
    for row, graph, *texts in merged.rows(("row", "components", *names)):
        if not any('"value"' in text for text in (graph, *texts) if text):
            continue
        entries = {name: orjson.loads(text) for name, text in zip(names, texts, strict=True) if text}
        values = unitless_values(entries, orjson.loads(graph) if graph else [], rules)
        issues += [RowIssue(row, _fault(value, value.implied)) for value in values if value.implied]
    return issues


def _fault(value: UnitlessValue, implied: str) -> Issue:
    whole = value.component_type is None
    sentence = Message(
        "The stored value {value} of {substance} has no unit and is read in the unit of its limit, {unit}: it means "
        "{implied}, but the stored status says {status}. Send the entry again with the unit that was meant, or with "
        "the status that the value implies.",
        value=f"{value.value:.15g}",
        substance=value.substance if whole else f"{value.substance} ({value.component_type})",
        unit=value.unit,
        implied=implied,
        status=value.status,
    )
    field = f"substances.{value.substance}.status" if whole else "components"
    return Issue("substance_status_contradicts_value", sentence, field)


_RETURNED: Final = Message(
    "The SKU was archived and comes back with this write. Archive it again if it is no longer sold; batches and imports"
    " take archived as keep."
)
_READ_FOR_WARNINGS: Final = (
    *("row", "components_weight_g", "weight_grams", "packaging_format", "packaging_level"),
    *("material", "material_subtype", "markets", "components"),
)


def warnings_of(written: Prepared) -> Iterator[RowIssue]:
    """Yield the warnings of the accepted rows of a write, in the order of its rows."""
    sent, rules = sent_volumes(written), written.rules
    for row, parts_g, weight_g, form, level, family, text, markets, graph in written.merged.rows(_READ_FOR_WARNINGS):
        for issue in (
            *weight_warnings(weight_g, parts_g, form, level),
            *(_graph_warnings(family, text, graph, rules) if graph else _material_warnings(family, text, rules)),
            *market_warnings(markets and _codes(markets), sent.get(row)),
        ):
            yield RowIssue(row, issue)
    yield from returned_from_archive(written)


def _graph_warnings(family: str | None, text: str | None, graph: str, rules: RuleSet) -> list[Issue]:
    record = {"material": family, "material_subtype": text, "components": orjson.loads(graph)}
    return grading.warnings(cast(Sku, record), rules)


@lru_cache(maxsize=4096)
def _material_warnings(family: str | None, text: str | None, rules: RuleSet) -> tuple[Issue, ...]:
    """Return the warnings of the material of a SKU without a graph; many SKUs have the same one."""
    return tuple(_graph_warnings(family, text, "[]", rules))


@lru_cache(maxsize=4096)
def _codes(literal: str) -> tuple[str, ...]:
    return tuple(json_fields.array_values(literal) or ())


def returned_from_archive(written: Prepared) -> Iterator[RowIssue]:
    """Yield a warning for each row that brings a SKU back from the archive, or in a dry run would."""
    if written.returned:
        issue = Issue("returned_from_archive", _RETURNED, "sku_code")
        yield from (
            RowIssue(row, issue) for row, code in written.merged.rows(("row", "sku_code")) if code in written.returned
        )


def sent_volumes(written: Prepared) -> dict[int, str]:
    """Return the volumes that a write sends, by row, as `json_fields.merged_volumes` takes them."""
    values = written.patch.values
    return {row: sent for row, sent in values.rows(("row", "volumes")) if sent} if "volumes" in values else {}


def warnings_of_record(sku: Sku, parts_weight_g: float | None, sent: str | None, rules: RuleSet) -> list[Issue]:
    """Return the warnings of one record as it would be stored; `sent` are the volumes that the write gives it."""
    return [
        *weight_warnings(sku["weight_grams"], parts_weight_g, sku["packaging_format"], sku["packaging_level"]),
        *grading.warnings(sku, rules),
        *market_warnings(sku["markets"], sent),
    ]


def weight_warnings(
    stated_g: float | None, parts_g: float | None, packaging_format: str | None, level: str | None
) -> list[Issue]:
    """Return the warnings of a stated weight and the weight of the parts, each null where there is none."""
    issues = (
        weight_mismatch(stated_g, parts_g),
        unlikely_weight(parts_g if stated_g is None else stated_g, packaging_format, level),
    )
    return [issue for issue in issues if issue]


def warns_of_material(values: pl.DataFrame, rules: RuleSet) -> pl.Series:
    """Return for each row of a file whether its own material text would be warned about, if it had no parts."""
    names = [name for name in ("material", "material_subtype") if name in values.columns]
    if "material_subtype" not in names:
        return pl.repeat(value=False, n=values.height, eager=True)
    texts = values.select(names)
    distinct = texts.unique(maintain_order=True)
    warned = [
        bool(_material_warnings(row.get("material"), row["material_subtype"], rules))
        for row in distinct.iter_rows(named=True)
    ]
    rows = texts.join(
        distinct.with_columns(warned=pl.Series(warned, dtype=pl.Boolean)),
        on=names,
        how="left",
        nulls_equal=True,
        maintain_order="left",
    )
    return rows["warned"]


def market_warnings(markets: Sequence[str] | None, volume_patch: str | None) -> tuple[Issue, ...]:
    """Return a warning for each market with volumes that the SKU does not name (decisions §11); it is never refused."""
    if not markets or volume_patch is None:
        return ()
    volumes = orjson.loads(volume_patch)
    if None in volumes.values():
        volumes = {key: units for key, units in volumes.items() if units is not None}
    return _not_named_of(tuple(markets), tuple(volumes))


@lru_cache(maxsize=4096)
def _not_named_of(markets: tuple[str, ...], volume_keys: tuple[str, ...]) -> tuple[Issue, ...]:
    with_units = {key.split("/")[0] for key in volume_keys}
    return tuple(_not_named(code) for code in sorted(with_units.difference(markets)))


@lru_cache(maxsize=1024)
def _not_named(market: str) -> Issue:
    return Issue("market_not_named", Message("The SKU's markets do not name {code}.", code=market), "markets")
