"""Format bans as people and programs read them: in force since their day or from it, by the clock, in any language."""

from datetime import UTC, datetime

import pytest

from tests.api.people import signed_in
from tests.api.portfolios import counted
from tests.api.test_portfolio_pages import words

BOX = {
    "name": "Take-away box",
    "packaging_format": "box",
    "packaging_level": "sales",
    "use_contexts": ["takeaway"],
    "markets": ["FR"],
}
EPS = "Food container of expanded polystyrene"
XPS = "Food container of extruded polystyrene"
EATEN = "for immediate consumption from the receptacle without further preparation"


def boxed(caller, polymer):
    body = {"component_type": "body", "material_family": "plastic", "polymer_or_grade": polymer, "weight_g": 9}
    return caller.made(sku_code=polymer, components=[body], **BOX)["id"]


def reasons(caller, sku, **headers):
    flags = caller.get(f"/skus/{sku}", headers=headers).json()["data"]["compliance"]["annex_v_flags"]
    return {flag["code"]: flag["reason"] for flag in flags}


def browsing(caller, pool):
    return signed_in(caller, pool)


def test_a_ban_of_2021_is_in_force_on_every_page_and_in_every_answer(caller, pool):
    sku = boxed(caller, "EPS")
    assert reasons(caller, sku)["SUPD-B7"] == f"{EPS}, in force since 2021-07-03, if: {EATEN}"
    assert reasons(caller, sku)["AV-3"].startswith("Single-use plastic packaging for food and drink consumed on HORECA")
    assert ", from 2030-01-01, if: " in reasons(caller, sku)["AV-3"]
    counted(caller)
    browser = browsing(caller, pool)
    for page in (browser.get(f"/items/{sku}"), browser.get("/portfolio")):
        assert f"{EPS}, in force since 2021-07-03" in words(page)
    assert EPS in words(browser.get("/items?flag=SUPD-B7"))


@pytest.mark.parametrize(
    ("lang", "said"),
    [
        ("fr", "Récipient pour aliments en polystyrène expansé, en vigueur depuis le 2021-07-03"),
        ("de", "Lebensmittelbehälter aus expandiertem Polystyrol, in Kraft seit 2021-07-03"),
    ],
)
def test_a_ban_is_told_in_the_language_that_is_asked_for(caller, pool, lang, said):
    sku = boxed(caller, "EPS")
    assert reasons(caller, sku, **{"Accept-Language": lang})["SUPD-B7"].startswith(f"{said}, ")
    assert EPS not in str(reasons(caller, sku, **{"Accept-Language": lang}))
    counted(caller)
    browser = browsing(caller, pool)
    for address in (f"/items/{sku}", "/portfolio"):
        assert said in words(browser.get(f"{address}?lang={lang}"))


def test_a_ban_comes_into_force_on_its_day_without_a_write(stopped, clock, pool):
    sku = boxed(stopped, "XPS")
    said = []
    for day in (11, 12):
        clock.instant = datetime(2029, 2, day, 12, tzinfo=UTC)
        reason = reasons(stopped, sku)["SUPD-B7X"]
        assert reason in words(browsing(stopped, pool).get(f"/items/{sku}")).replace("; ", ", ")
        said.append(reason.partition(", if: ")[0])
    assert said == [f"{XPS}, from 2029-02-12", f"{XPS}, in force since 2029-02-12"]


def test_oxo_degradable_plastic_is_banned_whatever_the_pack_and_writing_it_is_no_refusal(caller):
    body = {"component_type": "body", "material_family": "plastic", "weight_g": 9, "additives": ["oxo_degradable"]}
    sku = caller.made(sku_code="OXO", name="Bag", markets=["DE"], components=[body])["id"]
    [flag] = caller.get(f"/skus/{sku}").json()["data"]["compliance"]["annex_v_flags"]
    assert (flag["code"], flag["certainty"], flag["applies_from"]) == ("SUPD-OXO", "certain", "2021-07-03")
    assert flag["reason"] == "Oxo-degradable plastic, in force since 2021-07-03"


@pytest.mark.parametrize(
    ("lang", "said"),
    [
        ("en", "A format ban cannot be ruled out while this is missing or not understood: Level."),
        ("de", "Ein Formatverbot kann nicht ausgeschlossen werden"),
    ],
)
def test_a_pack_without_a_level_is_nowhere_read_as_not_banned(caller, pool, lang, said):
    """Annex V asks for the level: without it no flag was raised, and no answer about the item said why."""
    body = {"component_type": "body", "material_family": "plastic", "polymer_or_grade": "PP", "weight_g": 9}
    box = {**BOX, "packaging_level": None}
    sku = caller.made(sku_code="PP", components=[body], **box)["id"]
    compliance = caller.get(f"/skus/{sku}").json()["data"]["compliance"]
    assert (compliance["annex_v_flags"], compliance["annex_v_undecided"]) == ([], ["packaging_level"])
    browser = browsing(caller, pool)
    assert said in words(browser.get(f"/items/{sku}?lang={lang}"))
