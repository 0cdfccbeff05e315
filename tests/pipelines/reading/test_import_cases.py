"""The 54 ways in which files go wrong, each with what is read of it: see `cases/` for the file of each case."""

import importlib

import pytest

from tests.pipelines.reading.cases import cells, columns, files, runs, tables
from tests.pipelines.reading.cases.casebook import Case, hold

CASES = sorted([*files.CASES, *tables.CASES, *columns.CASES, *cells.CASES], key=lambda case: case.number)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"case_{case.number:02}")
def test_a_file_is_read_or_refused_as_its_case_says(case: Case) -> None:
    hold(case)


@pytest.mark.parametrize("test", [test for of in runs.HELD_BY.values() for test in of])
def test_the_test_of_a_run_is_there(test: str) -> None:
    module, _, name = test.partition(":")
    assert callable(getattr(importlib.import_module(module), name))


def test_all_54_cases_are_here() -> None:
    assert sorted({case.number for case in CASES} | set(runs.HELD_BY)) == list(range(1, 55))
