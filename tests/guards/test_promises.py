"""The manifest of promises and the tests read against each other: each promise has a test, each test a promise.

`tests/contract/promises.csv` says in our own words what the interface promises, since which version, where, and on
which line of the contract (`i` the interface, `d` the decisions beside it). A promise of a later issue names it; a row
whose `where` is none tells why its lines promise nothing that a client could see.
"""

import ast
import csv
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONTRACT = ROOT / "docs" / "spec"
WHERE = {"rest", "import", "cli", "connector", "supplier", "figures", "none"}
with (ROOT / "tests" / "contract" / "promises.csv").open(encoding="utf-8", newline="") as file:
    PROMISES = list(csv.DictReader(file))


def written(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Every test function below a folder with the promises that it names."""
    for path in sorted(folder.rglob("test_*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                marks = [mark for mark in node.decorator_list if ast.unparse(mark).startswith("pytest.mark.promise(")]
                named = [ast.literal_eval(word) for mark in marks if isinstance(mark, ast.Call) for word in mark.args]
                yield f"{path.name}::{node.name}", named


def lines(letter: str) -> set[int]:
    """The lines of a document that some row of the manifest names."""
    spans = [span for row in PROMISES for span in row["line"].split() if span[0] == letter]
    bounds = [[int(number) for number in span[1:].split("-")] for span in spans]
    return {line for bound in bounds for line in range(bound[0], bound[-1] + 1)}


def test_every_promise_has_a_test_and_every_test_a_promise():
    held = dict(written(ROOT / "tests"))
    named = {promise for promises in held.values() for promise in promises}
    asked = {row["id"] for row in PROMISES if row["where"] != "none" and not row["issue"]}
    assert asked - named == set(), "promises that no test holds"
    assert named - asked == set(), "tests that name no promise of this release"
    assert [test for test, promises in written(ROOT / "tests" / "contract") if not promises] == []


def test_the_manifest_is_well_formed():
    assert [name for name, count in Counter(row["id"] for row in PROMISES).items() if count > 1] == []
    for row in PROMISES:
        assert re.fullmatch(r"[A-Z]{3}-\d\d", row["id"])
        assert (row["since"] in ("1.4.1", "1.8.0"), row["where"] in WHERE) == (True, True), row
        assert row["issue"] or row["where"] != "figures", row
        assert row["promise"].strip(), row


@pytest.mark.parametrize(
    ("letter", "document", "sections"),
    [("i", "interface-v1.md", r".*"), ("d", "decisions.md", r"(?:1|2|3|4|5|9|11)\. ")],
)
def test_every_line_of_the_contract_is_named(letter: str, document: str, sections: str):
    text, section, unnamed = (CONTRACT / document).read_text(encoding="utf-8").splitlines(), "", []
    for number, line in enumerate(text, 1):
        section = line.removeprefix("## ") if line.startswith("## ") else section
        says = line.strip() and not line.startswith("#") and not re.fullmatch(r"[|\s:-]+", line)
        if says and re.match(sections, section) and number not in lines(letter):
            unnamed.append((number, line))
    assert unnamed == []
    assert max(lines(letter)) <= len(text)


def test_promises_are_in_our_own_words():
    """No run of eight words of the contract stands in the manifest."""
    contract = " ".join(words(path.read_text(encoding="utf-8")) for path in sorted(CONTRACT.glob("*.md")))
    copied = []
    for row in PROMISES:
        own = words(row["promise"]).split()
        copied += [run for start in range(len(own) - 7) if (run := " ".join(own[start : start + 8])) in contract]
    assert copied == []


def words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))
