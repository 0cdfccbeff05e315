"""Days of the law, read from the text of (EU) 2025/40 in the Official Journal, and held against other tables."""

from datetime import date

import pytest

from compliance import ruleset
from compliance.days import legal_days, table
from compliance.ruleset import versions
from compliance.tables import RULES, rows

BEFORE = date(2026, 11, 30)
LAW = {
    "2027-02-12": {"Art. 12(9)", "Art. 32(1)", "Art. 68(1)"},
    "2028-01-01": {"Art. 6(4)"},
    "2028-02-12": {"Art. 9(1)", "Art. 9(3)", "Art. 24(4)", "Art. 33(1)"},
    "2028-08-12": {"Art. 12(1)", "Art. 12(4)", "Art. 55(1)", "Art. 70(2)"},
    "2029-01-01": {"Art. 7(11)", "Art. 50(1), (2)"},
    "2029-02-12": {"Art. 12(2)", "Art. 67(5), 71"},
    "2030-01-01": {
        *("Art. 6(2), (3)", "Art. 7(1)", "Art. 10(1)", "Art. 12(1), (7)", "Art. 24(1)", "Art. 25(1)", "Art. 28(5)"),
        *("Art. 29(1)–(3), (5), (6)", "Art. 33(5)"),
    },
    "2031-06-30": {"Art. 31(2), (3)"},
    "2031-07-01": {"Art. 6(8)"},
    "2035-01-01": {"Art. 6(2)(b)", "Art. 50(11)"},
    "2038-01-01": {"Art. 6(3)"},
    "2040-01-01": {"Art. 7(2)", "Art. 29(1), (5), (6)"},
}
MOVES = {"Art. 12(1)", "Art. 12(4)", "Art. 55(1)", "Art. 7(11)", "Art. 12(2)", "Art. 6(2), (3)", "Art. 7(1)"} | {
    *("Art. 24(1)", "Art. 6(8)", "Art. 6(2)(b)"),
}
"""Where the law says: or so many months from an act, whichever is the latest."""


def test_each_obligation_has_its_day_once() -> None:
    days = legal_days(ruleset.load(), BEFORE)
    told: dict[str, set[str]] = {}
    for day in days:
        told.setdefault(day.on.isoformat(), set()).add(day.reference)
    assert told == LAW
    assert {day.reference for day in days if day.may_move} == MOVES
    assert len({day.key for day in days}) == len(days) == sum(map(len, LAW.values()))
    assert [day.on for day in days] == sorted(day.on for day in days)


def test_a_day_that_has_come_is_listed_no_more() -> None:
    later = legal_days(ruleset.load(), date(2028, 8, 12))
    assert {day.on for day in later} == {date.fromisoformat(on) for on in LAW if on > "2028-08-12"}


@pytest.mark.parametrize("version", versions())
def test_a_rule_set_dates_its_own_days(version: str) -> None:
    limits = {row["code"]: row["applies_from"] for row in rows(RULES / version / "limits.csv")}
    told = {day.key: day.on.isoformat() for day in legal_days(ruleset.load(version), BEFORE)}
    assert told == {
        row["key"]: row["on"] or limits[row["limit"]] for row in table() if row["on"] or row["limit"] in limits
    }


def test_no_day_of_an_obligation_in_the_limits_is_left_out() -> None:
    """Of the Regulation's own rows: exemptions begin with what they exempt; the first report is due in 2031."""
    begun = {
        row["applies_from"]
        for row in rows(RULES / "2026-11-26" / "limits.csv")
        if row["article_ref"].startswith(("Art.", "Annex")) and row["effect"] != "exemption"
        if row["applies_from"] > BEFORE.isoformat()
    }
    assert begun <= set(LAW)
    bans = {row["applies_from"] for row in rows(RULES / "2026-11-26" / "annex_v.csv")}
    assert {day for day in bans if day > BEFORE.isoformat()} <= set(LAW)


def test_the_dates_of_findings_marks_and_evidence_are_days_of_the_table() -> None:
    for folder, name, column in (
        ("readiness", "findings.csv", "applies_from"),
        ("readiness", "item_rules.csv", "applies_from"),
        ("marks", "sentences.csv", "from"),
        ("evidence", "needs.csv", "from"),
    ):
        told = {row[column] for row in rows(RULES / folder / name) if row[column] > BEFORE.isoformat()}
        assert told <= set(LAW), (name, told - set(LAW))
