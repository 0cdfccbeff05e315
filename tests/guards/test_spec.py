"""The specification in docs/spec resolves: each section that the code cites, and each table that the texts name."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
SPEC = ROOT / "docs" / "spec"
TABLES = ("compliance/rules", "tests/compliance", "docs/spec")
ELSEWHERE = {
    "uk_rpd_errors.csv": "compliance/rules/uk_packaging_data/errors.csv",
    "statements_changes.csv": "tests/compliance/statements.csv",
}
"""Tables that have another name in the repository, as docs/spec/README.md says."""


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    paths = [ROOT / name for name in listed.splitlines()]
    paths = [path for path in paths if path.suffix in (".py", ".md", ".csv", ".sql") and path.exists()]
    return [path for path in paths if "meaning/files" not in path.as_posix()]  # files of callers, in any encoding


def test_every_section_of_the_decisions_that_is_cited_is_there() -> None:
    decisions = (SPEC / "decisions.md").read_text(encoding="utf-8")
    sections = set(re.findall(r"^## (\d+)\. ", decisions, re.MULTILINE))
    cited = {
        (str(path.relative_to(ROOT)), section)
        for path in tracked()
        for section in re.findall(r"decisions(?:\.md)? §(\d+)", path.read_text(encoding="utf-8"))
    }
    assert len(cited) > 50
    assert {place for place in cited if place[1] not in sections} == set()


def test_every_section_of_the_interface_that_is_cited_is_there() -> None:
    contract = (SPEC / "interface-v1.md").read_text(encoding="utf-8")
    sections = set(re.findall(r"^#+ (?:\d+\. )?(\w+)", contract, re.MULTILINE))
    cited = {
        (str(path.relative_to(ROOT)), section)
        for path in tracked()
        if path.suffix == ".py"
        for section in re.findall(r"interface v1, ([A-Z]\w+)", path.read_text(encoding="utf-8"))
    }
    assert cited
    assert {place for place in cited if place[1] not in sections} == set()


def test_every_table_that_the_specification_names_is_in_the_repository() -> None:
    held = {path.name for folder in TABLES for path in (ROOT / folder).rglob("*.*")} | set(ELSEWHERE)
    assert all((ROOT / name).exists() for name in ELSEWHERE.values())
    named = {
        Path(name).name
        for path in SPEC.rglob("*.md")
        if path.name != "CHANGES.md"  # tells of files that are no more
        for name in re.findall(r"`([\w./-]+\.(?:csv|md|json))`", path.read_text(encoding="utf-8"))
    }
    assert named - held == {"appsettings.json"}, "which is the UK service's own, whose rules were read from it"
