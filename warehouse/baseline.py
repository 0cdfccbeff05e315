"""The SQL of the first revision, and whether the tables of the last one before it are the same.

All earlier migrations became one (issue of the house: nothing had been released). A database that stands at the last of
them is compared with the baseline and stamped with its revision.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, text

from warehouse.tables import metadata

_FOLDER: Final = Path(__file__).with_name("migrations") / "baseline"
_POLICY: Final = re.compile(r"^CREATE POLICY (\w+) ON (\w+)", re.MULTILINE)
_FUNCTIONS: Final = "SELECT proname, prosrc FROM pg_proc WHERE pronamespace = 'public'::regnamespace"
_POLICIES: Final = (
    "SELECT policyname, tablename FROM pg_policies WHERE schemaname = 'public' AND policyname <> 'company'"
)
_OPEN: Final = """
SELECT c.table_name FROM information_schema.columns AS c
JOIN pg_class AS t ON t.oid = format('public.%I', c.table_name)::regclass
WHERE c.table_schema = 'public' AND c.column_name = 'company_id' AND t.relkind IN ('r', 'p')
AND NOT (t.relforcerowsecurity AND EXISTS (
    SELECT FROM pg_policies WHERE schemaname = 'public' AND tablename = c.table_name AND policyname = 'company'))
"""
_OPTIONS: Final = {"compare_type": True, "compare_server_default": True}


def files() -> Iterator[str]:
    """Yield the statements in their order: functions, then tables, those of companies first, which others refer to."""
    for kind in ("functions", "tables"):
        for path in sorted((_FOLDER / kind).glob("*.sql"), key=lambda found: (found.stem != "companies", found.stem)):
            yield path.read_text(encoding="utf-8")


def differences(connection: Connection) -> list[str]:
    """Return what of the database's tables, functions and policies is not as the baseline makes it, in words."""
    context = MigrationContext.configure(connection, opts=_OPTIONS | {"include_name": _is_ours})
    found = [str(change) for change in compare_metadata(context, metadata)]
    sql = "\n" + "\n".join(files())
    for what, wanted, present in (
        ("function", set(_functions(sql)), connection.execute(text(_FUNCTIONS))),
        ("policy", set(_POLICY.findall(sql)), connection.execute(text(_POLICIES))),
    ):
        held = {(str(name), str(rest)) for name, rest in present}
        found += [f"{what} {name}" for name, _ in sorted(wanted ^ held)]
    return found + [f"row-level security of {table}" for (table,) in connection.execute(text(_OPEN))]


def _is_ours(name: str | None, kind: str, _parents: object) -> bool:
    return not (kind == "table" and name == "alembic_version")


def _functions(sql: str) -> Iterator[tuple[str, str]]:
    """Yield each function's name with the text between its dollar signs, which is empty where it has none."""
    for statement in sql.split("\nCREATE FUNCTION ")[1:]:
        quote = "$_$" if "\nAS $_$" in statement else "$$"
        yield statement.partition("(")[0], statement.split(quote)[1] if quote in statement else ""
