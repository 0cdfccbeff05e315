"""Checks the index of docs/decisions: each decision has one line with its title, and each link names a file."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
DECISIONS = ROOT / "docs" / "decisions"
ROOMS = ["schemas", "compliance", "warehouse", "pipelines", "services", "connector", "api"]


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


def test_a_decision_is_a_page_that_says_what_it_decides() -> None:
    for path in DECISIONS.glob("[0-9]*.md"):
        text = path.read_text(encoding="utf-8")
        assert len(text.splitlines()) <= 40, f"{path.name} is longer than a page"
        assert "**Decision.**" in text, f"{path.name} does not say what is decided"
        assert "**Measured" not in text, f"{path.name}: measurements belong into docs/benchmarks.md"


def test_code_and_documents_name_decisions_that_govern() -> None:
    """A comment that names a deleted decision sends its reader nowhere; in the folder a bare number is one."""
    numbers = {path.name[:4] for path in DECISIONS.glob("[0-9]*.md")}
    folders = [*ROOMS, "bench", "tests", "tools", "docs", "deploy"]
    files = [
        path
        for folder in folders
        for suffix in ("py", "sql", "md", "yaml", "csv", "html", "toml")
        for path in (ROOT / folder).rglob(f"*.{suffix}")
        if "node_modules" not in path.parts
    ]
    files += [path for path in ROOT.iterdir() if path.suffix in {".md", ".toml", ".in", ".yaml"}]
    gone = set()
    for path in files:
        text = path.read_text(encoding="utf-8", errors="replace")
        named = re.findall(r"[Dd]ecisions?[ /]\[?(00\d\d)\b", text)
        if path.parent == DECISIONS:
            named += re.findall(r"\b(00\d\d)\b", text)
        gone |= {(str(path.relative_to(ROOT)), number) for number in named if number not in numbers}
    assert not gone


def test_paths_in_decisions_are_there() -> None:
    """What a decision governs moves, and its reader then looks for a file that is gone."""
    rooms = "|".join([*ROOMS, "bench", "tests", "tools", "docs", "deploy"])
    gone = {
        (document.name, path)
        for document in DECISIONS.glob("*.md")
        for named in re.findall(rf"`((?:{rooms})/[\w./{{}},*-]+)`", document.read_text(encoding="utf-8"))
        for path in _each(named)
        if not any(ROOT.glob(path.rstrip("/")))
    }
    assert not gone


def _each(path: str) -> list[str]:
    """The paths that one with alternatives in braces names."""
    before, _, rest = path.partition("{")
    inner, _, after = rest.partition("}")
    return [each for part in inner.split(",") for each in _each(before + part + after)] if rest else [path]
