"""Calls every operation of a running service in every way that its document allows, and in some that it does not.

`schemathesis.toml` configures the calls; arguments are passed to `st run` unchanged:

    python -m tools.fuzz_api --seed 2 --max-examples 200
"""

import os
import subprocess
import sys
from pathlib import Path

from tools.service import ROOT, running


def main() -> int:
    """Run `st run` and return its exit status."""
    program = str(Path(sys.executable).with_name("st"))
    with running() as service:
        command = [program, "run", f"{service.address}/api/v1/openapi.json", *sys.argv[1:]]
        environment = os.environ | {"PCDS_FUZZ_KEY": service.key}
        return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
