"""What the service is made of and how it is set: requirements, bill of materials, audit, settings page."""

import ast
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools import audit_dependencies, sbom, settings_page

ROOT = Path(__file__).parents[2]
ROOMS = ("schemas", "compliance", "warehouse", "pipelines", "services", "connector", "api")
PARTS_OF_ANOTHER = {
    "anyio": "fastapi",
    "markupsafe": "jinja2",
    "mcp-types": "mcp",
    "psycopg-pool": "psycopg",
    "pydantic-core": "pydantic",
    "starlette": "fastapi",
}
"""Libraries that a declared one shows in its own interface."""


def declared(file: str) -> dict[str, Requirement]:
    """The requirements that a file names itself, by their names."""
    lines = (line.partition("#")[0].strip() for line in _text(file).splitlines())
    found = [Requirement(line) for line in lines if line and not line.startswith("-")]
    return {canonicalize_name(each.name): each for each in found}


def _text(file: str) -> str:
    return (ROOT / file).read_text(encoding="utf-8")


def imported() -> Iterator[str]:
    """The top-level modules of libraries that the product imports."""
    for file in (file for room in ROOMS for file in (ROOT / room).rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                yield from (each.name.partition(".")[0] for each in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                yield node.module.partition(".")[0]


def test_what_the_product_imports_is_required_by_name() -> None:
    names = {**declared("requirements.in"), **declared("requirements-distributed.in")}
    found, known = packages_distributions(), set(names)
    for module in set(imported()) - set(ROOMS) - sys.stdlib_module_names - {"celery", "dagster_celery"}:
        libraries = {canonicalize_name(name) for name in found[module]}
        assert {PARTS_OF_ANOTHER.get(name, name) for name in libraries} & known, module


def test_what_builds_the_project_is_locked_and_no_part_of_the_service() -> None:
    build = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]["requires"]
    assert set(build) == set(declared("requirements-build.in")) == sbom.locked(_text("requirements-build.lock"))
    assert not set(build) & sbom.locked(_text("requirements.lock"))


def test_uvicorn_is_required_with_the_reader_of_requests_that_the_server_is_built_on() -> None:
    extras = declared("requirements.in")["uvicorn"].extras
    optional = [Requirement(each) for each in requires("uvicorn") or ()]
    brought = {
        each.name
        for each in optional
        if each.marker is not None and any(each.marker.evaluate({"extra": extra}) for extra in extras)
    }
    assert {
        "httptools",
        "uvloop",
        "websockets",
    } <= brought  # `api.operate.server`, its event loop, `api.staff.access`


def test_the_settings_page_is_that_of_the_settings() -> None:
    assert settings_page.PAGE.read_text(encoding="utf-8") == settings_page.page(), "make settings-page"


def test_the_bill_has_what_the_lock_names_and_nothing_else() -> None:
    names = sbom.locked("fast_api==1.0 \\\n    --hash=sha256:x\nother==2 ; python_version < '3.12'\n# none==1\n")
    assert names == {"fast-api", "other"}
    bill = {
        "metadata": {"component": {"bom-ref": "root"}},
        "components": [
            {"bom-ref": "a", "name": "Fast.API", "version": "1", "licenses": [{"license": {"id": "MIT"}}]},
            {"bom-ref": "b", "name": "pytest", "version": "1"},
        ],
        "dependencies": [{"ref": "root", "dependsOn": ["a", "b"]}, {"ref": "b"}],
    }
    found = sbom.of_service(bill, names)
    assert [each["name"] for each in found["components"]] == ["Fast.API"]
    assert found["dependencies"] == [{"ref": "root", "dependsOn": ["a"]}]
    assert sbom.licences(bill["components"]) == {"Fast.API": "MIT", "pytest": ""}
    classified = [{"name": "protobuf"}, {"name": "x", "licenses": [{"license": {"name": "License :: OSI :: BSD"}}]}]
    assert sbom.licences(classified) == {"protobuf": "BSD-3-Clause", "x": "BSD"}
    assert sbom.locked(sbom.LOCK.read_text(encoding="utf-8")) >= {"fastapi", "dagster", "polars"}


WEAK = {
    "dependencies": [
        {"name": "a", "version": "1", "vulns": [{"id": "PYSEC-1", "fix_versions": ["2"]}]},
        {"name": "b", "version": "1", "vulns": []},
        {"name": "c", "version": "1", "skip_reason": "not found"},
    ]
}


def test_a_known_weakness_fails_the_audit_and_missing_data_warns(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert audit_dependencies.told(WEAK) == (["a 1: PYSEC-1, mended in 2"], 2)
    monkeypatch.setattr(audit_dependencies, "ask", lambda *_: ([], 0))
    audit_dependencies.main(["requirements.lock"])
    assert "WARNING: requirements.lock was not audited" in capsys.readouterr().err
    monkeypatch.setattr(audit_dependencies, "ask", lambda *_: audit_dependencies.told(WEAK))
    with pytest.raises(SystemExit, match="PYSEC-1"):
        audit_dependencies.main(["requirements.lock"])
