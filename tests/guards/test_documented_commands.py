"""What the documents print is a command, and takes the options and arguments that they print.

Those of the operators' pages are run (`tests.documented`), on a service by tests/journeys/test_documents.py; what
cannot be run is listed there with its reason, and parsed here. So is every `pcds` command of the other pages.
"""

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

from api.operate import start
from tests import documented
from tests.documented import ROOT, Command, faults
from warehouse.operate.settings import Settings

PROGRAMS = start.programs(Settings.load())

PAGES = sorted([ROOT / "README.md", ROOT / "SECURITY.md", *(ROOT / "docs").glob("*.md")])
_BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)
_SPAN = re.compile(r"`(pcds\s+[a-z-][^`]+)`")
_END = re.compile(r"[|;&<>)]|\s#")
"""Where a shell's line goes on with something else."""
OPTIONS = {
    "apt install": (),
    "dagster api grpc": (),
    "kubectl apply": ("-k", "-f", "--dry-run"),
    "kubectl create secret generic": ("--from-file",),
    "kubectl delete job": (),
    "pip install": ("--require-hashes", "-r"),
    "podman build": ("-f", "-t"),
    "podman network inspect": (),
    "podman-compose build": (),
    "podman-compose exec": (),
    "podman-compose up": ("-d",),
    "promtool test rules": (),
    "pytest": ("-m",),
    "systemd-analyze verify": (),
}
"""The options that a program of others takes, of those that the documents print."""
COMPOSE = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text(encoding="utf-8"))


def printed(page: Path) -> set[str]:
    """The commands of `pcds` in the page's blocks and sentences."""
    text = page.read_text(encoding="utf-8")
    lines = [line for block in _BLOCK.findall(text) for line in block.replace("\\\n", " ").splitlines()]
    blocks = [line[found.start(1) :] for line in lines if (found := re.search(r"(?:^|\s|/)(pcds\s+[a-z-].+)", line))]
    spans = [" ".join(span.split()) for span in _SPAN.findall(_BLOCK.sub("", text))]
    return {_END.split(re.sub(r"\[(.*?)\]", r"\1", each))[0].strip() for each in (*blocks, *spans)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_a_page_prints_is_a_command_with_these_options(page: Path) -> None:
    lines = sorted(printed(page))
    assert {line: fault for line in lines if (fault := faults(shlex.split(line)[1:]))} == {}


def test_what_is_not_run_is_listed_and_printed_somewhere() -> None:
    found = [*documented.pages()]
    assert {command.deployment for command in found if not command.parsed} == {"embedded", "external", "containers"}
    listed = {text for texts in documented.NOT_RUN.values() for text in texts}
    assert listed - {command.text for command in found} == set(), "printed no more"
    others = {command.text: command.words[0] for command in found if not command.parsed and not _is_run(command)}
    assert others == {}, "run it in tests/journeys/test_documents.py, or say in tests.documented.NOT_RUN why it is not"


def _is_run(command: Command) -> bool:
    first = command.text.split()[0]
    return first in {"pcds", "cp", "mkdir", "openssl", "head", "rm", *documented.SQL}


def test_a_command_that_nobody_lists_is_found() -> None:
    def found(text: str) -> list[tuple[str, str]]:
        return [(command.text, command.parsed) for command in documented.commands_of("backup", text)]

    assert found("```console\nmysterious --now  # why\n```\nand `pcds\ndoctor [--json]`, `PCDS_PORT`, `4 h`") == [
        ("mysterious --now", ""),
        ("pcds doctor --json", ""),
    ]
    assert found("## A part\n`pcds restore`")[0][1] == "it is only named, without its arguments"
    for unknown in ("`mysterious --now`", "```sh\nls\n```\n"):
        with pytest.raises(ValueError, match="neither"):
            found(unknown)


@pytest.mark.parametrize(
    "command", [each for each in documented.pages() if each.parsed], ids=lambda each: f"{each.page}: {each.text}"
)
def test_what_is_not_run_has_programs_options_and_files_that_exist(command: Command) -> None:
    if "…" not in command.text and "COMMAND" not in command.words:
        assert [*_wrong(command.words)] == []


def _wrong(words: list[str]) -> Iterator[str]:
    match words:
        case ["pcds", *rest]:
            yield from filter(None, [faults(rest)])
        case ["make", target]:
            if not re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE):
                yield f"no target {target}"
        case ["python", "-m", module, *names]:
            if find_spec(module) is None or {*names} - {*PROGRAMS, "NAME"}:
                yield f"no program {module} {names}"
        case ["export", *settings]:
            known = {*Settings.model_construct(**dict.fromkeys(Settings.model_fields, "x")).environment()}
            yield from {each.partition("=")[0] for each in settings} - known - {"PCDS_DAGSTER_YAML", "PCDS_CELERY_URL"}
        case _:
            yield from _wrong_of_others(words)


def _wrong_of_others(words: list[str]) -> Iterator[str]:
    """Options, and paths of this repository, of a program that is not ours."""
    if words[0] == "podman-compose" and words[1] == "-f":
        words = [words[0], *words[3:], words[2]]
    named = next((name for name in OPTIONS if words[: len(name.split())] == name.split()), None)
    if named is None:
        yield f"{words[0]} has no such command in OPTIONS"
        return
    rest = words[len(named.split()) :]
    if named == "podman-compose exec":
        if rest[0] not in COMPOSE["services"]:
            yield f"compose.yaml has no {rest[0]}"
        yield from _wrong(rest[1:])
        return
    yield from {word.partition("=")[0] for word in rest if word.startswith("-")} - {*OPTIONS[named]}
    yield from [word for word in rest if re.search(r"^deploy/|\.(?:lock|yaml)$", word) and not _exists(word)]


def _exists(path: str) -> bool:
    return any((ROOT / folder / path).exists() for folder in (".", "deploy/prometheus"))


def test_a_folder_is_made_ready_for_containers_as_printed(tmp_path: Path) -> None:
    """The commands that need no engine, in one shell; who is not root cannot give a file to the image's user."""
    shutil.copytree(ROOT / "deploy", tmp_path / "deploy")
    lines = [each.text for each in documented.pages() if each.deployment == "containers" and not each.parsed]
    stub = "" if os.geteuid() == 0 else "chown() { :; }\n"
    done = subprocess.run(
        ["bash", "-c", f"set -eu\n{stub}" + "\n".join(lines)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    deploy = tmp_path / "deploy"
    for secret in COMPOSE["secrets"].values():
        assert (deploy / secret["file"]).stat().st_size >= 32
    for of in OURS_WITH_FILE:
        assert (deploy / of).is_file()


OURS_WITH_FILE = {file for service in COMPOSE["services"].values() for file in service.get("env_file", ())}
