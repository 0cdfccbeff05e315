"""Strikes one company's rows with the error that a full disk, or another lack of the machine, really raises."""

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID, uuid4

import psycopg
from psycopg import sql

_FUNCTION = """
CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = {state}; END $$"""
_TRIGGER = """
CREATE TRIGGER {name} BEFORE INSERT OR UPDATE ON {table} FOR EACH ROW WHEN (NEW.company_id = {company})
EXECUTE FUNCTION {name}()"""


@contextmanager
def struck(owner_url: str, table: str, company: UUID, state: str = "53100") -> Iterator[None]:
    """Let each write of the company to the table fail with an SQLSTATE during the block."""
    name = sql.Identifier(f"struck_{uuid4().hex}")
    gaps = {"name": name, "table": sql.Identifier(table), "company": sql.Literal(company), "state": sql.Literal(state)}
    with psycopg.connect(owner_url, autocommit=True) as owner:
        owner.execute(sql.SQL(_FUNCTION).format(**gaps))
        owner.execute(sql.SQL(_TRIGGER).format(**gaps))
        try:
            yield
        finally:
            owner.execute(sql.SQL("DROP FUNCTION {name}() CASCADE").format(**gaps))
