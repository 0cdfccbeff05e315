"""`pcds catalogue refresh`: load the jurisdiction catalogue, as a run that the analyst sees too.

The run is a child process, because it is Dagster's and this program starts without Dagster.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import orjson
import typer

from api.commands.operator import with_tables
from api.commands.shared import AsJson, DataDir, Refusal, show
from warehouse.settings import Settings

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
    command = [sys.executable, "-m", "pipelines.run", "catalogue-refresh", "--json"]
    command += ["--file", str(file.absolute())] if file else []
    with with_tables(settings):
        # Our own program, with arguments that no shell reads.
        done = subprocess.run(  # noqa: S603
            command, env=os.environ | settings.environment(), capture_output=True, text=True, check=False
        )
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or ["The run said nothing."]
        raise Refusal(f"The catalogue was not refreshed. {last[0]}")
    show(orjson.loads(done.stdout), as_json=as_json)
