"""Every `pcds` command that the documents print exists, and takes the options and arguments that they print."""

import re
import shlex
from pathlib import Path

import pytest
import typer
from typer.core import TyperArgument, TyperGroup

from api import cli

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "SECURITY.md", *(ROOT / "docs").glob("*.md")])
_BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)
_SPAN = re.compile(r"`(pcds\s+[a-z-][^`]+)`")
_END = re.compile(r"[|;&<>)]|\s#")
"""Where a shell's line goes on with something else."""


def printed(page: Path) -> set[str]:
    """The commands of the page's blocks and sentences."""
    text = page.read_text(encoding="utf-8")
    lines = [line for block in _BLOCK.findall(text) for line in block.replace("\\\n", " ").splitlines()]
    blocks = [line[found.start(1) :] for line in lines if (found := re.search(r"(?:^|\s|/)(pcds\s+[a-z-].+)", line))]
    spans = [" ".join(span.split()) for span in _SPAN.findall(_BLOCK.sub("", text))]
    return {_END.split(re.sub(r"\[(.*?)\]", r"\1", each))[0].strip() for each in (*blocks, *spans)}


@pytest.fixture(scope="module")
def program() -> TyperGroup:
    found = typer.main.get_command(cli.build_program(cli.COMMANDS))
    assert isinstance(found, TyperGroup)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_a_page_prints_is_a_command_with_these_options(page: Path, program: TyperGroup) -> None:
    wrong = []
    for line in sorted(printed(page)):
        words = shlex.split(line)[1:]
        command = program
        while words and isinstance(command, TyperGroup) and words[0] in command.commands:
            command = command.commands[words.pop(0)]
        if words and isinstance(command, TyperGroup):  # `pcds declaration OUT` writes
            command = command.commands.get("write", command)
        options = {name for each in command.params for name in (*each.opts, *each.secondary_opts)}
        given = {word.partition("=")[0] for word in words if word.startswith("--")}
        arguments = [each for each in command.params if isinstance(each, TyperArgument)]
        if given - options or (words and not given and not arguments):
            wrong.append(line)
    assert wrong == []
