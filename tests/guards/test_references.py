"""A name in backticks leads its reader somewhere: each module, name and path that a text names is there."""

import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
TRACKED = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
ROOMS = {"api", "bench", "compliance", "connector", "pipelines", "schemas", "services", "tests", "tools", "warehouse"}
HISTORY = ("docs/spec/", "CHANGELOG.md")
"""The contract is not ours to edit, and a changelog names what was there."""
OTHERS = {
    *("compliance.grade_trace", "compliance.annex_v_undecided"),  # fields of an answer
    *("connector.key", "connector.key.old"),  # files of the data directory
    *("sku.A", "component.A", "parts.KEY.weight_g", "volumes.KEY.year"),  # fields of forms
}
"""Names that look like those of our modules."""
DOTTED = re.compile(r"`([a-z_]+(?:\.[A-Za-z_]\w*)+)(?:\(\))?`")
PATH = re.compile(rf"`((?:{'|'.join(sorted(ROOMS | {'docs', 'deploy', 'examples'}))})/[\w./-]+)`")


def module_texts() -> dict[str, str]:
    """Return the text of every module and package, by its dotted name."""
    texts: dict[str, str] = {}
    for name in TRACKED:
        if name.endswith(".py") and (ROOT / name).exists():
            dotted = name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            texts[dotted] = (ROOT / name).read_text(encoding="utf-8")
            for parent in ("/".join(name.split("/")[:depth]) for depth in range(1, name.count("/") + 1)):
                texts.setdefault(parent.replace("/", "."), "")
    return texts


TEXTS = module_texts()
BY_LAST_PART: dict[str, list[str]] = defaultdict(list)
for dotted_name in TEXTS:
    BY_LAST_PART[dotted_name.rpartition(".")[2]].append(dotted_name)
FILES_AND_FOLDERS = {"/".join(name.split("/")[:depth]) for name in TRACKED for depth in range(1, name.count("/") + 2)}
FILE_ENDINGS = {Path(name).suffix.removeprefix(".") for name in TRACKED}


def texts_to_check() -> Iterator[tuple[str, str]]:
    for name in TRACKED:
        if name.endswith((".py", ".md", ".sql")) and not name.startswith(HISTORY) and (ROOT / name).exists():
            yield name, (ROOT / name).read_text(encoding="utf-8")


def is_there(reference: str) -> bool:
    """Return whether the longest part that is a module holds the name behind it."""
    parts = reference.split(".")
    for depth in range(len(parts), 0, -1):
        text = TEXTS.get(".".join(parts[:depth]))
        if text is not None:
            return depth == len(parts) or re.search(rf"\b{parts[depth]}\b", text) is not None
    return False


def test_a_dotted_name_that_begins_with_a_room_is_there():
    gone = [
        (name, reference)
        for name, text in texts_to_check()
        for reference in DOTTED.findall(text)
        if reference.split(".")[0] in ROOMS and reference not in OTHERS and not is_there(reference)
    ]
    assert not gone


def test_a_name_of_a_module_is_in_that_module():
    """`portfolio.FEW` in a docstring: some module `portfolio` has `FEW`."""
    gone = [
        (name, reference)
        for name, text in texts_to_check()
        if name.endswith(".py")
        for reference in DOTTED.findall(text)
        if (parts := reference.split("."))[-1] not in FILE_ENDINGS and parts[1].isupper() and reference not in OTHERS
        if not any(re.search(rf"\b{parts[1]}\b", TEXTS[module]) for module in BY_LAST_PART[parts[0]])
    ]
    assert not gone


def test_a_path_is_there():
    gone = [
        (name, path)
        for name, text in texts_to_check()
        for path in PATH.findall(text)
        if path.rstrip("/") not in FILES_AND_FOLDERS and "/." not in path
    ]
    assert not gone
