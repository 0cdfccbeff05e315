"""Pages of figures in a browser: tonnes with what is not counted, what a figure is made of, and duties."""

import re
from html import unescape

import pytest

from schemas.messages import LANGUAGES
from tests.api.people import signed_in
from tests.api.portfolios import counted, run, sent, weighed

JAR = {"component_type": "body", "material_family": "glass", "polymer_or_grade": "glass", "weight_g": 200}
GLUE = {"component_type": "adhesive", "material_family": "other", "adhesive_type": "washable"}


def placed(caller, code, component, units, *others, market="DE", half=0):
    made = caller.made(sku_code=code, packaging_level="sales", components=[component, *others])
    rows = [{"market": market, "year": 2025, "half": half, "units_placed": units}]
    assert caller.put(f"/skus/{made['id']}/volumes", rows).status_code == 200


@pytest.fixture
def declared(caller):
    placed(caller, "JAR", JAR, 1_000_000)
    placed(caller, "<b>BOX", {**JAR, "weight_g": None}, 7)
    counted(caller)
    weighed(caller)
    return caller


@pytest.mark.parametrize("lang", LANGUAGES)
def test_tonnes_and_what_is_not_counted_stand_on_one_page(declared, browser, lang):
    page = browser.get(f"/figures?market=DE&lang={lang}").text
    assert ">200</a>" in page
    assert "&lt;b&gt;BOX" in page
    assert "<b>BOX" not in page
    assert "components[0].weight_g" not in page
    assert re.search(r"1\. \w+: \w+", page)
    assert "/figures/items?" in page


def test_a_year_of_one_half_says_so_on_every_page_of_figures(caller, browser):
    placed(caller, "POT", JAR, 100_000, market="GB", half=1)
    counted(caller)
    weighed(caller)
    for path in ("/figures?market=GB", "/obligations?market=GB", "/markets/GB", "/portfolio"):
        page = browser.get(path).text
        assert "of its halves only the first is recorded" in page, path
        assert re.search(r">20</|>20$|>20 ?<", page), path
    assert "units of the second half" in browser.get("/obligations?market=GB").text
    [link] = re.findall(r'href="(/figures/items[^"]*half=0[^"]*)"', browser.get("/figures?market=GB").text)
    assert "only the first" in browser.get(unescape(link)).text


def test_a_figure_opens_to_its_items_and_their_lines(caller, browser):
    filed = caller.made(sku_code="FILED")
    rows = [{"market": "DE", "year": 2025, "units_placed": 1_000}]
    assert caller.put(f"/skus/{filed['id']}/volumes", rows).status_code == 200
    text = "sku_code;name;material;material_subtype;weight_grams\nFILED;Filed;glass;glass;100\n"
    run(caller, sent(caller, text, "filed.csv"))
    placed(caller, "JAR", JAR, 5, GLUE)  # glue has no weight of its own
    counted(caller)
    weighed(caller)
    address = unescape(re.search(r'href="(/figures/items\?[^"]+)"', browser.get("/figures?market=DE").text)[1])
    page = browser.get(address).text
    assert '<td class="number">0.1</td>' in page
    assert "filed.csv, line 2" in page
    assert 'href="/imports/' in page
    assert "1 a single write" in page


def test_duties_have_verdict_source_and_what_is_missing(declared, browser):
    page = browser.get("/obligations?market=DE&year=2025").text
    assert "Declaration of completeness" in page
    assert "not decidable" in page
    assert re.search(r'<a href="https://[^"]+">', page)


def test_a_filter_that_cannot_be_is_said_at_its_field(declared, browser):
    for path in ("/figures", "/obligations"):
        answer = browser.get(f"{path}?market=XX&year=19")
        assert answer.status_code == 400
        assert 'id="market-error"' in answer.text
        assert 'id="year-error"' in answer.text
        assert 'value="19"' in answer.text


@pytest.mark.parametrize(
    "query", ["", "market=DE&year=2025&half=0&category=none", "market=DE&year=2024&half=0&category=glass", "year=x"]
)
def test_a_figure_that_is_not_there_is_a_404(declared, browser, query):
    assert browser.get(f"/figures/items?{query}").status_code == 404


def test_another_company_sees_nothing_of_it(declared, join, pool):
    other = join()
    stranger = signed_in(other, pool)
    for path in ("/figures", "/obligations"):
        assert "JAR" not in stranger.get(path).text
    assert stranger.get("/figures/items?market=DE&year=2025&half=0&category=glass").status_code == 404
