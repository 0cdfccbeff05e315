"""The board: its figures are those of the file that was imported, by hand; what changed since a month; who sees it."""

import re
from datetime import UTC, date, datetime, timedelta
from html import unescape
from uuid import uuid4

import pypdfium2
import pytest

from compliance import ruleset
from compliance.days import legal_days
from schemas.messages import LANGUAGES
from tests.api.people import Browser, signed_in
from tests.api.portfolios import counted, run, sent, service_behind, weighed
from warehouse import conformity
from warehouse.figures import snapshots
from warehouse.figures.overview import compared_with
from warehouse.figures.snapshots import KeptHead

FILE = """sku_code;name;material;material_subtype;weight_grams;packaging_format;packaging_level;annual_volume_DE_2025
J;Jar;glass;glass;200;jar;sales;1000000
P;Pot;plastic;PP;10;pot;sales;500000
B;Box;paper_cardboard;;50;box;transport;100000
N;No weight;plastic;PP;;pot;sales;7
"""
TONNES = {"J": 200.0, "P": 5.0, "B": 5.0, "N": 0.0}
"""Weight times units of each line of the file."""


def published(caller):
    counted(caller)
    weighed(caller)


def covered(caller, pool, sku_id, ends):
    values = {
        "sku_id": sku_id,
        "reference": "DOC-1",
        "supplier_name": None,
        "status": "valid",
        "issued_on": None,
        "expires_on": ends,
    }
    with pool.company(caller.company) as conn:
        conformity.add(conn, caller.company, uuid4(), values=values, at=datetime.now(UTC))


def words(page):
    main = page.text.partition("<main")[2].partition("</main>")[0]
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", main)).replace("\u00a0", " ").split())


def printed(browser, lang="en"):
    answer = browser.get(f"/portfolio/board.pdf?lang={lang}")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/pdf")
    pages = [*pypdfium2.PdfDocument(answer.content)]
    return len(pages), " ".join(
        " ".join(p.get_textpage().get_text_range() for p in pages).replace("\u00a0", " ").split()
    )


@pytest.fixture
def imported(caller, pool):
    run(caller, sent(caller, FILE))
    items = {item["sku_code"]: item for item in caller.get("/skus").json()["data"]}
    covered(caller, pool, items["J"]["id"], service_behind(caller).clock.today() + timedelta(days=40))
    published(caller)
    return items


def test_the_figures_of_the_page_and_of_the_print_are_those_of_the_file(caller, imported, pool):
    browser = signed_in(caller, pool)
    told, (pages, paper) = words(browser.get("/portfolio")), printed(browser)
    assert pages == 2
    placed, of_grade, final = sum(TONNES.values()), {}, 0.0
    for code, item in imported.items():
        trace = caller.get(f"/skus/{item['id']}").json()["data"]["compliance"]["grade_trace"]
        of_grade[item["recyclability_grade"]] = of_grade.get(item["recyclability_grade"], 0) + TONNES[code]
        if item["recyclability_grade"] in ("A", "B") and not trace["provisional"]:
            final += TONNES[code]
    assert placed == 210
    in_scope = sum(row["in_scope_tonnes"] for row in caller.get("/figures/tonnes").json()["data"])
    for part in (
        f"{in_scope:,.1f}".removesuffix(".0") + " t",
        f"{100 * final / placed:.1f}".removesuffix(".0") + " %",
        "of 210 t of these items, 2025",
        "95.2 %",  # 200 t of the jar of 210 t
        "of 210 t; 1 of 4 items",
        "Heavy metals not declared 210 t, 4 items",
        "Jar: declaration ends",
        "first count",
    ):
        assert part in told, (part, told)
        assert part in paper, (part, paper)
    page = browser.get("/portfolio").text
    bar = [float(width) for width in re.findall(r'class="grade-\w+" x="[\d.]+%" width="([\d.]+)%"', page)]
    assert sum(bar) == pytest.approx(100, abs=0.1)
    for grade, tonnes in of_grade.items():
        legend = re.search(rf'grade={grade}">[^<]+</a> ([\d.]+) t', page)
        assert legend is not None
        assert float(legend[1]) == pytest.approx(tonnes), grade


def test_all_that_is_late_is_counted_and_what_comes_is_shown_beside_the_last_two(caller, pool):
    rows = [(market, year) for market in ("DE", "FR", "ES", "NL", "PL") for year in range(2020, 2027)]
    jar = {"sku_code": "J", "name": "Jar", "material": "glass", "weight_grams": 200}
    sku_id = caller.post("/skus", jar).json()["data"]["id"]
    volumes = [{"market": market, "year": year, "units_placed": 900_000} for market, year in rows]
    assert caller.request("PUT", f"/skus/{sku_id}/volumes", json=volumes).status_code == 200
    published(caller)
    browser = signed_in(caller, pool)
    listed, board = words(browser.get("/declarations/due")), words(browser.get("/portfolio"))
    shown = board.partition("Next deadlines")[2].partition("All that is due")[0]
    overdue = len(re.findall(r" -[\d,]+ [A-Z]", listed))
    assert overdue > 5, listed
    assert f"Overdue in all: {overdue}" in board
    assert shown.count("overdue") == 2
    assert shown.count(" File") == 5, shown


def test_steps_come_by_the_tonnes_that_they_decide_and_lead_to_where_they_are_done(caller, imported, pool):
    editor = signed_in(caller, pool, "editor").get("/portfolio").text
    steps = re.search(r'<ol class="rows">(.*?)</ol>', editor, re.DOTALL)[1]
    tonnes = [float(number.replace(",", "")) for number in re.findall(r"([\d.,]+) t[<,]", steps)]
    assert len(tonnes) == 5
    assert tonnes == sorted(tonnes, reverse=True)
    assert tonnes[0] == 210, "nobody has said anything about heavy metals"
    assert "/items/change?gap=heavy_metals_undeclared" in steps
    viewer = signed_in(caller, pool, "viewer").get("/portfolio").text
    assert "/items/change" not in viewer
    assert "/items?gap=heavy_metals_undeclared" in viewer
    missing = {
        gap: words(signed_in(caller, pool).get(f"/items?gap={gap}")) for gap in ("doc_missing", "weight_missing")
    }
    assert "Items found: 3" in missing["doc_missing"]
    assert "Items found: 1" in missing["weight_missing"]


@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_board_speaks_each_language_and_names_no_key(caller, imported, pool, lang):
    browser = signed_in(caller, pool)
    told, (pages, paper) = words(browser.get(f"/portfolio?lang={lang}")), printed(browser, lang)
    assert pages == 2
    for part in {"en": ("What is next", "2038"), "fr": ("La suite", "2038"), "de": ("Was als Nächstes", "2038")}[lang]:
        assert part in paper
    assert "board." not in told + paper
    assert "{" not in told + paper


def test_a_name_that_no_font_can_print_is_printed_without_those_letters(caller, imported, pool):
    caller.request("PUT", f"/skus/{imported['J']['id']}", json={"sku_code": "J", "name": "Jar of \u1783honey"})
    published(caller)
    assert "Jar of honey: declaration ends" in printed(signed_in(caller, pool))[1]


def test_what_changed_is_said_since_the_first_day_then_since_a_month(stopped, pool, clock):
    glass = {"material": "glass", "weight_grams": 200, "packaging_level": "sales", "use_contexts": ["household"]}
    made = stopped.made(sku_code="JAR", markets=["FR"], **glass)
    rows = [{"market": "FR", "year": clock.today().year - 1, "units_placed": 1_000_000}]

    def placed(units):
        assert stopped.put(f"/skus/{made['id']}/volumes", [rows[0] | {"units_placed": units}]).status_code == 200
        published(stopped)
        return words(signed_in(stopped, pool).get("/portfolio"))

    first_day = clock.today()
    assert "first count" in placed(1_000_000)
    clock.advance(timedelta(days=3))
    told = placed(1_500_000)
    assert re.search(rf"\+100 t since {first_day.day} \w+ {first_day.year}|\+100 t since {first_day}", told), told
    clock.advance(timedelta(days=40))
    third_day = first_day + timedelta(days=3)
    told = placed(1_250_000)
    assert re.search(rf"−50 t since ({third_day.day} \w+ {third_day.year}|{third_day})", told), told
    with pool.company(stopped.company) as conn:
        kept = snapshots.kept_heads(conn, clock.today() + timedelta(days=1))
    assert [head.tonnes for head in kept] == [200, 300, 250], "a row a day"


def test_what_is_compared_is_a_month_old_and_of_the_same_year():
    def head(day, year=2025):
        return KeptHead(day, year, 1, 0, 1.0, 0.0, 0.0, None)

    days = [head(date(2026, 1, 31)), head(date(2026, 2, 27)), head(date(2026, 2, 28)), head(date(2026, 3, 30))]
    assert compared_with(days, date(2026, 3, 31), 2025).day == date(2026, 2, 28), "a shorter month ends earlier"
    assert compared_with(days, date(2026, 3, 27), 2025).day == date(2026, 2, 27)
    assert compared_with(days[2:], date(2026, 3, 5), 2025).day == date(2026, 2, 28), "the oldest, before there is one"
    assert compared_with(days, date(2026, 3, 31), 2026) is None
    assert compared_with([], date(2026, 3, 31), 2025) is None


def test_a_day_keeps_its_last_publication_and_no_other_company_sees_it(caller, imported, join, pool):
    caller.made(sku_code="MORE", packaging_level="sales", material="glass", weight_grams=100)
    published(caller)
    tomorrow = service_behind(caller).clock.today() + timedelta(days=1)
    with pool.company(caller.company) as conn:
        [kept] = snapshots.kept_heads(conn, tomorrow)
    assert (kept.skus, kept.covered_skus, kept.tonnes) == (5, 1, 210)
    other = join()
    with pool.company(other.company) as conn:
        assert snapshots.kept_heads(conn, tomorrow) == []
    stranger = signed_in(other, pool)
    assert not re.search(r"\b210\b", words(stranger.get("/portfolio")))
    assert stranger.get("/portfolio/board.pdf").status_code == 404
    assert Browser(caller.http, caller.address).get("/portfolio/board.pdf").status_code == 303


def test_bans_stand_under_the_year_from_which_they_apply(caller, pool):
    """SUPD-B9 is of 2021, Annex V of 2030 (Article 25(1)), XPS of 12 February 2029 (Articles 67(5) and 71)."""
    sold = {"packaging_level": "sales", "markets": ["FR"]}
    drinks, food = {**sold, "use_contexts": ["beverage"]}, {**sold, "use_contexts": ["takeaway"]}
    together = {**drinks, "packaging_level": "grouped"}
    for polymer, kind, uses in (("EPS", "cup", drinks), ("XPS", "pot", food), ("PE", "film", together)):
        body = {"component_type": "body", "material_family": "plastic", "polymer_or_grade": polymer, "weight_g": 9}
        caller.made(sku_code=polymer, packaging_format=kind, components=[body], **uses)
    caller.made(sku_code="SILENT", packaging_format="cup", packaging_level="sales", material="plastic", markets=["FR"])
    published(caller)
    told = (
        words(signed_in(caller, pool).get("/portfolio")).partition("What comes")[2].partition("Days of Regulation")[0]
    )
    years = dict(zip(*[iter(re.split(r"\b(Today|20(?:28|29|30|38))\b", told)[1:])] * 2, strict=True))
    assert "Banned formats 0 t, 1 item " in years["Today"]
    assert "ban not ruled out, facts are missing 0 t, 1 item " in years["Today"]
    assert "may be banned, a fact decides 0 t, 0 items " in years["Today"]
    assert "may be banned, a fact decides 0 t, 1 item " in years["2029"]
    assert "may be banned, a fact decides 0 t, 1 item " in years["2030"]
    assert "Banned formats 0 t, 0 items " in years["2030"]
    assert "anned" not in years["2028"] + years["2038"]


def test_what_is_sold_outside_the_union_alone_counts_under_none_of_its_law(caller, imported, pool):
    """Declarations of conformity and grades are law of the Union (Article 4(1)); the pot of the file is of no mine."""
    body = {"component_type": "body", "material_family": "plastic", "polymer_or_grade": "PVC", "weight_g": 10}
    opaque = {"packaging_format": "bottle", "packaging_level": "sales", "use_contexts": ["household"]}
    opaque["components"] = [{**body, "colour": "carbon_black"}]
    sold = {"OUT": ["US-CA"], "IN": ["FR"], "BOTH": ["FR", "US-CA"]}
    made = {code: caller.made(sku_code=code, markets=markets, **opaque) for code, markets in sold.items()}
    covered(caller, pool, made["OUT"]["id"], service_behind(caller).clock.today() + timedelta(days=40))
    published(caller)
    items = {item["sku_code"]: item["recyclability_grade"] for item in caller.get("/skus").json()["data"]}
    assert items["OUT"] == items["IN"] == items["BOTH"] == "not_recyclable"
    told = words(signed_in(caller, pool).get("/portfolio"))
    assert "of 210 t; 1 of 6 items in the Union" in told
    inside = [code for code, grade in items.items() if grade == "not_recyclable" and code != "OUT"]
    assert re.search(rf"Below grade C: barred [\d.]+ t, {len(inside)} items", told), told
    assert re.search(r"without a grade [\d.]+ t, \d+ items? ", told)


def test_all_days_of_the_law_are_shown_each_once_in_both_forms(caller, imported, pool):
    browser = signed_in(caller, pool)
    told, (_, paper) = words(browser.get("/portfolio")), printed(browser)
    days = legal_days(ruleset.load(), service_behind(caller).clock.today())
    assert len(days) > 25

    def letters(words):
        return re.sub(r"\W", "", words)  # lines of the print break at hyphens

    for legal in days:
        sentence = legal.sentences["en"]
        assert told.count(f"{sentence} {legal.reference}") == letters(paper).count(letters(sentence)) == 1, legal.key
    assert "2027 12 February: Symbols of producer responsibility" in told
    assert "12 August or later: Harmonised label of materials Art. 12(1)" in told


def test_a_sign_in_changes_no_figure_and_has_none_published_anew(caller, imported, pool):
    today = service_behind(caller).clock.today()

    def behind():
        with pool.system() as conn:
            return [late for late in snapshots.stale(conn, today) if late.company_id == caller.company]

    browser = signed_in(caller, pool)
    assert browser.get("/portfolio").status_code == 200
    assert caller.post("/brands", {"name": "Brand"}).status_code == 201
    assert behind() == []
    assert caller.get("/figures/tonnes").json()["newer_writes"] == 0
    caller.made(sku_code="LATER", material="glass", weight_grams=1)
    [late] = behind()
    assert late.since == late.latest is not None
    assert caller.get("/figures/tonnes").json()["newer_writes"] == 1
    assert signed_in(caller, pool) is not None
    [still] = behind()
    assert (still.since, still.latest) == (late.since, late.latest), "the age of a write is not that of a sign-in"
