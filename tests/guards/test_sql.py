"""Every SQL statement stands in `warehouse`: found by reading the string constants and f-strings of the other rooms.

A statement is recognised by its keywords in capitals, as this repository writes SQL: at the start of a text, or inside
it where it is part of a larger one. Docstrings are not read.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("schemas", "compliance", "pipelines", "services", "api", "connector")

_BEGINS = re.compile(
    r"\s*\(*\s*(?:"
    r"SELECT\b|INSERT\s+INTO\b|DELETE\s+FROM\b|UPDATE\s+\S+\s+(?:AS\s+\S+\s+)?SET\b|MERGE\s+INTO\b"
    r"|WITH\s+(?:RECURSIVE\s+)?\S+(?:\s*\([^)]*\))?\s+AS\b|VALUES\s*\(|TABLE\s+\w+\s*$"
    r"|COPY\b|LISTEN\b|UNLISTEN\b|NOTIFY\b|LOCK\b|ANALYZE\b|VACUUM\b|EXPLAIN\b|TRUNCATE\b|PREPARE\b|EXECUTE\b"
    r"|(?:CREATE|ALTER|DROP)\s+[A-Z]|(?:GRANT|REVOKE)\s|SET\s+(?:LOCAL|SESSION)\b|RESET\s+[A-Z]"
    r"|BEGIN\b|COMMIT\b|ROLLBACK\b|SAVEPOINT\b|RELEASE\b|DECLARE\s|FETCH\s"
    r")"
)
_HOLDS = re.compile(
    r"\bSELECT\b.*\bFROM\b|\(\s*SELECT\b|\bINSERT\s+INTO\b|\bDELETE\s+FROM\b|\bUPDATE\s+\w+\s+SET\b"
    r"|\bFOR\s+UPDATE\b|\bON\s+CONFLICT\b",
    re.DOTALL,
)


def statements(source: str) -> list[tuple[int, str]]:
    """Line and text of each string that is SQL or holds some; an f-string's values are read as `{}`."""
    return [(line, text) for line, text in _texts(ast.parse(source)) if _BEGINS.match(text) or _HOLDS.search(text)]


def _texts(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The strings of a module, each f-string as one, without docstrings and other strings that nothing reads."""
    passed: set[ast.AST] = set()
    for node in ast.walk(tree):  # whatever holds a string comes before it
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            passed.add(node.value)
        elif isinstance(node, ast.JoinedStr):
            passed.update(part for part in node.values if isinstance(part, ast.Constant))
            yield (
                node.lineno,
                "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values),
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in passed:
            yield node.lineno, node.value


def test_no_statement_stands_outside_the_warehouse():
    found = [
        (str(path.relative_to(ROOT)), line, text)
        for room in ROOMS
        for path in sorted((ROOT / room).rglob("*.py"))
        for line, text in statements(path.read_text(encoding="utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize(
    "source",
    [
        'conn.execute("SELECT FROM skus WHERE id = %s", [1])',
        '_ADD = f"INSERT INTO {table} ({names}) VALUES ({values})"',
        '_READ = """\n  SELECT id\n  FROM skus"""',
        'cursor.copy(f"COPY ({query}) TO STDOUT (FORMAT csv)")',
        'conn.execute(sql.SQL("LISTEN {}").format(name))',
        'conn.execute("UPDATE skus "\n    "SET version = 2")',
        '_CTE = "WITH due AS (SELECT 1) SELECT * FROM due"',
        '_CTE = "WITH RECURSIVE due (at) AS MATERIALIZED ("',
        'conn.execute("CREATE TEMPORARY TABLE asked (at integer) ON COMMIT DROP")',
        'conn.execute("SET LOCAL statement_timeout = 0")',
        'conn.execute("COMMIT")',
        'conn.execute("ROLLBACK TO SAVEPOINT here")',
        '_PART = "coalesce((SELECT max(at) FROM seen), now())"',
        '_LOCKED = f"{_HELD} FOR UPDATE OF counters"',
        'f(by={"id": f"{START} id = 1", "x": "DELETE FROM skus"})',
    ],
)
def test_a_statement_is_found(source: str):
    assert len(statements(source)) == 1


@pytest.mark.parametrize(
    "source",
    [
        '"""SELECT is what this module does not do. INSERT INTO neither."""',
        'SIZE = 3\n"""What SELECT id FROM skus gives."""',
        'allowed = ("DELETE", "PUT", "UPDATE")',
        'told = "Select a file from the list, update it and commit."',
        'told = f"Set {name} in the settings, then delete from it what is left."',
        'vocabulary = {"WITH": "with", "LOCKED": "locked", "COPYRIGHT": "©", "SELECTED": 1}',
    ],
)
def test_other_texts_are_not(source: str):
    assert statements(source) == []
