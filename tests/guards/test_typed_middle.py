"""Statements return typed rows and doors render them: nobody writes JSON text and parses it again (issue 35)."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "api").glob("*/*pages.py"))
TOOLS = sorted((ROOT / "connector/tools").glob("*.py"))
PARSES = re.compile(r"\b(?:orjson|json)\.loads\(|\.raw_decode\(")


@pytest.mark.parametrize("path", [*PAGES, *TOOLS], ids=lambda path: str(path.relative_to(ROOT)))
def test_no_page_and_no_tool_parses_json(path: Path) -> None:
    assert not PARSES.search(path.read_text(encoding="utf-8"))


def test_no_statement_answers_the_text_of_a_page() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in (ROOT / "warehouse").rglob("*.py")}
    assert not [
        str(path) for path, text in texts.items() if "pages.page(" in text or "json_build_object('data'" in text
    ]


def test_a_shape_is_written_once() -> None:
    """A type is published as it is: no model of the same name stands beside it."""
    names = [
        node.name
        for path in (ROOT / "schemas").rglob("*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef)
    ]
    operations_issue_and_published_one = {"Issue"}
    assert {name for name in names if names.count(name) > 1} <= operations_issue_and_published_one
