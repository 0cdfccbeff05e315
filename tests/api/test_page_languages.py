"""The language that a person chose stays, from page to page and through every form."""

import csv
import re
from datetime import UTC, datetime
from html import unescape
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import orjson
import pytest
from fastapi.routing import APIRoute

from api.audit.words import path_in_words
from api.pages import render
from api.pages.routes import router
from compliance import ruleset
from compliance.tables import RULES, rows
from schemas import messages as messages_schemas
from schemas.fields import COMPONENT, SKU
from schemas.messages import Message, catalogue, header, word
from schemas.vocabularies import VOCABULARIES
from tests.api.asking import ask
from tests.api.people import Browser, added, hidden, signed_in
from tests.api.portfolios import counted, run, sent, weighed
from tests.api.test_draft_pages import filed as drafted
from tests.api.test_issuing_pages import SIGNED
from tests.api.test_review_pages import filed
from tests.api.walking import CODE, FOREIGN, SEARCH, Told, addresses, english, walk


def speaks(address):
    return parse_qs(urlsplit(address).query).get("lang")


NOT_WALKED = {
    *(
        "/",
        "/sign-in",
        "/password/forgotten",
        "/pages/style.css",
        "/pages/live.js",
        "/items/export",
        "/portfolio/board.pdf",
        "/registers/file.csv",
        "/marks/file.csv",
        "/evidence.csv",
        "/recycled-content/file.csv",
        "/imports/template.xlsx",
        "/imports/{id}/rejected.xlsx",
    ),
    *("/review/{id}/draft.pdf", "/review/{id}/files/{file_id}", "/items/{id}/files/{file_id}"),
    *(
        "/declarations/{id}.pdf",
        "/documents/{id}/bundle.zip",
        "/declarations/kept/{id}/content",
        "/declarations/kept/{id}",
        "/documents/{id}",
    ),
    *(
        "/enquiries/{id}",
        "/supplier-enquiries/{token}",
        "/supplier-enquiries/{token}/workbook",
        "/supplier-data/{token}/thanks",
        "/password/{token}",
    ),
    "/oauth/authorize",
}
"""Redirects, files, and pages that the company of this test has no record for; their own tests show them."""

TABLE = """Artikelnummer;Bezeichnung;Verpackungsgewicht (g);Material
A;Kiste;schwer;Karton
B;Kiste;2;Karton
D;Kiste;1,234;Karton
C;Kiste;1,234;Nixium
"""


@pytest.fixture
def rich(caller, pool):
    """A company with something on every page; its administrator's browser, signed in, and the link of a supplier."""
    asked = ask(caller, pool, **RICH)
    asked.answer({"component_id": asked.components[0], "weight_g": 21})
    again = ask(caller, pool, sku_code="BOTTLE-2")
    ask(caller, pool)
    assert caller.post("/brands", {"name": "Xb"}).status_code == 201
    placed = ("FR", "DE", "GB", "AT", "ES", "CZ", "US-CO", "CA-AB")
    volumes = [{"market": market, "year": 2025, "units_placed": 1_500_000} for market in placed]
    for sku in (asked, again):
        assert caller.put(f"/skus/{sku.sku_id}/volumes", volumes).status_code == 200
    run(caller, sent(caller, TABLE))
    run(caller, sent(caller, "Artikelnummer;Bezeichnung;Gewicht\nE;Kiste;1\n"))
    drafted(pool, caller.company, asked.sku_id)
    filed(pool, caller.company, "sku_update", {"changes": {"name": "Xn"}}, asked.sku_id)
    caller.request("POST", "/webhooks", json={"url": "https://erp.example/xn"})
    counted(caller)
    weighed(caller)
    browser = signed_in(caller, pool, "administrator")
    return browser, again


@pytest.mark.long
@pytest.mark.parametrize("lang", ["de", "fr"])
def test_every_page_keeps_the_language_in_its_links_and_says_nothing_in_english(rich, lang):
    browser, asked = rich
    begin = [
        "/portfolio?",
        "/obligations?",
        "/items/new?",
        f"/supplier-data/{asked.token}?",
        "/supplier-requests?sku=BOTTLE-1&",
        "/review?state=decided&",
        "/items?q=b&",
        "/no-such-page?",
    ]
    visited, told = set[str](), {}
    for address, page in walk(browser, *(f"{path}lang={lang}" for path in begin)):
        assert f'<html lang="{lang}">' in page.text, address
        for found in addresses(page) - {*SEARCH.findall(page.text)}:
            if not (FOREIGN.match(found) or (found.startswith("?lang=") and "/supplier-data/" in address)):
                assert speaks(found) == [lang], (address, found)
        visited.add(urlsplit(address).path)
        told |= dict.fromkeys(english(page), address)
    assert told == {}
    shown = {route.path for route in router.routes if isinstance(route, APIRoute) and "GET" in route.methods}
    reached = {path for path in shown if any(re.fullmatch(re.sub(r"{\w+}", "[^/]+", path), each) for each in visited)}
    assert shown - reached == NOT_WALKED


def test_what_a_form_leads_to_keeps_the_language(rich, caller, pool):
    browser, asked = rich
    today = datetime.now(UTC).date().isoformat()
    visitor = Browser(caller.http, caller.address)
    shut = visitor.get("/items?lang=de&q=b")
    assert speaks(shut.headers["location"]) == ["de"]
    form = hidden(visitor.get(shut.headers["location"]).text)
    person = added(pool, caller.company)
    signed_in = visitor.post("/sign-in?lang=de", form | {"email": person.email, "password": person.password})
    assert signed_in.headers["location"] == "/items?lang=de&q=b"
    wrong = Browser(caller.http, caller.address)
    form = hidden(wrong.get("/sign-in?lang=de").text)
    assert '<html lang="de">' in wrong.post("/sign-in?lang=de", form | {"email": "x", "password": "y"}).text
    for path in set(re.findall(r'href="(/review/[0-9a-f-]{36})', browser.get("/review").text)):
        form = hidden(browser.get(path).text) | SIGNED | {"issued_on": today, "decision": "accept"}
        assert speaks(browser.post(f"{path}?lang=de", form).headers["location"]) == ["de"]
    answered = visitor.post(f"/supplier-data/{asked.token}?lang=de", {"consent": "yes"})
    assert speaks(answered.headers["location"]) == ["de"]
    csrf = {"csrf": re.search(r'name="csrf" value="([^"]+)"', browser.get("/items").text)[1]}
    assert speaks(browser.post("/sign-out?lang=de", csrf).headers["location"]) == ["de"]


def raw_codes(lang):
    """Codes that are no words of the language: nowhere in what we say in it, and not the word that stands for them."""
    of_drafts = [{row["language"]: row["text"]} for row in rows(RULES / "conformity" / "texts.csv")]
    questions = [{lang: getattr(question, lang)} for question in ruleset.load().questions.values()]
    messages = [
        {lang: str(entry.id if lang == "en" else entry.string)} for entry in catalogue("de" if lang == "en" else lang)
    ]
    tables = (*render.rows(), *messages, *of_drafts, *questions, *({lang: word} for word in labels_of(lang)))
    spoken = set(re.findall(r"[\w-]+", " ".join(row.get(lang, "") for row in tables)))
    named = (
        {code for vocabulary in SHOWN for code in VOCABULARIES[vocabulary]} | {*SKU, *COMPONENT} | formats_and_streams()
    )
    return {code for code in named if len(code) > 2 and code not in spoken}


def labels_of(lang):
    yield from (word(vocabulary, code, lang) for vocabulary in SHOWN for code in VOCABULARIES[vocabulary])
    yield from (header("sku", name, lang) for name in SKU)
    yield from (header("component", name, lang) for name in COMPONENT)
    yield from (row[lang] for row in shown_words() if row["vocabulary"] == "duty_material")


def formats_and_streams():
    """Without the codes of markets, which stand beside their names on purpose."""
    return {row["code"] for row in shown_words() if row["vocabulary"] != "market"}


def shown_words():
    with (Path(messages_schemas.__file__).parent / "shown_words.csv").open(encoding="utf-8", newline="") as rows:
        return [*csv.DictReader(rows)]


def test_every_material_of_a_duty_has_its_words():
    known = {row["code"] for row in shown_words() if row["vocabulary"] == "duty_material"}
    assert {row["material"] for row in rows(RULES / "catalogue" / "thresholds.csv")} == known


SHOWN = tuple(name for name in VOCABULARIES if not name.startswith("audit_") and name not in ("scope", "plan"))
APART = re.compile(r'<code>.*?</code>|<(\w+) lang="en".*?</\1>|<[^>]+>', re.DOTALL)
"""Codes for programs, marked as such, and sentences of the rules, marked as English."""
RICH = {
    "sku_code": "X-1", "name": "Xy", "packaging_format": "bottle", "packaging_level": "sales", "food_contact": True,
    "markets": ["FR"], "material": "plastic", "use_contexts": ["food", "takeaway"], "ppwr_role": "manufacturer",
    "reusable": True, "reuse_system_type": "closed_loop_b2b", "reuse_return_mechanism": "in_store_return",
    "reuse_reconditioning": "in_house", "sorting_label_scheme": "harmonised_eu", "weight_grams": 27.5,
    "substances": {"pfas": {"status": "absent", "source": "test_report"},
                   "svhc": {"status": "below_limit", "value": 0.05, "unit": "percent_w_w", "basis": "total"},
                   "bpa": {"status": "unknown"}},
    "components": [
        {"component_type": "body", "material_family": "plastic", "polymer_or_grade": "PET", "weight_g": 22.5,
         "colour": "transparent_coloured", "attachment": "firmly_attached", "separable": True, "density_g_cm3": 1.25,
         "additives": ["uv_stabiliser"], "recycled_content_percent": 12.5},
        {"component_type": "sleeve", "material_family": "plastic", "polymer_or_grade": "PE", "weight_g": 2.5,
         "adhesive_type": "hot_melt", "ink_type": "non_eupia", "coating_type": "barrier_lacquer",
         "substances": {"pfas": {"status": "absent"}}},
        {"component_type": "closure", "material_family": "bio_based", "weight_g": 2.5},
    ],
}  # fmt: skip


@pytest.mark.parametrize("lang", ["de", "fr"])
def test_no_page_shows_a_code_for_a_word_or_a_decimal_point(caller, pool, lang):
    asked = ask(caller, pool, **RICH)
    bare = caller.made(sku_code="X-2", name="Xz", components=[{"component_type": "cap", "material_family": "metal"}])
    asked.answer(
        {"component_id": asked.components[0], "weight_g": 21.5, "colour": "carbon_black", "ink_type": "metallic"}
    )
    caller.put(
        f"/skus/{asked.sku_id}",
        {"sku_code": "X-1", "name": "Xy", "packaging_level": "transport", "weight_grams": 27.25},
    )
    pfas = {"status": "below_limit", "value": 1.5, "unit": "ppb", "basis": "sum"}
    changes = {
        "packaging_level": "grouped",
        "packaging_format": "tray",
        "weight_grams": 30.5,
        "material": "glass",
        "use_contexts": ["beverage"],
        "substances": {"pfas": pfas},
    }
    filed(pool, caller.company, "sku_update", {"changes": changes}, asked.sku_id)
    draft = drafted(pool, caller.company, asked.sku_id, "de")
    placed = [{"market": market, "year": 2025, "units_placed": 1_500_000} for market in ("FR", "DE", "AT", "IT")]
    caller.put(f"/skus/{asked.sku_id}/volumes", placed)
    counted(caller)
    weighed(caller)
    browser = signed_in(caller, pool)
    open_entries = set(re.findall(r'href="(/review/[0-9a-f-]{36})', browser.get("/review").text))
    supplier = f"/supplier-data/{asked.token}"
    paths = {
        "/portfolio",
        "/items",
        "/imports",
        "/review",
        "/review?state=decided",
        "/supplier-requests?sku=X-1",
        supplier,
        "/connections",
        *(f"/markets/{row['market']}" for row in placed),
        f"/items/{asked.sku_id}",
        f"/items/{bare['id']}",
        f"/review/{draft}/draft",
        *open_entries,
    }
    codes, found = raw_codes(lang), {}
    assert {"bottle", "sales", "carbon_black", "hot_melt"} <= codes
    for turn in ("open", "decided"):
        for path in sorted(paths):
            told = unescape(APART.sub(" ", browser.get(path, params={"lang": lang}).text.partition("<main")[2]))
            undated = re.sub(r"\b\d{1,2}\.\d{1,2}\.\d{4}\b", "", told)  # where an act was published
            raw = codes & set(re.findall(r"[\w-]+", told)) | set(
                re.findall(r"\d\.\d(?!\d\d)|\d\.\d{3}\d|\d\.\d+ ?%", undated)
            )
            found |= {(turn, path): raw} if raw else {}
        for path in open_entries - {f"/review/{draft}"}:
            form = hidden(browser.get(path).text)
            browser.post(path, form | {"decision": "reject", "note": "Xn"})
    assert found == {}


VOLUMES = """Artikelnummer;Bezeichnung;annual_volume_de_2026;markets;sold;Material
A;Kiste;viele;DE;100;Karton
B;Kiste;12;Nirgendwo;200;Nixium
C;Kiste;1500;FR, Nirgendwo;300;Glas
"""


@pytest.mark.parametrize(
    ("lang", "units"),
    [("en", "Units placed: DE 2026"), ("fr", "Unités mises sur le marché : DE 2026"),
     ("de", "In Verkehr gebrachte Einheiten: DE 2026")],
)  # fmt: skip
def test_a_person_reads_the_words_of_fields_from_the_file_to_the_item(caller, pool, lang, units):
    mapping = {"columns": {"annual_volume_de_2026": "annual_volume_de_2026", "annual_volume_gb_2026_h1": "sold"}}
    kept = {"dry_run": "1", "filename": "l.csv", "mapping": orjson.dumps(mapping).decode(), "mapping_name": "Xn"}
    addresses = []
    for options in (kept, {name: kept[name] for name in ("filename", "mapping")}):
        answer = caller.post("/imports", content=VOLUMES.encode(), params=options)
        assert answer.status_code == 202, answer.text
        run(caller, answer.json()["id"])
        addresses.append(f"/imports/{answer.json()['id']}")
    browser = signed_in(caller, pool)
    begin = [f"{address}{path}?lang={lang}" for address in addresses for path in ("", "/rejected", "/values")]
    begin += [f"{path}?lang={lang}" for path in ("/words", "/items", "/review", "/portfolio", "/declarations")]
    told = {address: " ".join(Told(browser.get(address).text).texts) for address in begin}
    sent = ("annual_volume_de_2026",)  # the header that the sender wrote
    raw = {address: {*CODE.findall(text), *re.findall(r"\w+\[\d+\]|\bUUID\b", text)} - {*sent}
           for address, text in told.items()}  # fmt: skip
    assert {address: names for address, names in raw.items() if names} == {}
    for address in addresses:
        assert units in told[f"{address}?lang={lang}"], told


@pytest.mark.parametrize("lang", ["en", "fr", "de"])
def test_names_for_programs_are_words_in_paths_and_sentences(lang):
    for path in ("markets[0]", "annual_volume_gb_2026_h1", "component_2_weight_g", "components[2]", "ram:body"):
        name = path_in_words(path, lang)
        assert not re.search(r"[\[_]|ram:", name), name
        if "components" not in path:
            assert render.in_words(f"x {path}.", lang) == f"x {name}.".replace(" (g)", "")
    left_out = Message("{sku_code} is not counted ({reason}); missing: {fields}.", sku_code="A_1",
                       reason="rating_missing", fields="ram:body, packaging_format")  # fmt: skip
    assert not re.search(r"rating_missing|ram:|packaging_format", render.said(left_out, lang))
    assert "A_1" in render.said(left_out, lang)
