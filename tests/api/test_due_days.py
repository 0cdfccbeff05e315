"""What is due: each duty that the tables date, by day and market, until a kept declaration meets it."""

import re
from datetime import date
from html import unescape

import pytest

from pipelines.filings import deadlines
from schemas.messages import word
from tests.api.people import hidden
from tests.api.portfolios import counted, service_behind, weighed
from tests.api.test_declaration_pages import JAR
from warehouse.figures import stored


@pytest.fixture
def due_days(caller, pool):
    """What `deadlines` returns on a day, for a company with tonnes in Germany, Spain and the United Kingdom."""
    made = caller.made(sku_code="JAR", packaging_level="sales", use_contexts=["food"], components=[JAR])
    rows = [("DE", 0, 1_000_000), ("ES", 0, 1_000), ("GB", 1, 1_000_000), ("GB", 2, 1_000_000)]
    volumes = [{"market": m, "year": 2025, "half": h, "units_placed": units} for m, h, units in rows]
    assert caller.put(f"/skus/{made['id']}/volumes", volumes).status_code == 200
    counted(caller)
    weighed(caller)

    def on(day):
        figures = stored.current(service_behind(caller).settings.data_dir, caller.company)
        with pool.company(caller.company) as conn:
            return deadlines(conn, figures, day)

    return on


def rows(listed, market):
    return [(row.urgency, row.stated.duty, str(row.on), row.year, row.half) for row in listed if row.market == market]


def test_each_dated_duty_is_overdue_next_or_later(due_days):
    listed = due_days(date(2026, 3, 5))
    assert [row.on for row in listed] == sorted(row.on for row in listed)
    assert rows(listed, "ES") == [
        ("overdue", "scheme_report", "2026-02-28", 2025, 0),
        ("next", "annual_report", "2026-03-31", 2025, 0),
        ("later", "scheme_report", "2027-02-28", 2026, 0),
        ("later", "annual_report", "2027-03-31", 2026, 0),
        ("later", "register_report", "2027-06-01", 2026, 0),
    ]
    assert ("overdue", "half_report", "2025-10-01", 2025, 1) in rows(listed, "GB")
    assert ("next", "half_report", "2026-04-01", 2025, 2) in rows(listed, "GB")


def test_the_last_day_before_which_a_duty_is_due_is_the_day_before_it(due_days):
    left = {day: {row.on: row.days_left for row in due_days(day)}[date(2026, 3, 31)] for day in BEFORE_AND_AFTER}
    assert list(left.values()) == [0, -1], "Spain: before 31 March"


BEFORE_AND_AFTER = (date(2026, 3, 30), date(2026, 3, 31))


def test_what_the_tonnes_exclude_is_not_due(due_days):
    duties = {(row.market, row.stated.duty, row.year) for row in due_days(date(2026, 3, 5))}
    assert ("DE", "simplified_report", 2025) not in duties, "200 t of glass are above its limit of 10 t"
    assert ("DE", "completeness_declaration", 2025) in duties, "200 t of glass are above 80 t"


def test_a_report_that_no_declaration_meets_is_listed_up_to_its_day(due_days):
    for day, is_listed in ((date(2026, 5, 15), True), (date(2026, 5, 16), False)):
        reports = [row for row in due_days(day) if (row.stated.duty, row.year) == ("sup_fund_report", 2025)]
        assert bool(reports) == is_listed
    assert all(row.urgency != "overdue" for row in due_days(date(2026, 12, 1)) if row.stated.duty == "sup_fund_report")


def test_nothing_is_due_without_figures(caller, pool):
    with pool.company(caller.company) as conn:
        assert deadlines(conn, None, date(2026, 3, 5)) == []


@pytest.mark.parametrize(("lang", "overdue"), [("en", "Overdue"), ("fr", "En retard"), ("de", "Überfällig")])
def test_the_page_has_each_day_with_market_source_and_the_way_to_file(caller, due_days, browser, lang, overdue):
    page = unescape(browser.get(f"/declarations/due?lang={lang}").text)
    assert f'<h2 id="overdue">{overdue}</h2>' in page
    assert page.index('id="overdue"') < page.index('id="later"')
    assert re.search(r'href="/declarations\?[^"]*market=DE&year=2025[^"]*#market"', page)
    assert word("due_duty", "completeness_declaration", lang) in page


def test_a_kept_declaration_meets_what_is_due(caller, due_days, browser):
    def listed():
        return [row for row in due_days(date(2026, 3, 5)) if (row.market, row.year) == ("DE", 2025) and row.is_declared]

    assert listed()
    body = {"market": "DE", "year": 2025, "format": "csv"}
    assert caller.post("/declarations", body).status_code == 201
    assert not listed()


@pytest.mark.parametrize("lang", ["en", "fr", "de"])
def test_a_person_chooses_to_be_mailed_and_ends_it(browser, lang):
    form = hidden(browser.get(f"/account?lang={lang}").text)
    for chosen in ("fr", "", "xx"):
        answer = browser.post("/account/mails", form | {"due_mails": chosen})
        assert answer.status_code == 303
        page = browser.get(f"/account?lang={lang}").text
        assert ('<option value="fr" selected>' in page) == (chosen == "fr")
