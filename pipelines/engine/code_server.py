"""Runs Dagster's own code server, with Dagster's tables made first (`python -m pipelines.engine.code_server`).

It looks for the state of definitions in Dagster's storage as it starts, before any other program has made the tables.
The options are those of `dagster api grpc`; `api.operate.start` has them.
"""

import runpy
import sys
from contextlib import redirect_stdout

from pipelines.engine.instance import make_tables


def main() -> None:
    """Serve the definitions until SIGTERM; the environment is the supervisor's (`warehouse.operate.dagster_home`)."""
    make_tables()
    sys.argv = ["dagster", "api", "grpc", *sys.argv[1:]]
    with redirect_stdout(sys.stderr):  # Dagster would log to standard output, which nobody reads
        runpy.run_module("dagster", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
