"""No door and no step parses a file from outside by itself: reader processes alone do (decision 0028)."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PARSING = {
    "read_upload",
    "type_rows",
    "detect_media_type",
    "main_types",
    "streams",
    "read_delimited",
    "Workbook",
    "decode",
}
"""What turns the bytes of a file into something."""
MODULES = ("pipelines.reading",)
READING = ("pipelines/reading/", "pipelines/readers/tasks.py")
OF_A_PERSON = ("pipelines/imports/",)
"""`pcds import` writes a person's own file anew, on that person's machine."""


def parsing() -> Iterator[tuple[str, str]]:
    """Each module that imports something of the kind, and what."""
    for room in ("api", "connector", "services", "pipelines", "warehouse"):
        for path in (ROOT / room).rglob("*.py"):
            name = str(path.relative_to(ROOT))
            if name.startswith((*READING, *OF_A_PERSON)):
                continue
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(MODULES):
                    yield from ((name, each.name) for each in node.names if each.name in PARSING)


def test_only_a_readers_tasks_parse_files():
    assert list(parsing()) == []


def test_only_a_reader_and_the_command_line_read_rejected_rows():
    """Its steps parse in the process that calls them: a server's other processes may only name its types."""
    calling = {
        str(path.relative_to(ROOT))
        for room in ("api", "connector", "services", "pipelines")
        for path in (ROOT / room).rglob("*.py")
        if "rejected_tables(" in path.read_text(encoding="utf-8")
    }
    others = {name for name in calling if not name.startswith(OF_A_PERSON)}
    assert others == {"api/imports/commands.py", "pipelines/readers/tasks.py"}
