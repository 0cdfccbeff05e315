"""Run real clients of the protocol against a running connector: each lists the tools and calls two.

They are the TypeScript clients of both generations and the inspector's command line, pinned in `tools/mcp_clients/`.
The tests cover the Python client (`tests/connector/test_over_http.py`). Without a registry nothing is checked, and the
program reports that.
"""

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from tools import node_packages

PACKAGES: Final = Path(__file__).parent / "mcp_clients"
SCRIPTS: Final = (("older.mjs",), ("newer.mjs", "legacy"), ("newer.mjs", "auto"), ("newer.mjs", "2026-07-28"))
"""Runs of the TypeScript clients: a script and its arguments."""
INSPECTIONS: Final = tuple(
    ("--protocol-era", era, "--method", *call)
    for era in ("legacy", "modern")
    for call in (
        ("tools/list", "--strict"),
        ("tools/call", "--tool-name", "list_packaging_items", "--tool-arg", "limit=1"),
        ("tools/call", "--tool-name", "get_product_facts", "--tool-arg", "limit=1"),
    )
)
"""Runs of the inspector; `--strict` fails where a tool's schema is not portable."""
_INSPECTOR: Final = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
_SECONDS: Final = 180


def main() -> int:
    """Return exit status 0 where every client got its answers; 2 where the clients could not be installed."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--url", default="http://127.0.0.1:8000/api/mcp", help="address of the connector")
    arguments.add_argument("--token", default=os.environ.get("PCDS_CONNECTOR_TOKEN"), help="access token")
    asked = arguments.parse_args()
    if not asked.token:
        sys.exit("Name an access token of a connection: --token, or PCDS_CONNECTOR_TOKEN.")
    home = installed()
    if home is None:
        print("SKIPPED: the clients could not be installed; does this machine reach an npm registry?")
        return 2
    failed = 0
    for run in (*SCRIPTS, *INSPECTIONS):
        done = (ask if run in SCRIPTS else inspect)(home, asked.url, asked.token, *run)
        failed += done.returncode != 0
        print(f"{'failed' if done.returncode else 'passed'}: {' '.join(run)}")
        print(done.stderr if done.returncode else "", end="")
    return 1 if failed else 0


def installed() -> Path | None:
    """Return the folder with scripts and packages; None where these are not installed and no registry answers."""
    home = node_packages.installed(PACKAGES)
    if home is not None:
        for script in PACKAGES.glob("*.mjs"):
            shutil.copy(script, home)
    return home


def ask(home: Path, url: str, token: str, script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a script of `tools/mcp_clients/` with an access token."""
    return _run([home / script, *arguments], MCP_URL=url, MCP_TOKEN=token)


def inspect(home: Path, url: str, token: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the inspector's command line with an access token."""
    reached = ("--server-url", url, "--transport", "http", "--header", f"Authorization: Bearer {token}")
    return _run([home / _INSPECTOR, "--cli", *reached, "--format", "json", *arguments])


def _run(command: list[str | Path], **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [node_packages.NODE, *command],
        check=False,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=_SECONDS,
    )


if __name__ == "__main__":
    sys.exit(main())
