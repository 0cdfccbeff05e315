"""What the service is made of and how it is set: bill of materials, audit of dependencies, settings page."""

from pathlib import Path

import pytest

from tools import audit_dependencies, sbom, settings_page

ROOT = Path(__file__).parents[2]


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
