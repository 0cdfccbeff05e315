"""A row of a table becomes a record by the types of its fields; faults of a table are refused together."""

from datetime import date
from decimal import Decimal
from typing import NamedTuple

import pytest

from compliance.tables import TableError, record_of_row, refuse


class Record(NamedTuple):
    """One field of each type that tables hold."""

    code: str
    note: str | None
    count: int
    share: float
    exact: Decimal | None
    served: bool
    day: date | None
    codes: tuple[str, ...]
    types: frozenset[str]
    parsed: object


FULL = {"note": "n", "count": "2", "share": "1.5", "exact": "0.10", "served": "Y", "day": "2026-08-12"}
ROW = {"code": "A", **FULL, "codes": "b|a|b", "types": "cap|body", "another column": "x"}


def test_a_cell_is_read_by_the_type_of_its_field():
    expected = Record(
        "A", "n", 2, 1.5, Decimal("0.10"), True, date(2026, 8, 12), ("b", "a", "b"), frozenset({"cap", "body"}), 7
    )
    assert record_of_row(Record, ROW, parsed=7) == expected


def test_an_empty_cell_is_none_where_the_field_may_be_and_empty_elsewhere():
    blank = ROW | dict.fromkeys(("code", "note", "exact", "served", "day", "codes", "types"), "")
    found = record_of_row(Record, blank, parsed=None)
    assert (found.code, found.note, found.exact, found.served, found.day) == ("", None, None, False, None)
    assert (found.codes, found.types) == ((), frozenset())


@pytest.mark.parametrize(("row", "fault"), [({**ROW, "count": "two"}, ValueError), ({"code": "A"}, KeyError)])
def test_a_cell_of_another_form_and_a_missing_column_are_faults(row, fault):
    with pytest.raises(fault):
        record_of_row(Record, row, parsed=7)


def test_a_value_that_is_handed_over_goes_before_the_column():
    assert record_of_row(Record, ROW, parsed=7, count=9).count == 9


def test_faults_are_refused_together_and_none_refuses_nothing():
    refuse("a.csv", ())
    with pytest.raises(TableError, match=r"a\.csv: One\. Two\."):
        refuse("a.csv", ("One.", "Two."))
