"""The official clients installed as a user has them, from packages that the service serves or served, and programs run.

That the packages are what is built of today's document: `test_clients.py`, and by a digest `tests/guards`.
"""

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tools import build_clients
from tools.generated_clients import CLIENTS, environment
from tools.node_packages import NODE


def python(place: Path, packages: Path = build_clients.BUILT) -> Path:
    """Install the wheel that the service serves, or one of another folder of packages, into a folder."""
    [wheel] = packages.glob("*.whl")
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--disable-pip-version-check"]
    subprocess.run([*install, "--target", place / "installed", wheel], check=True)
    return place


def run_python(place: Path, program: Path, variables: dict[str, str]) -> str:
    """Return what a program with the wheel says; its libraries are the client's own dependencies."""
    path = {"PYTHONPATH": str(place / "installed")}
    return _said([environment(), "-W", "error", program], place, variables | path)


def modules() -> Path:
    """Return the folder with the generator and the compiler; skip where no registry can be reached."""
    found = build_clients.modules()
    if found is None:
        pytest.skip("NOT CHECKED: the TypeScript client needs an npm registry once, and none can be reached")
    return found


def typescript(place: Path, packages: Path = build_clients.BUILT) -> Path:
    """Install the package that the service serves, or one of another folder of packages, with the compiler beside it.

    The test is skipped where no registry can be reached.
    """
    [package] = packages.glob("*.tgz")
    installed = place / "node_modules"
    installed.mkdir()
    for each in modules().iterdir():
        (installed / each.name).symlink_to(each)
    with tarfile.open(package) as packed:
        packed.extractall(place, filter="data")
    (place / "package").rename(installed / "pcds-client")
    shutil.copy(CLIENTS / "package.json", place)
    return place


def compile_typescript(place: Path, *programs: Path) -> None:
    """Compile programs strictly against the package's types; a program is `built/<name>.js` then."""
    options = ["--strict", "--target", "es2022", "--module", "nodenext", "--types", "node", "--outDir", "built"]
    _said([NODE, "node_modules/typescript/bin/tsc", *options, *programs], place, {})


def run_typescript(place: Path, name: str, variables: dict[str, str]) -> str:
    """Return what a compiled program says."""
    names = ["--import", "./names.mjs"] if (place / "names.mjs").exists() else []
    return _said([NODE, *names, f"built/{name}.js"], place, variables)


def _said(command: list[str | Path], place: Path, variables: dict[str, str]) -> str:
    done = subprocess.run(
        command, cwd=place, env=os.environ | variables, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
