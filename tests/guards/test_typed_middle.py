"""Statements return typed rows, and pages render them: nobody writes JSON text and parses it again."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SUBJECTS = ("suppliers", "review", "conformity", "companies", "accounts")
PAGES = [path for subject in SUBJECTS for path in (ROOT / "api" / subject).glob("*pages.py")]
STATEMENTS = [
    path
    for subject in SUBJECTS
    for path in (ROOT / "warehouse" / f"{subject}.py", *(ROOT / "warehouse" / subject).glob("*.py"))
    if path.exists()
]


@pytest.mark.parametrize("path", [*PAGES, ROOT / "connector/tools/review.py", ROOT / "connector/tools/library.py"])
def test_no_page_and_no_tool_parses_json(path: Path) -> None:
    assert "json.loads" not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", PAGES)
def test_no_page_calls_a_handler_of_the_interface(path: Path) -> None:
    assert ".routes import" not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", STATEMENTS)
def test_no_statement_answers_json_text(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert "pages.page(" not in text
    assert ")::text" not in text
