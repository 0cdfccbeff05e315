"""`pcds`: one program for operators and for people who try the service out; each group of commands has a file.

Exit status 0 done, 1 refused with one plain sentence on standard error, 2 wrong usage (decisions §8).
"""

import sys
from typing import NoReturn

import psycopg
import typer

from api.commands import (
    audit,
    catalogue,
    company,
    declaration,
    doc,
    export,
    imports,
    key,
    library,
    regrade,
    rollup,
    ruleset,
    service,
    snapshot,
    supplier_request,
    template,
    user,
    window,
)
from api.commands.shared import Refusal
from warehouse.embedded import ServerError
from warehouse.settings import SettingsError

app = typer.Typer(
    name="pcds", help=__doc__, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False,
    rich_markup_mode=None,
)  # fmt: skip
app.command("serve")(service.serve)
app.command("migrate")(service.migrate)
app.command("import")(imports.import_file)
app.command("export")(export.export_portfolio)
app.command("template")(template.write_template)
app.add_typer(company.app, name="company")
app.add_typer(key.app, name="key")
app.add_typer(window.app, name="window")
app.add_typer(user.app, name="user")
for kind in library.APPS:
    app.add_typer(library.APPS[kind], name=kind)
app.add_typer(doc.app, name="doc")
app.add_typer(catalogue.app, name="catalogue")
app.add_typer(ruleset.app, name="ruleset")
app.add_typer(audit.app, name="audit")
app.add_typer(supplier_request.app, name="supplier-request")
app.command("snapshot")(snapshot.snapshot)
app.command("regrade")(regrade.regrade)
app.command("rollup")(rollup.rollup)
app.command("declaration")(declaration.declaration)


def main() -> None:
    """The entry point: a refusal is one sentence, never a traceback."""
    try:
        app()
    except (Refusal, SettingsError, ServerError) as refusal:
        _refuse(str(refusal))
    except psycopg.OperationalError as error:
        _refuse(f"The database cannot be reached: {' '.join(str(error).split())}")


def _refuse(sentence: str) -> NoReturn:
    print(sentence, file=sys.stderr)
    sys.exit(1)


if __name__ == "__main__":
    main()
