"""The repository read by a test: sizes, docstrings, the clock, what the lock may name, and commands in documents."""

import ast
import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("schemas", "compliance", "warehouse", "pipelines", "services", "api", "connector", "bench")
MIGRATIONS = "migrations/versions"


def modules() -> Iterator[Path]:
    for room in ROOMS:
        yield from sorted((ROOT / room).rglob("*.py"))


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def lines_of(paths: Iterable[Path]) -> dict[str, int]:
    return {named(path): len(path.read_text(encoding="utf-8").splitlines()) for path in paths}


def test_no_file_is_longer_than_six_hundred_lines():
    lines = lines_of(modules())
    beside = lines_of(path for room in ("tests", "tools") for path in (ROOT / room).rglob("*.py"))
    assert not {name: count for name, count in (lines | beside).items() if count > 600}


def test_no_function_is_longer_than_sixty_lines():
    long = [
        (named(path), node.name)
        for path in modules()
        if MIGRATIONS not in str(path)
        for node in functions(path)
        if (node.end_lineno or 0) - node.lineno >= 60
    ]
    assert not long


def test_every_module_says_what_belongs_in_it():
    silent = [named(path) for path in modules() if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))]
    assert not silent


def test_instants_come_from_the_clock_alone():
    asked = re.compile(r"datetime\.now\(|date\.today\(|time\.time\(|utcnow\(")
    allowed = {"warehouse/operate/clock.py"}
    found = [named(path) for path in modules() if asked.search(path.read_text(encoding="utf-8"))]
    assert set(found) <= allowed


@pytest.mark.parametrize("lock", sorted(path.name for path in ROOT.glob("requirements*.lock")))
def test_the_lock_is_hashed_and_names_no_host(lock: str):
    text = (ROOT / lock).read_text(encoding="utf-8")
    pinned = re.findall(r"^[a-zA-Z0-9][^\n]*==", text, re.MULTILINE)
    assert len(pinned) == len(re.findall(r"==[^\n]* \\\n    --hash=sha256:", text))
    assert not re.search(r"https?://|--index-url|--find-links|file:", text)


def test_the_readmes_links_and_files_exist():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!http)([^)#]+)\)", text)
    paths = re.findall(r"`((?:schemas|compliance|warehouse|pipelines|api|docs|examples|tests|bench)/[\w./-]*)`", text)
    assert not [path for path in (*links, *paths) if "<" not in path and not (ROOT / path).exists()]


def test_the_makefile_has_the_commands_that_the_readme_names():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(re.findall(r"make ([a-z]+)", readme)) <= targets | {"every"}


def test_no_file_beside_the_code_is_kept_out_of_the_repository():
    """A pattern that is too wide takes a table or a test's data from every clone and nobody misses it here."""
    command = ["git", "ls-files", "--others", "--ignored", "--exclude-standard", "--", *ROOMS, "tests", "examples"]
    ignored = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.splitlines()
    assert not [name for name in ignored if "__pycache__" not in name and not name.startswith("bench/.cache/")]


def test_no_committed_text_names_a_place_of_one_machine():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False).stdout.decode()
    place = re.compile(r"/(?:work|root|home)/\w+|/tmp/\w+")
    found = []
    for name in filter(None, listed.split("\0")):
        path = ROOT / name
        if path == Path(__file__) or path.suffix in (".xlsx", ".png", ".webp") or not path.exists():
            continue
        found += [(name, hit) for hit in place.findall(path.read_text(encoding="utf-8", errors="replace"))]
    assert not found
