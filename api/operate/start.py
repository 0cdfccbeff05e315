"""Starts one program of the service for a process manager other than `pcds serve`: `python -m api.operate.start NAME`.

The process becomes the program, with the environment variables that it needs (`warehouse.operate.dagster_home`). Which
programs
there are (`api.operate.programs`) and supervision do not belong here.
"""

import argparse
import os
import sys
import time
from typing import Final

from api.operate import programs
from warehouse.operate import dagster_home, logs
from warehouse.operate.database import Database
from warehouse.operate.settings import Settings, SettingsError

_PAUSE_SECONDS: Final = 0.25


def main() -> None:
    """Become the program; one that needs the code server waits for it."""
    parser = argparse.ArgumentParser(prog="python -m api.operate.start", description=main.__doc__)
    parser.add_argument("name", choices=sorted(programs.BY_NAME))
    try:
        settings = Settings.load()
        logs.configure(settings)
        logs.name_misspelt()
        program = programs.BY_NAME[parser.parse_args().name](settings)
        variables = settings.environment() | dagster_home.environment(settings, Database.of(settings))
    except SettingsError as error:
        sys.exit(str(error))
    while program.after is not None and not dagster_home.answers(program.after):
        time.sleep(_PAUSE_SECONDS)
    os.execve(program.command[0], program.command, programs.MEMORY | os.environ | variables)  # noqa: S606


if __name__ == "__main__":
    main()
