"""`pcds template`: write a workbook to fill in and import. `pipelines.imports.template` defines its contents."""

from pathlib import Path
from typing import Annotated

import typer

from api.commands.shared import AsJson, DataDir, Refusal, check_choices, show
from pipelines.imports.template import template
from schemas.labels import LANGUAGES


def write_template(
    *,
    target: Annotated[Path, typer.Argument(metavar="OUT.xlsx", help="Where it is written.", dir_okay=False)],
    lang: Annotated[str, typer.Option("--lang", help="en, fr or de.")] = "en",
    data_dir: DataDir = None,  # noqa: ARG001  (every command takes it; this one needs no data)
    as_json: AsJson = False,
) -> None:
    """Write a workbook with both sheets, drop-downs, a comment per column and an example that an import skips."""
    check_choices(LANGUAGES, [lang])
    if target.suffix.lower() != ".xlsx":
        raise typer.BadParameter("The template is an Excel workbook: name it .xlsx.", param_hint="OUT.xlsx")
    try:
        target.write_bytes(template(lang))
    except OSError as error:
        raise Refusal(f"{target} cannot be written: {error.strerror}.") from None
    show({"file": str(target), "lang": lang}, as_json=as_json)
