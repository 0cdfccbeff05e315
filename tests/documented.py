"""The commands that the operators' documents print: found in their blocks and sentences, and how a test holds each.

What belongs here: which commands there are, and which of them are run. A command is run on the deployment that its page
or section speaks of, unless `NOT_RUN` says why not. tests/guards/test_documented_commands.py parses those and runs what
makes a folder ready for containers; tests/journeys/test_documents.py runs the rest.
"""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import typer
from typer.core import TyperArgument, TyperGroup

from api import cli

ROOT: Final = Path(__file__).parents[1]
OPERATORS: Final = ("operations", "backup", "containers", "scaling")
DEPLOYMENTS: Final = {
    "operations": "embedded",
    "backup": "embedded",
    "backup/Your own Postgres": "external",
    "scaling": "external",
    "containers": "containers",
}
"""What a page's commands speak of, or a section's of it: a service with its own Postgres, a Postgres 15 or 18 of the
operator's, or an engine of containers."""
FENCES: Final = {"console", "haproxy"}
"""What a block may hold; the commands are in the first."""
PROGRAMS: Final = frozenset(
    [
        "apt",
        "chown",
        "cp",
        "curl",
        "dagster",
        "docker",
        "export",
        "head",
        "kubectl",
        "make",
        "mkdir",
        "openssl",
        "pcds",
        "pip",
        "podman",
        "podman-compose",
        "promtool",
        "psql",
        "pytest",
        "python",
        "rm",
        "systemctl",
        "systemd-analyze",
    ]
)
WORDS: Final = frozenset({"appendonly", "proxy_http_version", "run", "step"})
"""First words of what looks like a command, and is none: settings of others' programs, and names of spans."""
SQL: Final = frozenset(["ALTER", "CREATE", "GRANT", "REVOKE", "SELECT", "UPDATE", "DELETE", "INSERT", "DROP"])
_SECTION: Final = re.compile(r"^#{2,3} (.+)$", re.MULTILINE)
_BLOCK: Final = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_SPAN: Final = re.compile(r"`([^`]+)`")
_VARIABLES: Final = re.compile(r"^(?:[A-Z_]+=\S+ )*")
NOT_RUN: Final[dict[str, tuple[str, ...]]] = {
    "it does not end; pcds serve, tests/journeys/test_compose.py and test_distributed.py start it": (
        "dagster api grpc",
        "python -m api.operate.server",
        "python -m api.operate.forker",
        "python -m pipelines.engine.worker",
        "python -m pipelines.engine.ui",
        "python -m pipelines.engine.daemon",
        "python -m pipelines.readers.child",
        "python -m pipelines.readers.template",
        "python -m api.operate.start NAME",
        "python -m api.operate.start api",
        "python -m api.operate.start celery-worker",
    ),
    "it takes minutes, or changes this repository": (
        "make at-rest",
        "make serve",
        "make soak",
        "make record-release",
        "make test-all",
        "make conformance",
        "make mcp-clients",
        "make distributed",
        "python -m tools.full_disk",
        "python -m tools.hostile_load",
        "python -m tools.record_examples",
        "pytest -m 'not browser'",
    ),
    "it sets what the next line needs": (
        "export PCDS_DAGSTER_YAML=deploy/celery/dagster.yaml PCDS_CELERY_URL=redis://redis.example.com:6379/0",
        "export PCDS_WARM_WORKERS=false",
    ),
    "it makes another environment, as make distributed does": (
        "pip install --require-hashes -r requirements-distributed.lock",
    ),
    "tests/guards/test_deploy.py runs it": ("promtool test rules alerts.test.yaml",),
    "tests/guards/test_containers.py runs it": ("systemd-analyze verify",),
    "a part of it is left out": (
        "pcds COMMAND",
        "PUBLISH_ADDRESS=10.0.0.5 podman-compose … up -d",
        "GRANT CONNECT ON DATABASE … TO …",
    ),
    "it needs an engine of containers": (
        "podman build -f deploy/Containerfile -t pcds .",
        "podman network inspect pcds_default",
        "podman-compose -f deploy/compose.yaml up -d",
        "podman-compose build",
        "podman-compose up -d",
        "podman-compose exec api-1 pcds doctor",
        "podman-compose exec worker-1 pcds backup /data/backup",
    ),
    "it needs a cluster": (
        "kubectl apply -k deploy/kubernetes/overlays/example",
        "kubectl apply --dry-run=client",
        "kubectl create secret generic pcds-keys --from-file=connector.key=FILE --from-file=audit.key=FILE",
        "kubectl delete job pcds-migrate",
    ),
}
"""Why a command is parsed, and not run. Every other one is run; so a new one is run, or put here."""
_REASONS: Final = {text: reason for reason, texts in NOT_RUN.items() for text in texts}


@dataclass(frozen=True, slots=True)
class Command:
    """A line of a block, or a span of a sentence."""

    page: str
    section: str
    text: str
    is_block: bool

    @property
    def words(self) -> list[str]:
        """Its first command's words, without the variables before and what a shell does after them."""
        lexer = shlex.shlex(_VARIABLES.sub("", self.text), posix=True, punctuation_chars="();<>|&")
        lexer.whitespace_split = True
        found = []
        for word in lexer:
            if set(word) <= set("();<>|&"):
                break
            found.append(word)
        return found

    @property
    def deployment(self) -> str:
        return DEPLOYMENTS.get(f"{self.page}/{self.section}") or DEPLOYMENTS[self.page]

    @property
    def parsed(self) -> str:
        """Why it is parsed and not run; empty for one that is run."""
        if not self.is_block and self.text.startswith("pcds ") and is_only_named(self.words[1:]):
            return "it is only named, without its arguments"
        if self.text.startswith("pcds serve"):
            return "it does not end; tests/journeys/test_documents.py runs the rest on it"
        return _REASONS.get(self.text, "")


def pages() -> Iterator[Command]:
    """Every command of the operators' documents, in their order."""
    for page in OPERATORS:
        yield from commands_of(page, (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8"))


def commands_of(page: str, text: str) -> Iterator[Command]:
    """Every command of a page. Raises `ValueError` for what might be one and is not known."""
    places = [(0, ""), *((found.start(), found[1]) for found in _SECTION.finditer(text))]

    def section_at(place: int) -> str:
        return [title for start, title in places if start <= place][-1]

    found = []
    for block in _BLOCK.finditer(text):
        if block[1] not in FENCES:
            raise ValueError(f"{page}: a block of {block[1] or 'nothing'} is neither commands nor known to be none")
        if block[1] == "console":
            lines = block[2].replace("\\\n", " ").splitlines()
            lines = [re.sub(r"\s+# .*", "", line) for line in lines]
            found += [(block.start(), Command(page, section_at(block.start()), line, True)) for line in lines if line]
    sentences = _BLOCK.sub(lambda block: " " * len(block[0]), text)
    for span in _SPAN.finditer(sentences):
        said = " ".join(span[1].split())
        first, _, more = _VARIABLES.sub("", said).partition(" ")
        if more and (first in PROGRAMS or first in SQL):
            said = re.sub(r"\[(--.*?)\]", r"\1", said)  # what may be left out
            found.append((span.start(), Command(page, section_at(span.start()), said, False)))
        elif more and re.fullmatch(r"[a-z][\w.-]*", first) and first not in WORDS:
            raise ValueError(f"{page}: `{said}` is neither a program's of PROGRAMS nor one of WORDS")
    yield from (command for _, command in sorted(found, key=lambda each: each[0]))


@cache
def program() -> TyperGroup:
    """`pcds` with all its commands."""
    found = typer.main.get_command(cli.build_program(cli.COMMANDS))
    assert isinstance(found, TyperGroup)
    return found


def is_only_named(words: list[str]) -> bool:
    """Whether a sentence names a command of `pcds` that needs arguments, and gives none."""
    command, left = program(), list(words)
    while left and isinstance(command, TyperGroup) and left[0] in command.commands:
        command = command.commands[left.pop(0)]
    needed = isinstance(command, TyperGroup) or any(each.required for each in command.params)
    return needed and not left


def faults(words: list[str]) -> str:
    """What is wrong with the words after `pcds`: an option or an argument that the command does not take."""
    command, left = program(), list(words)
    while left and isinstance(command, TyperGroup) and left[0] in command.commands:
        command = command.commands[left.pop(0)]
    if left and isinstance(command, TyperGroup):  # `pcds declaration OUT` writes
        command = command.commands.get("write", command)
    options = {name for each in command.params for name in (*each.opts, *each.secondary_opts)}
    given = {word.partition("=")[0] for word in left if word.startswith("--")}
    arguments = [each for each in command.params if isinstance(each, TyperArgument)]
    if unknown := given - options:
        return f"takes no {', '.join(sorted(unknown))}"
    return "takes no argument" if left and not given and not arguments else ""
