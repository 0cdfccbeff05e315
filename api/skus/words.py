"""Describes one packaging item in words: fields, parts, substances, grade and versions in the reader's language.

It takes the answer of `GET /skus/{id}` in that language and decides nothing. `schemas.messages` has the words of fields
and codes.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias, cast  # Any: a column's type is its field's

from starlette.requests import Request

from api.audit import words
from api.pages.render import text
from api.skus.form import anchor_of
from compliance.rule_rows import LOWERING_VERDICTS
from schemas.fields import COMPONENT_FIELDS, SKU, SKU_FIELDS, Field
from schemas.json_values import JsonMapping
from schemas.messages import format_word, number, word
from schemas.rules import GradeComponent
from schemas.skus.types import Component, SkuDetail, SkuListItem, SubstanceEntry, Substances
from schemas.vocabularies import SUBSTANCES
from services.audit import Version
from services.review.compare import Change, graph_changes, leaves
from services.skus.listing import COLUMNS
from warehouse.skus.search import SORTS
from warehouse.suppliers import Sold

_SHOWN_APART: Final = frozenset({"sku_code", "name", "description", "substances", "components", "substances_source"})
"""Fields that are shown in sections of their own."""
_NAMED_HERE: Final = frozenset(
    {
        "components",
        "volumes",
        "flag_facts",
        "substances",
        "recyclability_grade",
        "recyclability_score",
        "weight_source",
    }
)
"""What a record has beside the fields of the table `sku`; their names are in the texts of the pages."""
_CODES: Final = {"recyclability_grade": "grade", "weight_source": "weight_source"}
"""Fields whose codes have words in the texts of the pages, with the keys of the words."""


Shown: TypeAlias = dict[str, object]
"""What a template shows, by the names that it uses."""


class Fact(NamedTuple):
    """A field and its value in words; `given` is false where nothing is stored."""

    name: str
    value: str
    is_known: bool


def fact_rows(item: SkuDetail, names: Mapping[str, str], lang: str) -> list[Fact]:
    """Return the fields of the item itself, in the order of the contract."""
    return _facts("sku", SKU_FIELDS, item, names, lang)


def _facts(
    table: str, fields: Sequence[Field], values: Mapping[str, object], names: Mapping[str, str], lang: str
) -> list[Fact]:
    fields_shown = [field for field in fields if field.name not in _SHOWN_APART and not field.deprecated]
    return [
        Fact(_name(table, field, lang), _value(value, field, names, lang), value is not None and value != [])
        for field, value in ((field, values[field.name]) for field in fields_shown)
    ]


def _name(table: str, field: Field, lang: str) -> str:
    """Return a field's name; a reference has the name of its record's kind, as the record's name is shown."""
    if field.references:
        return text(f"item.of.{field.name}", lang)
    return words.field_in_words(table, field.name, field, lang)


def _value(value: object, field: Field, names: Mapping[str, str], lang: str) -> str:
    if field.name == "packaging_format" and isinstance(value, str):
        return format_word(value, lang)
    if field.kind == "uuid":
        return names.get(str(value), words.value_in_words(value, None, lang))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return number(value, lang, digits=6)
    return words.value_in_words(value, "market" if field.kind == "markets" else field.vocabulary, lang)


def part_rows(item: SkuDetail, names: Mapping[str, str], sold: Sequence[Sold], lang: str) -> list[Shown]:
    """Return the components with all facts of each, and the grade's result for it: its share and its effect.

    `sold` are the numbers under which suppliers sell them.
    """
    article = text("item.supplier_article", lang)
    articles = [(each.component_id, Fact(article, f"{each.article} ({each.supplier})", is_known=True)) for each in sold]
    traced = {
        part["component_id"]: part for unit in item["compliance"]["grade_trace"]["units"] for part in unit["components"]
    }
    return [
        {
            "title": word("component_type", line["component_type"], lang),
            "material": word("material_family", str(line["material_family"]), lang),
            "polymer": line["polymer_or_grade"],
            "weight": None if line["weight_g"] is None else number(line["weight_g"], lang, digits=3),
            "share": _share(traced.get(line["id"]), lang),
            "effect": _effect(traced.get(line["id"]), item["recyclability_grade"]),
            "facts": [
                *(fact for fact in _facts("component", COMPONENT_FIELDS, line, names, lang) if fact.is_known),
                *(fact for component_id, fact in articles if component_id == line["id"]),
            ],
            "substances": [substance for substance in substance_rows(line["substances"], lang) if substance["status"]],
        }
        for line in item["components"]
    ]


def _effect(part: GradeComponent | None, grade: str | None) -> str | None:
    """Return a part's effect on the grade; `unknown` instead of `none` for an item without a grade."""
    effect = part["effect"] if part else None
    return "unknown" if effect == "none" and grade == "not_assessed" else effect


def _share(part: GradeComponent | None, lang: str) -> str | None:
    share = part["share_percent"] if part else None
    return None if share is None else number(share, lang, digits=1)


def substance_rows(entries: Substances, lang: str) -> list[Shown]:
    """Return the declaration of each substance; `status` is None where nothing is declared."""
    return [{"name": text(f"substance.{name}", lang), **_substance(entries[name], lang)} for name in SUBSTANCES]


def _substance(entry: SubstanceEntry | None, lang: str) -> Shown:
    if entry is None:
        return {"status": None, "value": None, "source": None, "evidence": None}
    value, source = entry.get("value"), entry.get("source")
    unit = " " + text(f"unit.{entry['unit']}", lang) if entry.get("unit") else ""
    return {
        "status": word("substance_status", entry["status"], lang),
        "value": None if value is None else number(value, lang, digits=6) + unit,
        "source": word("substances_source", source, lang) if source else None,
        "evidence": entry.get("evidence"),
    }


def grade_words(item: SkuDetail, lang: str) -> Shown:
    """Return the grade's trace: formatted figures, and the fired rules grouped by their verdict."""
    trace = item["compliance"]["grade_trace"]
    types = [line["component_type"] for line in item["components"]]
    share, cap = trace["weight_share_percent"], trace["cap"]
    fired = [
        {**rule, "part": word("component_type", part["component_type"], lang), "unit": unit["unit"]}
        for unit in trace["units"]
        for part in unit["components"]
        for rule in part["rules"]
    ]

    def severity(rule: Mapping[str, object]) -> int:
        return LOWERING_VERDICTS.index(str(rule["verdict"]))

    return {
        **trace,
        "reason": words.with_names(trace["reason"], [issue["field"] for issue in trace["missing"]], lang, types),
        "stream_name": trace["stream"] and word("stream", trace["stream"], lang),
        "kept": None if share is None else number(share, lang, digits=1),
        "cap": None if cap is None else number(cap, lang, digits=1),
        "deciding": sorted((rule for rule in fired if rule["verdict"] in LOWERING_VERDICTS), key=severity),
        "assumptions": [
            words.with_names(sentence, sentence.split(" ")[:1], lang, types) for sentence in trace["assumptions"]
        ],
        "others": [rule for rule in fired if rule["verdict"] not in LOWERING_VERDICTS],
    }


def path_in_words(path: str, item: SkuDetail, lang: str) -> str:
    """Return a path of the item in words."""
    return words.path_in_words(path, lang, [line["component_type"] for line in item["components"]])


def gap_anchor(fields: Sequence[str], item: SkuDetail) -> str | None:
    """Return the input of the edit form that a gap's first field is answered in; None where the form has none.

    A field of the parts leads to the first part that lacks it.
    """
    for path in fields:
        name = path.removeprefix("components.")
        if name == path:
            of_item = path in SKU or path == "volumes" or path.startswith("substances.")
            return path if path == "volumes" else anchor_of(path) if of_item else None
        lines: Sequence[Mapping[str, object]] = item["components"]
        lacking = (place for place, line in enumerate(lines) if line.get(name) is None)
        return anchor_of(name, next(lacking, 0)) if item["components"] else "components"
    return None


def version_words(entry: Version, lang: str) -> Shown:
    """Return a version of the record with the fields that it changed: values in words where they are short."""
    before, changed = entry.before, changed_rows(entry.before, entry.after, lang)
    return {
        "version": entry.version,
        "at": entry.at,
        "actor_type": entry.actor_type,
        "actor_name": entry.actor_name,
        "reason": entry.reason and words.reason_in_words(entry.reason, lang),
        "first": before is None,
        "changed": changed,
    }


def changed_rows(before: Mapping[str, object] | None, after: Mapping[str, object], lang: str) -> list[Shown]:
    """Return the changed fields of a record in words, before and after: of parts, units and substances each fact.

    Of a new record parts, units and substances are named alone; of one change at most `MOST_CHANGED` rows are shown.
    """
    rows: list[Shown] = []
    for name, value in after.items():
        if name in SKU and SKU[name].deprecated:
            continue
        if before is not None and name in _BY_FACT:
            rows += _BY_FACT[name](before[name] or (), value or (), lang)
        else:
            now = short_value(before[name] if before else None, name, lang)
            rows.append(_shown(changed_name(name, lang), now, short_value(value, name, lang)))
    return rows[:MOST_CHANGED]


MOST_CHANGED: Final = 60
"""The most rows by which one change is shown."""


def _shown(name: str, now: str | None, then: str | None) -> Shown:
    return {"name": name, "now": now, "then": then}


def _changed_parts(before: Sequence[Component], after: Sequence[Component], lang: str) -> list[Shown]:
    """Return each fact of a part that changed, and each part that came or went."""
    ids = [{line["id"] for line in lines} for lines in (before, after)]
    materials = [line.get("polymer_or_grade") or line.get("material_family") or "" for line in after]
    parts = words.parts_in_words([line["component_type"] for line in after], materials, lang)
    rows = words.change_rows(graph_changes(before, after), parts, lang)
    return [
        *(_shown(row.field, row.now, row.then) for row in rows),
        *(
            _shown(text("item.part", lang), "–", words.part_in_words(line, lang))
            for line in after
            if line["id"] not in ids[0]
        ),
        *(
            _shown(text("item.part", lang), words.part_in_words(line, lang), "–")
            for line in before
            if line["id"] not in ids[1]
        ),
    ]


def _changed_substances(before: Substances, after: Substances, lang: str) -> list[Shown]:
    old, new = (dict(leaves({"substances": entries})) for entries in (before or {}, after or {}))
    changes = [Change(path, old.get(path), new.get(path)) for path in dict.fromkeys((*old, *new))]
    rows = words.change_rows(changes, (), lang)
    return [_shown(row.field, row.now, row.then) for row in rows if row.differs]


def _changed_units(before: Sequence[JsonMapping], after: Sequence[JsonMapping], lang: str) -> list[Shown]:
    old, new = (
        {(row["market"], row["year"], row.get("half") or 0): row["units_placed"] for row in rows}
        for rows in (before, after)
    )
    rows = []
    for key in sorted({*old, *new}):
        if old.get(key) != new.get(key):
            market, year, half = key
            period = f"{year}, {text(f'figures.half.{half}', lang)}" if half else str(year)
            name = f"{changed_name('volumes', lang)}: {word('market', market, lang)}, {period}"
            rows.append(_shown(name, *(words.value_in_words(units.get(key), None, lang) for units in (old, new))))
    return rows


_BY_FACT: Final[Mapping[str, Callable[..., list[Shown]]]] = {
    "components": _changed_parts,
    "substances": _changed_substances,
    "volumes": _changed_units,
}
"""What is shown fact by fact."""


def changed_name(name: str, lang: str) -> str:
    """Return the name of a field of the record in words."""
    if name in _NAMED_HERE:
        return text(f"item.field.{name}", lang)
    return words.field_in_words("sku", name, SKU.get(name), lang)


def short_value(value: object, name: str, lang: str) -> str | None:
    """Return a field's value in words; None for graphs and tables, which would fill the page."""
    if isinstance(value, Mapping) or (isinstance(value, list) and any(isinstance(member, Mapping) for member in value)):
        return None
    if name in _CODES:
        return text(f"{_CODES[name]}.{value}", lang) if value else "–"
    return _value(value, SKU.get(name, Field(name, "text", "")), {}, lang)


USUAL: Final = ("recyclability_grade", "doc_status", "markets")
"""The columns of a list where a person chose none."""

_OWN_NAMES: Final = {
    "recyclability_grade": "review.grade",
    "recyclability_score": "items.column.score",
    "doc_status": "items.doc",
    "markets": "items.markets",
    "brand_id": "item.of.brand_id",
    "created_at": "items.column.created",
    "updated_at": "items.column.updated",
}
"""Columns whose name is no field's."""


def chosen(request: Request) -> tuple[str, ...]:
    """Return the columns that a page's address names, in our order; the usual ones where it names none of ours."""
    names = request.query_params.getlist("columns")
    return tuple(name for name in COLUMNS if name in names) or USUAL


def name_of(column: str, lang: str) -> str:
    """Return a column's name with its unit."""
    if column in _OWN_NAMES:
        return text(_OWN_NAMES[column], lang)
    return words.field_in_words("sku", column, SKU[column], lang)


def choices(lang: str) -> list[tuple[str, str]]:
    """Return all columns with their names."""
    return [(column, name_of(column, lang)) for column in COLUMNS]


def can_sort(column: str) -> bool:
    """Return whether a list can be sorted by the column."""
    return column in SORTS


def in_words(item: SkuListItem, column: str, brands: Mapping[str, str], lang: str) -> str:
    """Return an item's value in words; a dash where nothing is stored."""
    value: Any = cast(Mapping[str, object], item)[column]
    if value is None or value == []:
        return "–"
    if column in ("recyclability_grade", "doc_status"):
        return text(f"{'grade' if column == 'recyclability_grade' else column}.{value}", lang)
    if column == "brand_id":
        return brands.get(str(value), "–")
    if column == "markets":
        return ", ".join(value)
    if column == "packaging_format":
        return format_word(value, lang)
    if column in ("created_at", "updated_at"):
        return str(value)[:10]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return number(value, lang, digits=2 if column == "recyclability_score" else 6)
    return words.value_in_words(value, SKU[column].vocabulary, lang)


def rows_in_words(
    items: Sequence[SkuListItem], columns: Sequence[str], brands: Mapping[str, str], lang: str
) -> list[list[str]]:
    """Return the values of each item in words, in the order of the columns."""
    return [[in_words(item, column, brands, lang) for column in columns] for item in items]
