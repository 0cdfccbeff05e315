"""Runs a command as a Dagster run, which the analyst sees too: a child process runs it and returns one record.

This program starts without Dagster; `pipelines.engine.run` imports it.
"""

import os
import subprocess
import sys

import orjson

from api.commands.operator import require_place, with_tables
from api.commands.shared import Refusal
from schemas.json_values import JsonObject
from warehouse.settings import Settings


def run(settings: Settings, name: str, *arguments: str, refused: str) -> JsonObject:  # JSON
    """Return the record of run `name` of `pipelines.engine.run`; raise `Refusal`, which begins with `refused`."""
    command = [sys.executable, "-m", "pipelines.engine.run", name, "--json", *arguments]
    require_place(settings, files=True)  # Dagster's home and the run's output are in it
    with with_tables(settings):
        # Our own program, with arguments that no shell reads.
        process = subprocess.run(  # noqa: S603
            command, env=os.environ | settings.environment(), capture_output=True, text=True, check=False
        )
    if process.returncode != 0:
        last = process.stderr.strip().splitlines()[-1:] or ["The run said nothing."]
        raise Refusal(f"{refused} {last[0]}")
    return dict(orjson.loads(process.stdout))
