"""Finds, in one comparison inside the database, the SKUs that are stored already as somebody gives them.

What belongs here: the comparison, by the columns that are given. What does not: which rows are compared, and whether
that is worth its cost (`pipelines.writing.unchanged`).
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import polars as pl

from warehouse import copying
from warehouse.sessions import Connection
from warehouse.skus.columns import column_definitions, select_list
from warehouse.skus.unitless import UNITLESS

_LAWFUL: Final = (
    "(skus.food_contact IS NOT TRUE OR concat(skus.pfas::text, skus.components::text) NOT LIKE '%%above_limit%%')"
    f" AND NOT {UNITLESS}"
)
"""What no refusal by law can meet, whatever the day (`pipelines.writing.refuse`), and no judgement of a value without a
unit (`pipelines.writing.unitless`)."""
_OF_ONE_WEIGHT: Final = "coalesce(skus.weight_grams = skus.components_weight_g, true)"
"""What no warning about weights can meet, whatever it tolerates (`pipelines.writing.warn`)."""


class Alike(NamedTuple):
    """The places of rows that are as they are stored, and the grade that all of these have."""

    grade: str
    places: list[int]


def alike(connection: Connection, values: pl.DataFrame, codes: Sequence[str] | None = None) -> list[Alike]:
    """The rows whose every value is the stored one, by grade; `values` has their places `at` and then their columns.

    A null says nothing, and so is as it is stored. Where there are few `codes` they are named, so that Postgres does
    not read all rows of the company for them.

    Rows that a refusal by law could meet are left out, and rows with another stated weight than that of their parts,
    which may be worth a warning. To be called once in a transaction.
    """
    names = values.columns[1:]
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TEMPORARY TABLE asked (at integer, {column_definitions(names)}) ON COMMIT DROP")
        copying.into(cursor, "asked", values)
        # Of a table that nobody has analysed the planner may believe that it has one row, and join it in a loop.
        cursor.execute("SET LOCAL enable_nestloop = off")
        same = " AND ".join(f"(asked.{name} IS NULL OR {select_list([name])} = asked.{name})" for name in names)
        named = "" if codes is None else " AND skus.sku_code = ANY(%(codes)s::text[])"
        found = cursor.execute(
            f"SELECT skus.recyclability_grade, array_agg(asked.at) FROM asked JOIN skus USING (sku_code) "
            f"WHERE {same} AND {_LAWFUL} AND {_OF_ONE_WEIGHT}{named} GROUP BY 1",
            {"codes": codes},
        ).fetchall()
    return [Alike(*row) for row in found]
