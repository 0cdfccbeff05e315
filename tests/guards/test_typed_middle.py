"""Pages and tools take typed records: none of them parses JSON or reads the answer of a REST handler (issue 35)."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
SUBJECTS = ("imports", "exports", "files", "library")


def doors() -> list[Path]:
    """The pages and tools of the subjects that are done, and what submits files for both."""
    pages = [path for subject in SUBJECTS for path in (ROOT / "api" / subject).glob("*pages.py")]
    return [*pages, ROOT / "api/imports/submissions.py", ROOT / "connector/tools/imports.py"]


def test_no_page_and_no_tool_parses_json():
    parsed = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in doors()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in ("loads", "raw_decode")
    ]
    assert parsed == []


def test_a_shape_of_an_import_is_written_once():
    """A type is published as it is: no model of the same name stands beside it."""
    names = [
        node.name
        for path in (ROOT / "schemas").rglob("*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef)
    ]
    here = ast.parse((ROOT / "schemas/imports/types.py").read_text(encoding="utf-8")).body
    twice = {node.name for node in here if isinstance(node, ast.ClassDef) and names.count(node.name) > 1}
    assert not twice
