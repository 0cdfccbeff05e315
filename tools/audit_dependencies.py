"""Looks up known weaknesses of the locked dependencies: `make audit`.

    python -m tools.audit_dependencies

Exit status 1 where one is known. Where the data cannot be had, as without a network, it says so and ends with 0: a gate
that fails for that reason would be switched off.
"""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

LOCKS: Final = ("requirements.lock", "requirements-build.lock", "requirements-distributed.lock")
SOURCES: Final = ("pypi", "osv")
_SECONDS: Final = 120
_TIMEOUT_SECONDS: Final = 8


def told(report: Mapping[str, Any]) -> tuple[list[str], int]:
    """Return a line for each known weakness, and how many dependencies were looked up."""
    looked_up = [each for each in report["dependencies"] if "skip_reason" not in each]
    lines = [
        f"{each['name']} {each['version']}: {found['id']}, mended in {', '.join(found['fix_versions']) or 'no release'}"
        for each in looked_up
        for found in each["vulns"]
    ]
    return lines, len(looked_up)


def ask(lock: str, source: str) -> tuple[list[str], int]:
    """Ask one source about one lock; nothing is looked up where it cannot be reached."""
    options = ["--no-deps", "--disable-pip", "--format", "json", "--progress-spinner", "off", "--vulnerability-service"]
    command = [sys.executable, "-m", "pip_audit", "-r", lock, *options, source, "--timeout", str(_TIMEOUT_SECONDS)]
    root = Path(__file__).parent.parent
    try:
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=_SECONDS, check=False)
        return told(json.loads(done.stdout))
    except (subprocess.TimeoutExpired, json.JSONDecodeError):
        return [], 0


def main(locks: Sequence[str] = LOCKS) -> None:
    """Ask the sources in turn about each lock, until one has the data."""
    weaknesses: dict[str, None] = {}
    for lock in locks:
        for source in SOURCES:
            lines, number = ask(lock, source)
            if number:
                print(f"{lock}: {number} dependencies looked up at {source}, {len(lines)} weaknesses known")
                weaknesses |= dict.fromkeys(lines)
                break
        else:
            print(f"WARNING: {lock} was not audited: no source of known weaknesses can be reached.", file=sys.stderr)
    if weaknesses:
        sys.exit("\n".join(weaknesses))


if __name__ == "__main__":
    main()
