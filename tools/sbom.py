"""Writes the bill of materials of the service (CycloneDX 1.6) and the licence of each dependency, into `build/`.

    python -m tools.sbom

It lists what requirements.lock names, as it is installed here; what tests and checks need is left out. It fails where a
dependency tells no licence and is not in `KNOWN`, so that nobody ships one unseen.
"""

import csv
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parent.parent
LOCK: Final = ROOT / "requirements.lock"
BUILD: Final = ROOT / "build"
KNOWN: Final = {
    "antlr4-python3-runtime": "BSD-3-Clause",  # https://github.com/antlr/antlr4, LICENSE.txt
    "protobuf": "BSD-3-Clause",  # https://github.com/protocolbuffers/protobuf, LICENSE
    "uritemplate": "BSD-3-Clause OR Apache-2.0",  # https://github.com/python-hyper/uritemplate, LICENSE
}
"""Licences of dependencies whose metadata names none."""


def locked(lock: str) -> set[str]:
    """Return the normalised names that a lock pins."""
    return {normal(name) for name in re.findall(r"^([A-Za-z0-9_.-]+)==", lock, re.MULTILINE)}


def normal(name: str) -> str:
    """Return a project's name in its one form (packaging.python.org, Names and normalization)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def of_service(bill: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return the bill with these components alone, and the dependencies among them."""
    wanted = set(names)
    kept = [each for each in bill["components"] if normal(each["name"]) in wanted]
    refs = {each["bom-ref"] for each in kept} | {bill.get("metadata", {}).get("component", {}).get("bom-ref")}
    tree = [
        {**each, "dependsOn": [ref for ref in each.get("dependsOn", ()) if ref in refs]}
        for each in bill.get("dependencies", ())
        if each["ref"] in refs
    ]
    return {**bill, "components": kept, "dependencies": tree}


def licences(components: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return the licence of each component by its name; empty where neither it nor `KNOWN` tells one."""
    found = {}
    for each in components:
        told = [
            entry.get("expression") or entry.get("license", {}).get("id") or entry.get("license", {}).get("name", "")
            for entry in each.get("licenses", ())
        ]
        short = [text for text in told if text and "\n" not in text and not text.startswith("License ::")]
        classified = [text.rpartition(" :: ")[2] for text in told if text.startswith("License ::")]
        found[each["name"]] = " AND ".join(dict.fromkeys(short or classified)) or KNOWN.get(normal(each["name"]), "")
    return found


def main() -> None:
    """Write `build/sbom.json` and `build/licences.csv`."""
    BUILD.mkdir(exist_ok=True)
    whole = BUILD / "environment.json"
    program = [sys.executable, "-m", "cyclonedx_py", "environment", sys.prefix, "--pyproject", "pyproject.toml"]
    options = ["--spec-version", "1.6", "--output-reproducible", "--output-file", str(whole)]
    subprocess.run([*program, *options], cwd=ROOT, check=True)
    bill = of_service(json.loads(whole.read_text(encoding="utf-8")), locked(LOCK.read_text(encoding="utf-8")))
    whole.unlink()
    (BUILD / "sbom.json").write_text(json.dumps(bill, indent=2) + "\n", encoding="utf-8")
    found, versions = licences(bill["components"]), {each["name"]: each["version"] for each in bill["components"]}
    with (BUILD / "licences.csv").open("w", encoding="utf-8", newline="") as file:
        rows = [(name, versions[name], licence) for name, licence in found.items()]
        csv.writer(file).writerows([("name", "version", "licence"), *rows])
    print(f"{len(found)} dependencies in build/sbom.json, their licences in build/licences.csv")
    if silent := sorted(name for name, licence in found.items() if not licence):
        sys.exit(f"These tell no licence; find it and enter it in tools/sbom.py: {', '.join(silent)}")


if __name__ == "__main__":
    main()
