"""Due days: each has a source, and a table with a fault is refused whole."""

from datetime import date

import pytest

from compliance.catalogue import DUTIES, due_days, member_states, read_due_days
from compliance.tables import TableError

HEADER = "code,duty,half,bound,month,day,from,confidence,source_url,note\n"
GOOD = "DE,annual_report,,by,2,last,,primary,https://example.org,\n"


def test_each_day_that_comes_with_the_release_has_a_source():
    found = [each for days in due_days().values() for each in days]
    assert {each.duty for each in found} == set(DUTIES)
    assert all(each.source_url and each.confidence for each in found)


def test_a_day_is_in_the_year_after_the_period(tmp_path):
    table = tmp_path / "due_days.csv"
    table.write_text(HEADER + GOOD)
    [day] = read_due_days(table)["DE"]
    assert [day.after(year) for year in (2026, 2027)] == [date(2027, 2, 28), date(2028, 2, 29)]


def test_every_member_state_has_the_days_of_the_union():
    """Article 44(7): by 1 June for the year before, from the first year to which the article applies."""
    states = [code for code, days in due_days().items() if "register_report" in {each.duty for each in days}]
    assert set(states) == set(member_states())
    assert len(states) == 27
    [report] = [each for each in due_days()["MT"] if each.duty == "register_report"]
    assert (report.after(2026), report.first_year) == (date(2027, 6, 1), 2026)


def test_no_report_is_due_about_a_year_before_the_first_one():
    """California: the first on 1 July 2026; Oregon: on 31 March 2025; Germany: section 9(2) of a law of 2026."""
    firsts = {("US-CA", "annual_report"): date(2026, 7, 1), ("US-OR", "annual_report"): date(2025, 3, 31),
              ("DE", "simplified_report"): date(2027, 6, 1)}  # fmt: skip
    for (market, duty), first in firsts.items():
        [day] = [each for each in due_days()[market] if each.duty == duty]
        assert day.after(day.first_year) == first, market


def test_a_first_half_is_reported_in_its_own_year():
    days = {each.half: each.after(2026) for each in due_days()["GB"] if each.half}
    assert days == {1: date(2026, 10, 1), 2: date(2027, 4, 1)}


@pytest.mark.parametrize(
    "row",
    [
        GOOD.replace("DE", "ZZ"),
        GOOD.replace("last", "30"),
        GOOD.replace("last", "29"),
        GOOD.replace("https://example.org", ""),
        GOOD.replace("primary", "certainly"),
        GOOD.replace("annual_report", "report"),
        GOOD.replace(",by,", ",about,"),
        GOOD.replace("annual_report,", "half_report,"),
        GOOD.replace("annual_report,", "annual_report,1"),
    ],
)
def test_a_fault_refuses_the_table(tmp_path, row):
    table = tmp_path / "due_days.csv"
    table.write_text(HEADER + row)
    with pytest.raises(TableError, match="line 2"):
        read_due_days(table)
