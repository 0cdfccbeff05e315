"""Reads the rows of a company from Postgres, a part at a time, and turns them into the tables of a snapshot.

A SKU is one row with its graph and volumes as JSON (decision 0003): they are taken apart here, not in Postgres, which
takes four times as long for it. Memory contains one part, however large the company is.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from functools import lru_cache
from io import BytesIO
from typing import Any, Final, NamedTuple, TypeAlias, cast  # Any: a row of the snapshot, before it is a SKU
from uuid import UUID

import orjson
import polars as pl

from compliance import annex_v
from compliance.grading import GRADED_INPUTS, judged_rows
from compliance.rollup.parts import COMPONENT_COLUMNS, SKU_COLUMNS, VOLUME_COLUMNS
from compliance.rule_rows import RuleSet
from compliance.scopes import FIRST_YEAR_IN_EFFECT
from compliance.words import resolve_material
from schemas.skus.types import Component, Sku
from schemas.vocabularies import SUBSTANCES
from warehouse.operate.copying import NULL, parse_csv
from warehouse.operate.sessions import Connection
from warehouse.skus.queries import COVERED_ALL
from warehouse.skus.tables import STORED_COLUMNS, resting

ARCHIVED: Final = "archived"
"""The column of all three tables that marks the rows of archived SKUs, which only figures read."""
FLAG: Final = pl.Struct({"code": pl.String(), "certainty": pl.String(), "applies_from": pl.Date(), "text": pl.String()})
"""A format ban that the SKU meets or may meet, in the words of the active rules (`compliance.annex_v`)."""
_Bans: TypeAlias = tuple[tuple[tuple[str, str, date, str], ...], tuple[str, ...]]
"""The values of each flag of a SKU, and the fields without which no other ban can be ruled out."""
STATUSES: Final = {f"{substance}_status": pl.String() for substance in SUBSTANCES}

JUDGED: Final = {"stream": pl.String(), "rules": pl.List(pl.String()), "exempt": pl.Boolean()}
"""What the active rules say of a SKU besides its grade."""
SKUS: Final = pl.Schema(
    {
        "id": pl.String(),
        **SKU_COLUMNS,
        "name": pl.String(),
        "components_weight_g": pl.Float64(),
        "recycled_content_percent": pl.Float64(),
        "food_contact": pl.Boolean(),
        "gtin": pl.String(),
        "ppwr_role": pl.String(),
        "product_category": pl.String(),
        "brand_id": pl.String(),
        "manufacturing_site_id": pl.String(),
        "packing_site_id": pl.String(),
        "markets": pl.List(pl.String()),
        "markets_in_effect": pl.List(pl.String()),
        "minimisation_assessed": pl.Boolean(),
        **STATUSES,
        "recyclability_grade": pl.String(),
        "recyclability_score": pl.Float64(),
        "grade_provisional": pl.Boolean(),
        "ruleset_version": pl.String(),
        "doc_status": pl.String(),
        "flags": pl.List(FLAG),
        "annex_v_undecided": pl.List(pl.String()),
        "texts_unread": pl.List(pl.String()),
        **JUDGED,
        "import_id": pl.String(),
        "updated_at": pl.Datetime("us", "UTC"),
    }
)
COMPONENTS: Final = pl.Schema(
    {
        "id": pl.String(),
        **COMPONENT_COLUMNS,
        ARCHIVED: pl.Boolean(),
        "recycled_content_percent": pl.Float64(),
        "thickness_um": pl.Float64(),
        "supplier_id": pl.String(),
        **STATUSES,
    }
)
VOLUMES: Final = pl.Schema({**VOLUME_COLUMNS, ARCHIVED: pl.Boolean()})

_OF_SKUS: Final = ", ".join(f"{{source}}.{column.name}" for column in STORED_COLUMNS)
_HELD: Final = f"""(
    SELECT {_OF_SKUS.format(source="held")}, false AS archived FROM skus AS held
    UNION ALL
    SELECT {_OF_SKUS.format(source="last")}, true FROM {resting()} WHERE last.volumes IS NOT NULL
) AS skus"""
"""The SKUs of the session's company, and those of its archived ones of which units were placed on a market."""
ROWS: Final = f"""
SELECT skus.id, sku_code, material, material_subtype, weight_grams, packaging_format, reusable,
       reuse_deposit_system, name, components_weight_g, recycled_content_percent, food_contact, gtin,
       packaging_level, ppwr_role, product_category, brand_id, manufacturing_site_id, packing_site_id,
       array_to_json(markets) AS markets, array_to_json(use_contexts) AS use_contexts, minimisation_assessed,
       {", ".join(f"{substance} ->> 'status' AS {substance}_status" for substance in SUBSTANCES)},
       recyclability_grade, recyclability_score, grade_provisional, ruleset_version,
       coalesce(covered.doc_status, 'missing') AS doc_status, import_id,
       (extract(epoch FROM greatest(updated_at, covered_at)) * 1000000)::bigint AS updated_at, components, volumes,
       svhc, flag_facts, archived
FROM {_HELD}{COVERED_ALL}"""
"""Those SKUs on the UTC day `today`, each with its graph and volumes as they are stored."""
NAMED_ROWS: Final = f"{ROWS} WHERE skus.id = ANY(%(ids)s::uuid[])"
"""Those of them with the `ids`."""

COUNTED: Final = """
SELECT links, coalesce(encode(chain_hash, 'hex'), ''), skus, links - unrelated_links FROM company_counters"""
"""The last link of the session's company's audit chain, its hash, how many SKUs, and how many writes change figures.

No row for no company.
"""
HOLDS_UNTIL: Final = """
SELECT least(
    min(issued_on) FILTER (WHERE issued_on > %(today)s), min(expires_on + 1) FILTER (WHERE expires_on >= %(today)s)
)
FROM docs WHERE status = 'valid'"""
"""The first day on which a DoC begins or ceases to be valid without any write; null where there is none."""


_OF_BANS: Final = ("flags", "annex_v_undecided")
_FACE: Final = (
    "packaging_level",
    "reusable",
    "use_contexts",
    "packaging_format",
    "product_category",
    "flag_facts",
    "additives",
)
"""What bans ask for besides markets and layers: the same for many SKUs. `product_category` is null but where it
excludes a ban. `additives` are those of the body's components, a sorted text as `a|b`, null where there are none."""
_BETWEEN: Final = "|"
"""Stands between the markets of a SKU where they are one text."""
_WHO_AND_WHEN: Final = r',"by":(?:null|"(?:[^"\\]|\\.)*"),"at":"[^"]*"'
"""The members of a stored answer to a fact that decide nothing; SKUs with the same answers are judged once."""
_LAYER: Final = ("component_type", "material_family", "polymer_or_grade", "separable", "thickness_um")


def flags(skus: pl.DataFrame, components: pl.DataFrame, rules: RuleSet) -> list[pl.Series]:
    """Return `flags` and `annex_v_undecided` of each SKU by the active rules, as a read of it shows them.

    `components` are theirs. `use_contexts` and `components` of a SKU are JSON texts; a component has a list of
    `additives` besides the columns of a snapshot. Markets are those in effect. The body's layers matter only for SKUs
    in the Union whose face a ban concerns.
    """
    category = pl.col("product_category")
    deciding = [text for text in skus["product_category"].unique() if text and annex_v.excluded_facts(text, rules)]
    skus = skus.with_columns(
        pl.col("markets_in_effect").list.join(_BETWEEN).alias("markets"),
        pl.col("flag_facts").str.replace_all(_WHO_AND_WHEN, ""),
        pl.when(category.is_in(deciding)).then(category).alias("product_category"),
    )
    skus = skus.join(_additives(components), on="sku_code", how="left", maintain_order="left")
    rows = skus.with_row_index("place").join(_concerned(skus, rules), on=("markets", *_FACE), nulls_equal=True)
    layers = components.filter(pl.col("component_type").is_in(annex_v.LAYERS)).select(
        "sku_code", "position", *_LAYER, "weight_g"
    )
    lines = layers.join(rows.select("place", "sku_code"), on="sku_code")
    several = lines.filter(pl.len().over("place") > 1).sort("place", "position")
    bodies = _bodies(rows, lines, several)
    distinct = bodies.select(*_FACE, *_LAYER).unique()
    judged = [_judged_body(body, rules) for body in distinct.iter_rows()]
    flags_of_bodies = bodies.join(distinct.with_columns(*_columns(judged)), on=(*_FACE, *_LAYER), nulls_equal=True)
    all_found = pl.concat([flags_of_bodies.select("place", *_OF_BANS), _one_by_one(rows, several, rules)])
    placed = skus.with_row_index("place").select("place").join(all_found, on="place", how="left", maintain_order="left")
    nothing = (pl.col(name).fill_null(pl.lit([], dtype=SKUS[name])) for name in _OF_BANS)
    return placed.select(nothing).get_columns()


def _concerned(skus: pl.DataFrame, rules: RuleSet) -> pl.DataFrame:
    """Return the combinations of markets and faces that a ban may concern."""
    markets, faces = skus.select("markets").unique(), skus.select(_FACE).unique()
    inside = [annex_v.may_be_in_the_union(text.split(_BETWEEN) if text else None) for text in markets.to_series()]
    spoken_of = [annex_v.depend_on_body(_record(face), rules) for face in faces.to_dicts()]
    return markets.filter(pl.Series(inside)).join(faces.filter(pl.Series(spoken_of)), how="cross")


def _additives(components: pl.DataFrame) -> pl.DataFrame:
    """Return the additives of each SKU that has some on a body component."""
    with_additives = components.filter(pl.col("component_type") == "body", pl.col("additives").list.len() > 0)
    together = pl.col("additives").explode().unique().sort().str.join("|")
    return with_additives.group_by("sku_code").agg(together)


def _bodies(rows: pl.DataFrame, lines: pl.DataFrame, several: pl.DataFrame) -> pl.DataFrame:
    """Return the SKUs with the one layer of their body, null without a body, except SKUs whose body has several."""
    has_graph = pl.col("components").is_not_null()
    own = rows.filter(~has_graph).select(
        "place",
        *_FACE,
        pl.when(pl.any_horizontal(pl.col("material", "material_subtype").is_not_null()))
        .then(pl.lit("body"))
        .alias("component_type"),
        pl.col("material").alias("material_family"),
        pl.col("material_subtype").alias("polymer_or_grade"),
        pl.lit(None, pl.Boolean).alias("separable"),
        pl.lit(None, pl.Float64).alias("thickness_um"),
    )
    graphs = rows.filter(has_graph).join(several, on="place", how="anti").select("place", *_FACE)
    return pl.concat([own, graphs.join(lines.select("place", *_LAYER), on="place", how="left")])


def _one_by_one(rows: pl.DataFrame, several: pl.DataFrame, rules: RuleSet) -> pl.DataFrame:
    """Judge the SKUs whose bodies have several layers, where the weights decide."""
    faces = {face["place"]: face for face in rows.select("place", *_FACE).to_dicts()}
    graphs: dict[int, list[Component]] = {}
    for line in several.to_dicts():
        graphs.setdefault(line["place"], []).append(cast(Component, line))
    flags_here = [_judged(faces[place], graph, rules) for place, graph in graphs.items()]
    return pl.DataFrame([pl.Series("place", list(graphs), dtype=pl.UInt32), *_columns(flags_here)])


def _columns(judged: Sequence[_Bans]) -> list[pl.Series]:
    """Return the columns of bans: of many SKUs there are few different ones, and nested values are slow to make."""
    names = [field.name for field in FLAG.fields]
    kinds = {bans: place for place, bans in enumerate(dict.fromkeys(judged))}
    flags_of_kinds = [[dict(zip(names, flag, strict=True)) for flag in flags] for flags, _ in kinds]
    columns = (
        pl.Series("flags", flags_of_kinds, dtype=SKUS["flags"]),
        pl.Series("annex_v_undecided", [list(fields) for _, fields in kinds], dtype=SKUS["annex_v_undecided"]),
    )
    places = [kinds[bans] for bans in judged]
    return [column.gather(places) for column in columns]


@lru_cache(maxsize=32_768)
def _judged_body(body: tuple[Any, ...], rules: RuleSet) -> _Bans:
    """Judge a body of one layer or none, the values of `_FACE` and `_LAYER`: other parts and writes have it too."""
    values = dict(zip((*_FACE, *_LAYER), body, strict=True))
    return _judged(values, [cast(Component, values)] if values["component_type"] else [], rules)


def _judged(face: Mapping[str, Any], components: list[Component], rules: RuleSet) -> _Bans:
    record = _record(face, components)
    found = tuple(
        (ban.code, "depends" if open_facts else "certain", ban.applies_from, ban.flag_text)
        for ban, open_facts in annex_v.bans(record, rules)
    )
    return found, annex_v.undecided(record, rules)


def _record(face: Mapping[str, Any], layers: Sequence[Component] = ({"component_type": "body"},)) -> Sku:
    """Return a record of a face in the Union with these layers; body layers have the additives of all bodies."""
    contexts, additives = face["use_contexts"], face["additives"].split("|") if face["additives"] else []
    return {
        "packaging_level": face["packaging_level"],
        "reusable": face["reusable"],
        "packaging_format": face["packaging_format"],
        "product_category": face["product_category"],
        "use_contexts": orjson.loads(contexts) if contexts else [],
        "flag_facts": orjson.loads(face["flag_facts"] or "[]"),
        "components": [
            {**line, "additives": additives} if line["component_type"] == "body" else line for line in layers
        ],
    }


PART_SKUS: Final = 10_000
"""The most SKUs of a part, which one write has to read and write again."""
PART_BYTES: Final = 64 * 2**20
"""The size of text at which a part of large graphs ends, about."""
_LINE: Final = pl.List(
    pl.Struct(
        {
            "id": pl.String(),
            "component_type": pl.String(),
            "material_family": pl.String(),
            "polymer_or_grade": pl.String(),
            "weight_g": pl.Float64(),
            "separable": pl.Boolean(),
            "recycled_content_percent": pl.Float64(),
            "thickness_um": pl.Float64(),
            "supplier_id": pl.String(),
            "additives": pl.List(pl.String()),
            "substances": pl.Struct({name: pl.Struct({"status": pl.String()}) for name in SUBSTANCES}),
        }
    )
)
_VOLUME: Final = r'"([^"/]*)/(-?\d+)/(-?\d+)": ?(-?\d+)'
"""One member of the stored object: market, year, half, units; what cannot be is read too, for the checks to find."""
_OF_SKU: Final = ("sku_code", "position", "archived")
"""The columns of a component that are not its own."""
_LISTS: Final = ("markets", "use_contexts")
_GRAPHS: Final = ("components", "volumes")
_MADE_HERE: Final = (*_OF_BANS, *JUDGED, "texts_unread", "markets_in_effect")
"""The columns that are made here and not read from Postgres: by the active rules, and by markets and volumes."""
_TYPES: Final = {
    **{name: kind for name, kind in SKUS.items() if name not in _MADE_HERE},
    **dict.fromkeys((*_LISTS, *_GRAPHS, "svhc", "flag_facts"), pl.String()),
    "updated_at": pl.Int64(),
}


class Tables(NamedTuple):
    """Some SKUs with all their components and volumes, in the columns of a snapshot."""

    skus: pl.DataFrame
    components: pl.DataFrame
    volumes: pl.DataFrame


NOTHING: Final = Tables(SKUS.to_frame(), COMPONENTS.to_frame(), VOLUMES.to_frame())


def tables(conn: Connection, today: date, rules: RuleSet, ids: Sequence[UUID] | None = None) -> Iterator[Tables]:
    """Yield the company's SKUs, or those with these ids, in parts.

    DoC statuses are those of the UTC day, flags those of the active rule-set.
    """
    query = ROWS if ids is None else NAMED_ROWS
    for rows in parts(conn, query, {"today": today, "ids": None if ids is None else list(ids)}, _TYPES):
        components = components_of(rows)
        archived = rows.select("sku_code", "archived")
        volumes = volumes_of(rows).join(archived, on="sku_code", maintain_order="left").select(VOLUMES.names())
        placed = _with_unread(_in_effect(rows, volumes), components, rules)
        instant = pl.from_epoch("updated_at", "us").dt.replace_time_zone("UTC")
        lists = [pl.col(name).str.json_decode(pl.List(pl.String())) for name in _LISTS]
        by_rules = (*flags(placed, components, rules), *_judged_rows(placed, rules))
        skus = placed.with_columns(*by_rules, *lists, instant).select(SKUS.names())
        yield Tables(skus, components.select(COMPONENTS.names()), volumes)


def _in_effect(rows: pl.DataFrame, volumes: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with `markets_in_effect`, as `compliance.scopes` defines it; a test holds both together."""
    placed = (
        volumes.filter(pl.col("year") >= FIRST_YEAR_IN_EFFECT, pl.col("units_placed") > 0)
        .group_by("sku_code")
        .agg(pl.col("market").alias("placed"))
    )
    declared = pl.col("markets").str.json_decode(pl.List(pl.String()))
    both = pl.concat_list(declared.fill_null([]), pl.col("placed").fill_null([]))
    return (
        rows.join(placed, on="sku_code", how="left", maintain_order="left")
        .with_columns(both.list.unique().list.sort().alias("markets_in_effect"))
        .drop("placed")
    )


def _with_unread(rows: pl.DataFrame, components: pl.DataFrame, rules: RuleSet) -> pl.DataFrame:
    """Return the rows with `texts_unread`: material texts of the SKU and its parts that the rules do not know."""
    texts = pl.concat(
        [
            components.select("sku_code", text="polymer_or_grade"),
            rows.select("sku_code", text="material_subtype"),
        ]
    ).filter(pl.col("text") != "")
    unread = [text for text in texts["text"].unique() if resolve_material(text, rules) is None]
    by_sku = texts.filter(pl.col("text").is_in(unread)).group_by("sku_code").agg(pl.col("text").unique().sort())
    return rows.join(by_sku, on="sku_code", how="left", maintain_order="left").with_columns(
        pl.col("text").fill_null([]).alias("texts_unread")
    )


def _judged_rows(rows: pl.DataFrame, rules: RuleSet) -> list[pl.Series]:
    """Return the stream of each SKU, the design rules that fired on it, and whether it is exempt; equal ones once.

    Contexts are JSON here, for the rules an array's text.
    """
    contexts = pl.col("use_contexts").str.replace_all('"', "", literal=True).str.strip_chars("[]")
    has_weight = pl.col("weight_grams").sign()  # of a weight a grade depends on no more
    graded = rows.with_columns(has_weight, (pl.lit("{") + contexts + pl.lit("}")).alias("use_contexts")).select(
        GRADED_INPUTS
    )
    distinct = graded.unique(maintain_order=True)
    of_distinct = [(stream, list(fired), exempt) for stream, fired, exempt in judged_rows(distinct.iter_rows(), rules)]
    judged = pl.DataFrame(of_distinct, JUDGED, orient="row")
    both = pl.concat([distinct, judged], how="horizontal")
    of_rows = graded.join(both, on=GRADED_INPUTS, how="left", nulls_equal=True, maintain_order="left")
    return of_rows.select(*JUDGED).get_columns()


def components_of(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the components with their places from 0; their additives, for the flags alone, are an extra column."""
    line, declared = pl.col("line").struct, pl.col("line").struct.field("substances").struct
    graphs = rows.filter(pl.col("components").is_not_null()).select(
        "sku_code", "archived", pl.col("components").str.json_decode(_LINE).alias("line")
    )
    places = pl.int_ranges(pl.col("line").list.len(), dtype=pl.UInt32).alias("position")
    lines = graphs.with_columns(places).explode("line", "position")
    return lines.select(
        "sku_code",
        "position",
        "archived",
        *(line.field(name) for name in COMPONENTS if name not in (*_OF_SKU, *STATUSES)),
        *(declared.field(name).struct.field("status").alias(f"{name}_status") for name in SUBSTANCES),
        line.field("additives"),
    )


def volumes_of(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the volumes, a row per market, year and half."""
    with_volumes = rows.filter(pl.col("volumes").is_not_null())
    members = with_volumes.select("sku_code", pl.col("volumes").str.extract_all(_VOLUME)).explode("volumes")
    parts = pl.col("volumes").str.extract_groups(_VOLUME).struct
    return members.select(
        "sku_code",
        parts[0].alias("market"),
        parts[1].cast(pl.Int32).alias("year"),
        parts[2].cast(pl.Int8).alias("half"),
        parts[3].cast(pl.Int64).alias("units_placed"),
    ).select(VOLUME_COLUMNS.names())


def parts(
    conn: Connection, query: str, parameters: Mapping[str, object], types: Mapping[str, pl.DataType]
) -> Iterator[pl.DataFrame]:
    """Yield the query's rows as frames, a part at a time; `types` has its columns, and may have others."""
    part, size = list[bytes](), 0
    statement = f"COPY ({query}) TO STDOUT (FORMAT csv, HEADER, NULL '{NULL}')"
    with conn.cursor() as cursor, cursor.copy(statement, parameters) as copy:
        schema = {name: types[name] for name in bytes(next(iter(copy))).decode().strip().split(",")}
        for row in copy:
            part.append(bytes(row))
            size += len(row)
            if len(part) == PART_SKUS or size >= PART_BYTES:
                yield parse_csv(BytesIO(b"".join(part)), schema)
                part, size = [], 0
    if part:
        yield parse_csv(BytesIO(b"".join(part)), schema)
