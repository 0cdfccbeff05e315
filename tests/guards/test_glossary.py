"""The glossary holds: each subject and place exists, and no module has a name that the glossary says is not used."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
ROOMS = ("schemas", "compliance", "warehouse", "pipelines", "services", "connector", "api")
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
SUBJECTS = [
    "skus",
    "imports",
    "exports",
    "files",
    "library",
    "suppliers",
    "review",
    "conformity",
    "filings",
    "figures",
    "catalogue",
    "rules",
    "statements",
    "changes",
    "audit",
    "accounts",
    "companies",
    "roles",
    "registers",
    "marks",
    "evidence",
    "assistants",
    "operate",
]


def section(title: str) -> str:
    """The text below a heading, empty where the page has no such heading."""
    return next((part for part in GLOSSARY.split("\n## ") if part.startswith(f"{title}\n")), "")


def table(title: str) -> list[list[str]]:
    """The cells of a section's table, without its head."""
    lines = [line for line in section(title).splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]


def modules() -> list[Path]:
    return [path.relative_to(ROOT) for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))]


def words_of(path: Path) -> set[str]:
    """The names in a module's path below its room: folders and the module itself."""
    return {*path.parts[1:-1], path.stem}


def test_each_subject_is_a_name_in_the_rooms() -> None:
    assert [row[0] for row in table("Subjects")] == SUBJECTS
    names = set().union(*map(words_of, modules()))
    assert not set(SUBJECTS) - names


def test_each_word_lives_where_its_line_says() -> None:
    rows = table("Machinery") + table("Words of the trade")
    assert rows
    homeless = {row[0]: row[2] for row in rows if not (ROOT / row[2].strip("`")).exists()}
    assert not homeless


def test_no_word_has_two_lines_in_a_table() -> None:
    for title in ("Subjects", "Machinery", "Words of the trade"):
        words = [row[0] for row in table(title)]
        assert len(words) == len(set(words))


def test_no_module_has_a_name_that_the_glossary_refuses() -> None:
    refused = {
        name: row[0]
        for title in ("Subjects", "Machinery")
        for row in table(title)
        for name in row[-1].split(", ")
        if name
    }
    assert refused["jurisdictions"] == "catalogue"
    misnamed = {
        str(path): f"{name}: say {refused[name]}" for path in modules() for name in words_of(path) & set(refused)
    }
    assert not misnamed
