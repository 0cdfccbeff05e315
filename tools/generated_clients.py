"""Checks three client generators: generates a client of the document with each, compiles it and uses it on a service.

    python -m tools.generated_clients

They are openapi-typescript, @hey-api/openapi-ts and openapi-python-client; none needs a JVM. Their packages come from
the machine's npm and Python registries, pinned and hashed in `tools/api_clients/`, and are cached in `.lint_cache/`.
"""

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import Final

from api.app import build_app
from tools import node_packages
from tools.node_packages import NODE
from tools.service import Service, running

CLIENTS: Final = Path(__file__).with_name("api_clients")
_BYTES: Final = dict.fromkeys(
    (
        "application/pdf",
        "application/zip",
        "text/csv",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ),
    "application/octet-stream",
)
"""Media types of files that the Python generator does not take for bytes, each with the one that it does."""
_LOCK: Final = CLIENTS / "requirements.lock"


def main() -> None:
    """Exit with status 0 where the journeys of all three pass; else with the failing command's output."""
    with tempfile.TemporaryDirectory(prefix="pcds-clients-") as directory, running() as service:
        check(service, Path(directory))
    sys.stdout.write("Three generated clients were compiled and did their work.\n")


def check(service: Service, place: Path) -> None:
    """Make the three in an empty folder and use them on a running service; exit with what failed."""
    home = node_packages.installed(CLIENTS)
    if home is None:
        sys.exit("The generators could not be installed: does this machine reach an npm registry? Nothing was checked.")
    (place / "openapi.json").write_text(json.dumps(build_app().openapi()), encoding="utf-8")
    _typescript(home, place, service)
    _python(environment(), place, service)


def _typescript(home: Path, place: Path, service: Service) -> None:
    """Generate both clients, compile them strictly together, and run the two journeys."""
    packages = place / "node_modules"
    packages.symlink_to(home / "node_modules")
    for name in ("package.json", "tsconfig.json", "openapi-ts.config.js", "openapi_fetch.ts", "hey_api.ts"):
        shutil.copy(CLIENTS / name, place)
    run(NODE, packages / "openapi-typescript" / "bin" / "cli.js", "openapi.json", "-o", "schema.d.ts", cwd=place)
    hey = packages / "@hey-api" / "openapi-ts" / "bin" / "run.js"
    run(NODE, hey, cwd=place)
    run(NODE, packages / "typescript" / "bin" / "tsc", "-p", ".", cwd=place)
    for journey in ("openapi_fetch.js", "hey_api.js"):
        run(NODE, place / "built" / journey, cwd=place, service=service)


def _python(python: Path, place: Path, service: Service) -> None:
    """Generate the package, compile every module of it, and run the journey."""
    python_package(python, place)
    run(python, "-W", "error", "-m", "compileall", "-q", "pcds_client", cwd=place)
    shutil.copy(CLIENTS / "journey.py", place)
    run(python, "journey.py", cwd=place, service=service)


def python_package(python: Path, place: Path, *options: str | Path) -> None:
    """Generate the package `pcds_client` from the `openapi.json` of a folder."""
    config = place / "config.json"
    settings = {"package_name_override": "pcds_client", "content_type_overrides": _BYTES}
    config.write_text(json.dumps(settings), encoding="utf-8")
    run(
        python.with_name("openapi-python-client"),
        "generate",
        "--path",
        "openapi.json",
        "--meta",
        "none",
        "--output-path",
        "pcds_client",
        "--config",
        config,
        "--fail-on-warning",
        *options,
        cwd=place,
        path=python.parent,
    )


def environment() -> Path:
    """Return the Python of an environment with only the generator, cached under the hash of its lock."""
    home = node_packages.CACHE / f"api_clients-python-{hashlib.sha256(_LOCK.read_bytes()).hexdigest()[:16]}"
    python = home / "bin" / "python"
    node_packages.CACHE.mkdir(exist_ok=True)
    with home.with_suffix(".lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another process waits until this one has made it
        if not (home / "complete").exists():
            shutil.rmtree(home, ignore_errors=True)
            venv.create(home, with_pip=True)
            install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes"]
            run(python, *install, "-r", _LOCK, cwd=CLIENTS)
            (home / "complete").touch()
    return python


_DAY_OF_FILES: Final = "315532800"
"""1 January 1980, in seconds: the first day that a zip file can name."""


def run(*command: str | Path, cwd: Path, service: Service | None = None, path: Path | None = None) -> None:
    """Run a program; exit with what it said where it fails."""
    variables = {**os.environ, "SOURCE_DATE_EPOCH": _DAY_OF_FILES}  # equal files make an equal wheel
    if service is not None:
        variables |= {"PCDS_URL": service.address, "PCDS_KEY": service.key}
    if path is not None:
        variables["PATH"] = f"{path}{os.pathsep}{variables['PATH']}"
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"{Path(command[0]).name} {' '.join(map(str, command[1:]))}\n{done.stdout}")


if __name__ == "__main__":
    main()
