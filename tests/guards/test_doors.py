"""Doors of these subjects translate typed values: no page, command or tool of them parses JSON."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SUBJECTS = ("figures", "filings", "catalogue", "rules", "changes", "audit", "assistants")
TOOLS = ("figures", "catalogue", "rules", "assistants")


def test_no_page_command_or_tool_parses_json():
    pages = [ROOT / "api" / subject / f"{role}.py" for subject in SUBJECTS for role in ("pages", "commands", "audit")]
    doors = [path for path in pages if path.exists()] + [ROOT / "connector/tools" / f"{name}.py" for name in TOOLS]
    parsing = re.compile(r"\b(?:orjson|json)\.loads\(|model_validate_json\(")
    assert len(doors) > len(TOOLS), "there are pages"
    assert not [str(path) for path in doors if parsing.search(path.read_text(encoding="utf-8"))]
