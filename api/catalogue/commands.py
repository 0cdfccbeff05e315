"""`pcds catalogue refresh`: load the jurisdiction catalogue, as a Dagster run that the analyst sees too."""

from pathlib import Path
from typing import Annotated

import typer

from api.operate.program import AsJson, DataDir, login_name, run_in_dagster, show
from warehouse.operate.settings import Settings

app = typer.Typer(help="The jurisdiction catalogue.", no_args_is_help=True)
app.callback()(lambda: None)


@app.command("refresh")
def refresh(
    *,
    file: Annotated[Path | None, typer.Option("--file", help="A CSV of its columns.")] = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Load the release's catalogue, or a file that stands until the next refresh, and say what changed."""
    settings = Settings.load(data_dir=data_dir)
    source = ["--operator", login_name(), *(["--file", str(file.absolute())] if file else [])]
    changes = run_in_dagster(settings, "catalogue-refresh", *source, refused="The catalogue was not refreshed.")
    show(changes, as_json=as_json)
