"""Stores SKUs: new rows, changed rows, the versions they replace, ledger entries and counters, in one statement.

The statement is the same for one row and for thousands; only how the rows reach it differs (`portfolio.FEW`): as one of
its parameters, or through COPY into a temporary table, for which nobody's lock is needed (`stage`).

What belongs here: the storing statement with its parts, and the staging before it. What does not: which rows change and
what they become (`pipelines.writing.write`), and how a link is computed (`warehouse.audit.ledger`).
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple
from uuid import UUID

import orjson
import polars as pl
from psycopg import RawCursor

from schemas.actors import Actor, Origin
from schemas.skus.types import Component
from warehouse.audit import ledger
from warehouse.audit.chain import CURRENT
from warehouse.operate import copying
from warehouse.operate.sessions import Connection
from warehouse.skus.portfolio import FEW, UNITLESS
from warehouse.skus.tables import (
    DERIVED_COLUMNS,
    DTYPES,
    STORED_COLUMNS,
    VALUE_COLUMNS,
    Table,
    as_stored,
    column_definitions,
    select_list,
)

_ALWAYS: Final = (*DERIVED_COLUMNS, "version", "import_sheet", "import_line")
_ALL: Final = ", ".join(column.name for column in STORED_COLUMNS)


def _declared(columns: Sequence[str]) -> str:
    """Return the staged columns with their types; the id comes first and is a uuid.

    The join by it must not need a cast: under row-level security Postgres uses an index only for conditions whose
    functions it knows to leak nothing, and a cast from text is none of them. It would read the whole table.
    """
    return f"id uuid, {column_definitions(columns)}"


_STORED: Final = (
    f"RETURNING skus.sku_code, skus.id, skus.version, skus.transaction_id, {CURRENT.of_row('skus')} AS row_digest"
)
_ENTRY: Final = {
    "action": "%(resource)s::text || CASE stored.version WHEN 1 THEN '.created' ELSE '.updated' END",
    "resource_id": "stored.id::text",
    "version": "stored.version",
}
_SUBJECT: Final = f"""{", ".join(f"{expression} AS {name}" for name, expression in _ENTRY.items())},
       NULL::json AS before, NULL::json AS after, {CURRENT.of_entry(_ENTRY, "stored.row_digest")} AS digest"""
_LEAVES: Final = f"""
SELECT row_number() OVER (ORDER BY stored.sku_code COLLATE "C") AS place, {_SUBJECT} FROM ({{stored}}) AS stored"""
_LEAVES_EACH: Final = f"""
SELECT link.*, {_SUBJECT} FROM ({{stored}}) AS stored
JOIN json_to_recordset(%(links)s::json) AS link ({ledger.LINK_COLUMNS}) ON link.id = stored.transaction_id"""


@lru_cache(maxsize=1024)
def _statement(
    written: tuple[str, ...], *, few: bool, changing: bool, making: bool, each: bool
) -> tuple[str, list[str]]:
    """Return the statement that stores rows of these columns, with the names of its numbered parameters.

    A column that is not staged keeps what it has. The parts of the statement see the tables as they were before it:
    what was written reaches the ledger as `RETURNING` gives it. Only the parts that have rows to write are in it: to
    set up one of fifty columns takes Postgres a tenth of a millisecond. With `each` a row names its own link.
    """
    staged, link = _declared(written), "%(id)s"
    if each:
        staged, link = f"{staged}, transaction_id uuid", "staged.transaction_id"
    rows = f"staged AS MATERIALIZED (SELECT * FROM json_to_recordset(%(rows)s::json) AS staged ({staged}))"
    parts = [rows] * few + _changed(written, link, few=few) * changing + _made(written, link) * making
    stored = " UNION ALL ".join(["SELECT * FROM changed"] * changing + ["SELECT * FROM made"] * making)
    begin, leaves, end = (
        ("WITH RECURSIVE", _LEAVES_EACH, ledger.LINKED_EACH) if each else ("WITH", _LEAVES, ledger.LINKED)
    )
    parts.append(f"leaves AS MATERIALIZED ({leaves.format(stored=stored)})")
    return _numbered(f"{begin} {', '.join(parts)}, {end}")


@lru_cache(maxsize=1024)
def _numbered(statement: str) -> tuple[str, list[str]]:
    """Return a statement with numbered parameters, and their names.

    Psycopg would translate the names of a long one at each execution.
    """
    names = list(dict.fromkeys(re.findall(r"%\((\w+)\)s", statement)))
    return re.sub(r"%\((\w+)\)s", lambda match: f"${names.index(match[1]) + 1}", statement), names


def _changed(written: tuple[str, ...], link: str, *, few: bool) -> list[str]:
    """Return the parts that keep a row as it was and change it."""
    changes = ", ".join(f"{name} = {as_stored(name, 'staged')}" for name in written)
    # The ids are named: a join alone is planned as reading all rows of the company, while their number is unknown.
    ids = "%(ids)s::uuid[]" if few else "ARRAY(SELECT id FROM staged WHERE version > 1)"
    condition = f"skus.id = ANY({ids})"
    # Only rows of a later version are joined: a first load would read the company's rows to find none of its own.
    return [
        f"""kept AS (
    INSERT INTO sku_versions ({_ALL}) SELECT {", ".join(f"skus.{c.name}" for c in STORED_COLUMNS)}
    FROM skus WHERE {condition}
)""",
        f"""changed AS (
    UPDATE skus
    SET {changes}, updated_at = %(at)s, transaction_id = {link},
        import_id = %(import)s
    FROM staged WHERE skus.id = staged.id AND staged.version > 1 AND {condition} {_STORED}
)""",
    ]


def _made(written: tuple[str, ...], link: str) -> list[str]:
    """Return the part that adds rows, in the order of the codes."""
    staged = ("id", *written)
    return [
        f"""made AS (
    INSERT INTO skus (company_id, created_at, updated_at, transaction_id, import_id, {", ".join(staged)})
    SELECT %(company_id)s, %(at)s, %(at)s, {link}, %(import)s, {", ".join(as_stored(name, "staged") for name in staged)}
    FROM staged WHERE staged.version = 1 ORDER BY staged.sku_code {_STORED}
)"""
    ]


def store(
    conn: Connection,
    actor: Actor,
    rows: Table,
    columns: Sequence[str],
    *,
    import_id: UUID | None,
    resource: str,
    origins: Sequence[Origin] = (),
) -> None:
    """Write the created and updated rows of a merged, graded frame, which were staged in the caller's transaction.

    `columns` are the value columns that the patch gives, sku_code among them; `rows` has them, `id` and `version` as
    they shall be, the derived columns, `import_sheet` and `import_line`. `resource` is what the audit names as written,
    `sku` or a part of it. With `origins`, one for each of a few rows, each row is a request and a link by itself. Where
    another transaction has created one of the codes meanwhile, this one fails with `UniqueViolation`: whoever opened it
    repeats the whole write (`Pool.retrying`), which then finds the row.
    """
    staged, few = ("id", *columns, *_ALWAYS), len(rows) <= FEW
    created = rows["version"].count(1)
    parameters = {
        **ledger.signature(actor.company_id, actor.origin, actor.now),
        "import": import_id,
        "created": created,
        "resource": resource,
    }
    if few:
        records = rows.dicts(staged)
        if origins:
            links = ledger.links(origins)
            records = [{**row, "transaction_id": link["id"]} for row, link in zip(records, links, strict=True)]
            parameters["links"] = orjson.dumps(links).decode()
        parameters |= {"ids": rows["id"], "rows": orjson.dumps(records).decode()}
    text, names = _statement(staged[1:], few=few, changing=created < len(rows), making=created > 0, each=bool(origins))
    RawCursor(conn).execute(text, [parameters[name] for name in names])


def stage(conn: Connection, rows: Table, columns: Sequence[str]) -> None:
    """Carry the rows that `store` is about to write to the database, where they are many; what was staged before goes.

    `rows` and `columns` are as for `store`.
    """
    if len(rows) <= FEW:
        return
    staged = rows.frame({name: DTYPES[name] for name in ("id", *columns, *_ALWAYS)})
    whole = _declared((*VALUE_COLUMNS, *_ALWAYS))
    conn.execute(f"CREATE TEMPORARY TABLE IF NOT EXISTS staged ({whole}) ON COMMIT DELETE ROWS")
    with conn.cursor() as cursor:
        cursor.execute("DELETE FROM staged")
        copying.into(cursor, "staged", staged)
        if any(version > 1 for version in rows["version"]):  # only these rows are joined to what is held
            cursor.execute("ANALYZE staged (id, version)")


_LAWFUL: Final = (
    "(skus.food_contact IS NOT TRUE OR concat(skus.pfas::text, skus.components::text) NOT LIKE '%%above_limit%%')"
    f" AND NOT {UNITLESS}"
)
"""What no refusal by law can meet, whatever the day (`pipelines.writing.refuse`), and no judgement of a value without a
unit (`pipelines.writing.write`)."""
_OF_ONE_WEIGHT: Final = "coalesce(skus.weight_grams = skus.components_weight_g, true)"
"""What no warning about weights can meet, whatever it tolerates (`pipelines.writing.refuse`)."""


class Alike(NamedTuple):
    """The places of rows that are as they are stored, and the grade that all of these have."""

    grade: str
    places: list[int]


def alike(connection: Connection, values: pl.DataFrame, codes: Sequence[str] | None = None) -> list[Alike]:
    """Return the rows whose every value is the stored one, by grade; `values` has the places `at`, then the columns.

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
        of_codes = "" if codes is None else " AND skus.sku_code = ANY(%(codes)s::text[])"
        rows = cursor.execute(
            f"SELECT skus.recyclability_grade, array_agg(asked.at) FROM asked JOIN skus USING (sku_code) "
            f"WHERE {same} AND {_LAWFUL} AND {_OF_ONE_WEIGHT}{of_codes} GROUP BY 1",
            {"codes": codes},
        ).fetchall()
    return [Alike(*row) for row in rows]


_LOCKED: Final = "SELECT sku_code, version, components::text FROM skus WHERE id = %s FOR UPDATE"
_OF_CODE: Final = "SELECT components::text FROM skus WHERE sku_code = %s"
_OF_ID: Final = "SELECT components::text FROM skus WHERE id = %s"


class Locked(NamedTuple):
    """A SKU that is locked: its code, its version, and its graph as JSON text."""

    sku_code: str
    version: int
    graph: str | None

    @property
    def lines(self) -> list[Component]:
        """The lines of the graph."""
        return _lines(self.graph)


def lock_sku(connection: Connection, sku_id: UUID) -> Locked | None:
    """Lock a SKU of the session's company until the transaction ends; None where there is none of that id."""
    row = connection.execute(_LOCKED, [sku_id]).fetchone()
    return None if row is None else Locked(*row)


def of_code(connection: Connection, sku_code: str) -> list[Component] | None:
    """Return the lines of a SKU by its code; None where the session's company has no such SKU."""
    row = connection.execute(_OF_CODE, [sku_code]).fetchone()
    return None if row is None else _lines(row[0])


def of_id(connection: Connection, sku_id: UUID) -> list[Component] | None:
    """Return the lines of a SKU by its id; None where the session's company has no such SKU."""
    row = connection.execute(_OF_ID, [sku_id]).fetchone()
    return None if row is None else _lines(row[0])


def _lines(graph: str | None) -> list[Component]:
    lines: list[Component] = orjson.loads(graph) if graph else []
    return lines
