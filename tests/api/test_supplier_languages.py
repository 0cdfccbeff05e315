"""The languages of suppliers' pages: each page is whole, on those paths alone, and what is typed arrives as meant."""

import re
from datetime import UTC, datetime, timedelta
from html import unescape
from string import Formatter

import pytest

from pipelines.suppliers import workbook_headers, write
from schemas.messages import LANGUAGES, day, decimal_mark, supplier_languages, supplier_words, translate, word
from schemas.suppliers import CELLS
from schemas.vocabularies import MEDIA_TYPES, VOCABULARIES
from tests.api.asking import ask
from tests.api.people import Browser, hidden
from tests.api.test_enquiry_table import Asked
from tests.api.walking import SWITCH, Told
from tests.services.making import PDF

OTHERS = tuple(lang for lang in supplier_languages() if lang not in LANGUAGES)
NOT_OURS = (
    *(kind.name for kind in MEDIA_TYPES),
    *(kind.extension for kind in MEDIA_TYPES),
    *(
        "Can CAN",
        "CAN",
        "BOTTLE",
        "Bottle",
        "PET",
        "HDPE",
        "aluminium",
        "declaration.pdf",
        "“heavy”",
        "“red”",
        "“12 miles”",
    ),
)
"""What a page shows as somebody wrote it."""
LETTERS = re.compile(r"[^\W\d_]{2,}")
AMBIGUOUS = {"it": "1.234", "es": "1.234", "pl": "1.234", "nl": "1.234", "cs": "1.234", "zh": "1,234"}


@pytest.fixture
def asked(caller, pool):
    return Asked(caller, pool)


@pytest.fixture
def form_path(caller, pool):
    """The address of the form of a request about one item."""
    return f"/supplier-data/{ask(caller, pool).token}"


def alone(piece):
    """A pattern for a piece of a text; a word of letters other than Chinese is no part of another word."""
    before, after = (r"[^\W\d_⺀-\uffff]" if end.isalpha() and end < "⺀" else "(?!)" for end in (piece[0], piece[-1]))
    return f"(?<!{before}){re.escape(piece)}(?!{after})"


def foreign(page, lang, company):
    """The texts of a page in which letters are left when all that the language says is taken out."""
    texts = supplier_words()[lang].values()
    pieces = {piece.strip() for text in texts for piece, *_ in Formatter().parse(text)} - {""}
    pieces |= {*NOT_OURS, *(day(datetime.now(UTC).date() + timedelta(days=n), lang) for n in range(120))}
    spoken = re.compile("|".join(map(alone, sorted(pieces, key=len, reverse=True))))
    told = Told(SWITCH.sub("", page.text)).texts
    correlation_id = re.compile(r"\w{8}-\w{4}-\w{4}-\w{4}-\w{12}")
    return {text for text in told if LETTERS.search(spoken.sub(" ", correlation_id.sub("", text.replace(company, ""))))}


def post_document(asked, path, lang, data):
    sent, form = {"file": ("declaration.pdf", data, "application/pdf")}, {"type": "test_report_pfas"}
    headers = {"X-Forwarded-For": asked.caller.address}
    return asked.caller.http.post(f"{path}/files?lang={lang}", data=form, files=sent, headers=headers)


@pytest.mark.parametrize("lang", OTHERS)
def test_every_page_says_everything_in_its_language(asked, form_path, lang):
    browser, link = asked.supplier, asked.link
    company = re.search(r"<h1>(.*) asks about your packaging</h1>", browser.get(link).text)[1]
    assert post_document(asked, link, lang, PDF).status_code == 200
    faults = {"1.weight_g": "heavy", "2.recycled_content_percent": "140", "3.weight_g": "1-2", "1.colour": "red"}
    faults |= {"2.substances.pfas.value": "0.1"}
    form = asked.form(lang) | faults | {"row": ["1", "2", "3"], "do": "send"}
    contradiction = {"substances.svhc.status": "absent", "substances.svhc.value": "2"}
    contradiction |= {"substances.svhc.unit": "percent_w_w", "weight_g": "12 miles"}
    pages = [
        browser.get(f"{link}?lang={lang}&saved=1&sent=2"),
        browser.get(f"{link}?lang={lang}&offset=20"),
        browser.get(f"{form_path}?lang={lang}"),
        browser.get(f"{form_path}/thanks?lang={lang}"),
        browser.get(f"{link}x?lang={lang}"),
        browser.get(f"/supplier-data/x?lang={lang}"),
        browser.get(f"{link}/files?lang={lang}", headers={"Accept": "text/html"}),
        browser.post(f"{link}?lang={lang}", form),
        browser.post(f"{form_path}?lang={lang}", {f"0.{name}": value for name, value in contradiction.items()}),
        post_document(asked, link, lang, b"no document"),
        post_document(asked, form_path, lang, b""),
        asked.upload([["x"]], lang),
        asked.post_file(b"PK" + bytes(64), lang),
    ]
    asked.send(do="confirm")
    asked.send(do="send", consent="yes")
    pages.append(browser.get(f"{link}?lang={lang}"))
    statuses = [200, 200, 200, 200, 404, 404, 405, 400, 400, 400, 400, 400, 400, 200]
    assert [page.status_code for page in pages] == statuses
    for page in pages:
        assert f'<html lang="{lang}">' in page.text, page.url
        assert foreign(page, lang, company) == set(), page.url
        links = re.findall(r'hreflang="(\w\w)"[^>]*>', SWITCH.search(page.text)[0])
        assert links == [*supplier_languages()]
        assert f"lang={lang}" not in re.search(r'href="(/reference[^"]*)"', page.text)[1], "a guide has no such page"
    for other in ("en", "de"):
        assert len(foreign(browser.get(f"{link}?lang={other}"), lang, company)) > 50, "what is another language is seen"
    assert pages[7].text.count('class="error"') >= 4


@pytest.mark.parametrize("lang", supplier_languages())
def test_a_filled_form_arrives_equal_to_the_cell(asked, form_path, caller, pool, lang):
    mark = decimal_mark(lang)
    typed = {"1__weight_g": f"12{mark}625", "1__recycled_content_percent": f"30{mark}5"}
    typed |= {"1__substances__pfas__status": "below_limit", "1__substances__pfas__value": f"0{mark}125"}
    typed |= {"1__substances__pfas__unit": "mg_per_kg", "2__weight_g": f"1 234{mark}5"}
    assert asked.send(lang, do="save", **typed).status_code == 303
    form = asked.form(lang)
    assert form["1.weight_g"] == typed["1__weight_g"]
    asked.send(lang, do="confirm")
    assert "sent=3" in asked.send(lang, do="send", consent="yes").headers["location"]
    entries = {entry.sku_code: entry.payload["components"][0] for entry in asked.entries()}
    can = entries["CAN-1"]
    assert (can["weight_g"], can["recycled_content_percent"]) == (12.625, 30.5)
    assert (can["substances"]["pfas"]["value"], can["substances"]["pfas"]["unit"]) == (0.125, "mg_per_kg")
    assert entries["CAN-3"]["weight_g"] == 1234.5
    answer = {"consent": "yes", "0.weight_g": f"20{mark}75", "0.colour": "dark"}
    sent = asked.supplier.post(f"{form_path}?lang={lang}", answer)
    assert (sent.status_code, sent.headers["location"].endswith(f"lang={lang}")) == (303, True)
    [entry] = [entry for entry in asked.entries() if entry.sku_code == "BOTTLE-1"]
    assert entry.payload["components"][0] | {"component_id": 0} == {
        "component_id": 0, "weight_g": 20.75, "colour": "dark",
    }  # fmt: skip


@pytest.mark.parametrize("lang", OTHERS)
def test_the_workbook_goes_out_and_comes_back_with_every_word(asked, lang):
    before = asked.form(lang)
    titles, *lines = asked.workbook(lang)
    assert titles == [*workbook_headers(lang)]
    assert asked.upload([titles, *lines], lang).status_code == 303
    assert asked.form(lang) == before
    columns = {path: titles.index(title) for title, path in workbook_headers(lang).items()}
    words = {cell.path: VOCABULARIES[cell.field.vocabulary] for cell in CELLS if cell.field.vocabulary}
    measured = {"pfas": ("10", "ppb"), "svhc": ("0.01", "percent_w_w"), "heavy_metals": ("50", "mg_per_kg")}
    words = {path: codes for path, codes in words.items() if not path.endswith(".unit")}
    most = max(map(len, words.values()))
    for first in range(0, most, len(lines)):
        expected = {}
        for path, codes in words.items():
            vocabulary = next(cell.field.vocabulary for cell in CELLS if cell.path == path)
            for at, line in enumerate(lines):
                code = codes[(first + at) % len(codes)]
                line[columns[path]] = word(vocabulary, code, lang)
                expected[f"{at + 1}.{path}"] = code
        answer = asked.upload([titles, *lines], lang)
        assert answer.status_code == 303, foreign(answer, lang, "")
        form = asked.form(lang)
        assert {name: form[name] for name in expected} == expected
    for substance, (value, unit) in measured.items():
        at = f"substances.{substance}"
        lines[0][columns[f"{at}.status"]] = word("substance_status", "below_limit", lang)
        lines[0][columns[f"{at}.value"]] = value.replace(".", decimal_mark(lang))
        lines[0][columns[f"{at}.unit"]] = word("substance_unit", unit, lang)
    lines[0][columns["separable"]] = word("truth", "false", lang)
    lines[0][columns["confirmed"]] = word("truth", "true", lang)
    lines[0][columns["weight_g"]] = f"13{decimal_mark(lang)}25 g"
    assert asked.upload([titles, lines[0]], lang).status_code == 303
    form = asked.form(lang)
    assert (form["1.separable"], form["1.confirmed"]) == ("no", "yes")
    assert form["1.weight_g"] == f"13{decimal_mark(lang)}25"
    for substance, (value, unit) in measured.items():
        sent = [form[f"1.substances.{substance}.{part}"] for part in ("status", "value", "unit")]
        assert sent == ["below_limit", value.replace(".", decimal_mark(lang)), unit]


@pytest.mark.parametrize("lang", OTHERS)
def test_a_number_that_may_be_two_is_refused_in_the_language(asked, form_path, lang):
    typed, mark = AMBIGUOUS[lang], decimal_mark(lang)
    row = translate("{cell} can be {fraction} or {whole}; write the one of them that is meant.", lang)
    assert row == "{cell} can be {fraction} or {whole}; write the one of them that is meant."
    template = supplier_words()[lang]["message", row]
    sentence = template.format(cell=f"“{typed}”", fraction=f"1{mark}234", whole="1234")
    for answer in (
        asked.send(lang, do="save", **{"1__weight_g": typed}),
        asked.supplier.post(f"{form_path}?lang={lang}", {"consent": "yes", "0.weight_g": typed}),
    ):
        assert (answer.status_code, sentence in unescape(answer.text)) == (400, True), sentence
    titles, *lines = asked.workbook(lang)
    lines[0][titles.index(next(t for t, path in workbook_headers(lang).items() if path == "weight_g"))] = typed
    refused = asked.upload([titles, *lines], lang)
    assert (refused.status_code, sentence in unescape(refused.text)) == (400, True)
    assert asked.form("en")["1.weight_g"] == "12.5"


def test_a_list_in_a_chinese_cell_is_read_with_its_marks_and_a_negation_is_no_match(asked):
    titles, *lines = asked.workbook("zh")
    columns = {path: titles.index(title) for title, path in workbook_headers("zh").items()}
    lines[0][columns["additives"]] = "荧光增白剂、除氧剂；滑石粉填料"
    lines[0][columns["weight_g"]] = "12.75克"
    assert asked.upload([titles, lines[0]], "zh").status_code == 303
    page = asked.page("zh")
    chosen = set(re.findall(r'value="(\w+)" checked', page.partition('name="2.')[0]))
    assert {"optical_brightener", "oxygen_scavenger", "filler_talc"} <= chosen
    assert asked.form("zh")["1.weight_g"] == "12.75"
    lines[0][columns["ink_type"]] = "不符合EuPIA"
    refused = asked.upload([titles, lines[0]], "zh")
    assert (refused.status_code, "不符合EuPIA" in unescape(refused.text)) == (400, True)


@pytest.mark.parametrize("lang", OTHERS)
def test_the_language_is_chosen_on_suppliers_pages_alone(asked, form_path, lang):
    browser = Browser(asked.caller.http, asked.caller.address)
    wanted = {"Accept-Language": f"{lang}-XX, de;q=0.5"}
    for path, spoken in ((asked.link, lang), (form_path, lang), ("/sign-in", "de"), ("/password/forgotten", "de")):
        assert browser.get(path, headers=wanted).headers["Content-Language"] == spoken
        assert browser.get(f"{path}?lang={lang}").headers["Content-Language"] == ("en" if spoken == "de" else lang)
    refused = asked.caller.post("/skus", {"sku_code": "L-1", "name": None}, headers=wanted)
    assert refused.headers["Content-Language"] == "de"
    page = asked.browser.get(f"/enquiries?lang={lang}").text
    assert f"lang={lang}" not in page, "a page without the language leads nowhere in it"


@pytest.mark.parametrize("lang", OTHERS)
def test_the_mail_and_what_was_rejected_are_in_the_language(asked, pool, lang):
    form = hidden(asked.browser.get("/enquiries").text)
    fields = {"supplier_name": "Dosen AG", "sku_codes": "CAN-1;CAN-2", "language": lang}
    made = asked.browser.post("/enquiries", form | fields)
    assert made.status_code == 200, made.text
    told = unescape(made.text)
    sentence = supplier_words()[lang]["message", "Answer at this link; no account is needed: {address}"]
    assert sentence.partition("{")[0] in told
    assert f"lang={lang}" in told
    asked.send(lang, do="confirm")
    asked.send(lang, do="send", consent="yes")
    enquiry_id = re.search(r'href="/enquiries/([0-9a-f-]{36})"', asked.browser.get("/enquiries").text)[1]
    enquiry = asked.caller.get(f"/supplier-enquiries/{enquiry_id}").json()["data"]
    assert enquiry["language"] == lang
    now = datetime.now(UTC)
    for kind in ("asked", "reminder", "rejected"):
        of_kind = enquiry | {
            "items": [item | {"state": "rejected"} for item in enquiry["items"]],
            "expires_at": now + timedelta(days=30), "due_on": now.date(),
        }  # fmt: skip
        mail = write(kind, of_kind, "Brand Ltd", "https://x.example/y", now, articles={})
        for english in ("asks", "Items", "Answer", "Please", "link works", "data", "packaging"):
            assert english not in mail["subject"] + mail["text"]
        assert day(now.date(), lang) in mail["text"]
    refused = asked.caller.post("/supplier-enquiries", {"supplier_name": "D", "sku_codes": ["CAN-1"], "language": "sv"})
    assert (refused.status_code, refused.json()["details"][0]["code"]) == (400, "not_in_vocabulary")
