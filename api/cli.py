"""`pcds`: one program for operators and for people who try the service out; each group of commands has a file.

Exit status 0 done, 1 refused with one plain sentence on standard error, 2 wrong usage (decisions §8).
"""

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from importlib.metadata import version
from typing import Annotated, Any, Final, NoReturn  # Any: typer's own signature

import structlog
import typer
from pydantic import ValidationError
from typer.core import TyperGroup

from api.operate.options import Refusal
from schemas.texts import control_in
from warehouse.operate.embedded import ServerError
from warehouse.operate.settings import SettingsError
from warehouse.operate.surroundings import sentence_of

COMMANDS: Final[Mapping[str, tuple[str, str]]] = {
    "serve": ("operate.serve", "serve"),
    "migrate": ("operate", "migrate"),
    "backup": ("operate", "backup"),
    "restore": ("operate", "restore"),
    "import": ("imports", "import_file"),
    "export": ("exports", "export_portfolio"),
    "template": ("imports", "write_template"),
    "company": ("companies", "app"),
    "key": ("accounts", "keys_app"),
    "deployment-key": ("operate", "app"),
    "sandbox": ("companies", "test_company_app"),
    "window": ("accounts", "windows_app"),
    "user": ("accounts", "app"),
    "staff": ("staff", "app"),
    "brand": ("library", "APPS"),
    "site": ("library", "APPS"),
    "supplier": ("library", "APPS"),
    "component": ("library", "APPS"),
    "word": ("imports", "app"),
    "folder": ("imports", "folders_app"),
    "doc": ("conformity", "app"),
    "catalogue": ("catalogue", "app"),
    "ruleset": ("rules", "app"),
    "audit": ("audit", "app"),
    "supplier-request": ("suppliers", "app"),
    "snapshot": ("figures", "snapshot"),
    "regrade": ("figures", "regrade"),
    "rollup": ("figures", "rollup"),
    "declaration": ("filings", "app"),
    "doctor": ("operate", "doctor"),
}
"""Each command's subject, whose `commands` have it, or its module, and its function, group or groups by name."""


class _Group(TyperGroup):
    """The program; a value that cannot be read is refused in the sentence that the API has for it, too."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was named."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as fault:
            if isinstance(fault.__cause__, ValidationError):
                inputs = import_module("schemas.skus.inputs")  # only here: it takes long
                [issue, *_] = inputs.issues_of(fault.__cause__)
                fault.message = issue.message
            raise


def build_program(names: Iterable[str]) -> typer.Typer:
    """Return the program with these commands; other commands' modules are not imported, as that takes long."""
    app = typer.Typer(
        name="pcds",
        cls=_Group,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        no_args_is_help=True,
    )
    app.callback(help=__doc__)(_options)
    for name in names:
        module, attribute = COMMANDS[name]
        command = getattr(import_module(f"api.{module}" if "." in module else f"api.{module}.commands"), attribute)
        command = command[name] if isinstance(command, Mapping) else command
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name)
        else:
            app.command(name)(command)
    return app


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"pcds {version('packaging-compliance-data-service')}")
        raise typer.Exit


def _options(
    *,
    asks_version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the release and stop.")
    ] = False,
) -> None:
    """Take the options that stand before a command."""


def main() -> None:
    """Run the command line."""
    in_plain_words(_main)


def _main() -> None:
    # Standard output is the answer's. The stream is looked up for each line: a test's own is closed after it.
    if not structlog.is_configured():
        structlog.configure(logger_factory=lambda *_: structlog.PrintLogger(sys.stderr))
    for argument in sys.argv[1:]:
        if (sentence := control_in(argument)) is not None:
            raise Refusal(sentence)
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    build_program([name] if name in COMMANDS else COMMANDS)()


def in_plain_words(program: Callable[[], None]) -> None:
    """Run a program; where it is refused, exit with status 1 and one sentence, never a traceback."""
    try:
        program()
    except (Refusal, SettingsError, ServerError) as refusal:
        _refuse(str(refusal))
    except Exception as error:
        sentence = sentence_of(error)
        if sentence is None:  # a fault of this program: its traceback is needed
            raise
        _refuse(sentence)


def _refuse(sentence: str) -> NoReturn:
    print(sentence, file=sys.stderr)
    sys.exit(1)


if __name__ == "__main__":
    main()
