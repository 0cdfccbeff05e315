"""The example files: built as committed, and read with the faults that they are meant to show."""

import importlib.util
from pathlib import Path

import pytest

from tests.pipelines.reading.writing import read

EXAMPLES = Path(__file__).parents[3] / "examples"
SHOWN = ["invalid_gtin", "unknown_market", "value_range", "duplicate_sku_code"]


BOTH = [("portfolio.csv", SHOWN), ("portfolio.xlsx", [*SHOWN, "ambiguous_number"])]


@pytest.mark.parametrize(("name", "codes"), BOTH)
def test_examples_show_one_fault_of_each_kind(name: str, codes: list[str]) -> None:
    upload, rows = read((EXAMPLES / name).read_bytes())
    assert upload.source["ignored"] == []
    assert rows.errors["code"].to_list() == codes
    assert rows.values.height == 38
    assert (upload.components is not None) == name.endswith("xlsx")


def test_the_committed_files_are_what_the_script_builds(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("build", EXAMPLES / "build.py")
    assert spec is not None
    assert spec.loader is not None
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    build.write_csv(tmp_path / "portfolio.csv")
    build.write_workbook(tmp_path / "portfolio.xlsx")
    assert (tmp_path / "portfolio.csv").read_bytes() == (EXAMPLES / "portfolio.csv").read_bytes()
    built, committed = (read((folder / "portfolio.xlsx").read_bytes())[1] for folder in (tmp_path, EXAMPLES))
    assert built.values.equals(committed.values)
    assert built.errors.equals(committed.errors)
