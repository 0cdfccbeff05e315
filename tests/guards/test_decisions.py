"""Checks the index of docs/decisions: each decision has one line with its title, and each link names a file."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
DECISIONS = ROOT / "docs" / "decisions"


def test_the_index_lists_every_decision_with_its_title() -> None:
    index = (DECISIONS / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| \[(\d{4})\]\((\S+)\) \| (.+?) \| .+ \|$", index, re.MULTILINE)
    headings = []
    for path in sorted(DECISIONS.glob("[0-9]*.md")):
        number, title = path.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ").split(": ", 1)
        headings.append((number, path.name, title))
    assert listed == headings


def test_a_reference_to_a_decision_names_a_file() -> None:
    """Documents link to decisions by file name, so a renamed decision breaks a link that nothing else would notice."""
    texts = {path: path.read_text(encoding="utf-8") for path in [ROOT / "README.md", *(ROOT / "docs").glob("**/*.md")]}
    named = {
        (path, name)
        for path, text in texts.items()
        for name in re.findall(r"decisions/(\d{4}-[\w-]+\.md)", text)
        if not (DECISIONS / name).is_file()
    }
    assert not named
