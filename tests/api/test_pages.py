"""What holds for every page: each text in each language, the frame, and what no page contains."""

import re
from string import Formatter
from uuid import uuid4

import pytest

from api.pages import render
from api.pages.render import _TEMPLATES, NAVIGATION
from schemas.messages import LANGUAGES, catalogue
from tests.api.asking import ask
from tests.api.people import Browser, added, hidden, signed_in
from warehouse.accounts.sign_in import SHORTEST

SAYING = re.compile(r'say\("([^"]+)"')


def gaps(text: str) -> set[str]:
    return {name for _, name, *_ in Formatter().parse(text) if name}


def test_every_text_is_there_in_every_language_with_the_same_gaps():
    rows = list(render.rows())
    assert len({row["key"] for row in rows}) == len(rows), "a key stands once in all tables"
    for row in rows:
        assert set(row) == {"key", *LANGUAGES}, row
        assert all(row.values()), row
        assert len({frozenset(gaps(row[lang])) for lang in LANGUAGES}) == 1, row


def test_what_is_said_otherwise_to_people_is_a_message_of_the_service_and_fills_its_gaps():
    for template, key in render._FOR_PEOPLE.items():
        assert template in catalogue("de"), template
        assert gaps(render.text(key, "en", **{name: f"{{{name}}}" for name in gaps(template)})) <= gaps(template)


def test_every_text_that_a_template_names_exists():
    known = {row["key"] for row in render.rows()}
    loader = _TEMPLATES.loader
    assert loader is not None
    for name in loader.list_templates():
        source, *_ = loader.get_source(_TEMPLATES, name)
        named = {key for key in SAYING.findall(source) if not key.endswith(".")}
        assert named <= known, name
        assert not re.search(
            r"<script(?! src=\"{{ script }}\" defer></script>)|<style|\sstyle=|\son\w+=|https?://", source
        ), name
        assert "| safe" not in source, name
    assert {key for _, key, _ in NAVIGATION} <= known


@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_signed_in_person_finds_every_page_with_one_heading(caller, pool, lang):
    browser = signed_in(caller, pool)
    for path, _, _ in NAVIGATION:
        page = browser.get(path, headers={"Accept-Language": lang})
        assert page.status_code == 200, path
        assert f'<html lang="{lang}">' in page.text
        assert len(re.findall("<h1", page.text)) == 1
        assert f'href="{path}" aria-current="page"' in page.text
        assert 'class="skip" href="#content"' in page.text
        labels = re.findall(r'<label for="([^"]+)"', page.text)
        assert set(re.findall(r'<(?:input|select|textarea) id="([^"]+)"', page.text)) <= set(labels)


def test_the_sheet_asks_no_other_address_and_follows_the_browsers_scheme(caller):
    sheet = Browser(caller.http, caller.address).get("/pages/style.css")
    assert "url(" not in sheet.text
    assert "@import" not in sheet.text
    assert "prefers-color-scheme: dark" in sheet.text
    assert sheet.headers["x-content-type-options"] == "nosniff"


def test_a_page_that_is_only_for_people_asks_to_sign_in(caller):
    for path, _, _ in NAVIGATION:
        answer = Browser(caller.http, caller.address).get(path)
        assert (answer.status_code, answer.headers["location"].split("=")[0]) == (303, "/sign-in?next")


CLAUSES = re.compile(
    r"[^\s,;:.!?(„–](?<! um)(?: (?:und|oder|nur|erst|auch|denn))? "
    r"(?:dass|weil|wenn|ob|bevor|damit|nachdem|obwohl|sobald|(?:die|der|das|was) (?:Sie|sie|er|es|dieser|wir)) "
)
"""Where a German subordinate clause begins without its comma."""


def test_german_clauses_have_their_comma():
    spoken = [*(row["de"] for row in render.rows()), *(str(entry.string) for entry in catalogue("de"))]
    assert not [text for text in spoken if CLAUSES.search(text)]
    assert CLAUSES.search("Erlauben Sie nur eine Anwendung die Sie selbst gestartet haben.")
    assert CLAUSES.search("Sehen Sie hier nach wenn Werte fehlen.")


def test_every_form_is_made_by_the_macros_of_forms_html_and_has_its_token():
    loader = _TEMPLATES.loader
    assert loader is not None
    with_posts = set()
    for name in set(loader.list_templates()) - {"forms.html"}:
        source, *_ = loader.get_source(_TEMPLATES, name)
        assert not re.search(r"<(input|label|select|textarea)\b", source), name
        posts = re.findall(r'<form[^>]* method="post".*?</form>', source, re.DOTALL)
        with_posts |= {name} if posts else set()
        if name not in {"supplier_form.html", "supplier_enquiry.html"}:  # the token of their path authenticates
            assert all('hidden("csrf", ' in post for post in posts), name
    assert {"layout.html", "sign_in.html", "password.html", "review_entry.html", "supplier_form.html"} <= with_posts


def test_a_refused_form_shows_the_fault_at_its_field_and_keeps_what_was_typed(caller, pool):
    ask(caller, pool)
    browser = Browser(caller.http, caller.address)
    wrong = browser.post("/sign-in", hidden(browser.get("/sign-in").text) | {"email": "a@b.example", "password": "x"})
    assert 'id="email-error"' in wrong.text
    assert 'value="a@b.example"' in wrong.text
    assert 'value="x"' not in wrong.text, "a password is never sent back"
    browser.sign_in(added(pool, caller.company))
    fields = hidden(browser.get("/supplier-requests?sku=BOTTLE-1").text)
    refused = browser.post("/supplier-requests", fields | {"supplier_name": "Glass & Co"})
    assert refused.status_code == 400
    assert 'href="#component"' in refused.text
    assert '<fieldset id="component"' in refused.text
    assert 'value="Glass &amp; Co"' in refused.text
    assert 'value="BOTTLE-1"' in refused.text
    assert f'minlength="{SHORTEST}"' in browser.get("/password").text


@pytest.mark.parametrize(
    ("lang", "said"),
    [
        ("en", "a component that you chose is no longer part of it"),
        ("fr", "un composant que vous avez choisi n’en fait plus partie"),
        ("de", "ein Bauteil, das Sie gewählt haben, gehört nicht mehr dazu"),
    ],
)
def test_a_request_for_what_is_gone_says_so_without_ids(caller, pool, lang, said):
    ask(caller, pool)
    browser = signed_in(caller, pool)
    gone = str(uuid4())
    sent = hidden(browser.get("/supplier-requests?sku=BOTTLE-1").text) | {"sku": "BOTTLE-1", "component": gone}
    refused = browser.post(f"/supplier-requests?lang={lang}", sent)
    assert (refused.status_code, said in refused.text, gone in refused.text) == (400, True, False)
    assert "/supplier-data/" not in refused.text


def test_no_template_writes_an_address_or_a_figure_by_hand():
    """An address without `link` loses the language; a figure without `number` has the decimal point of programs."""
    loader = _TEMPLATES.loader
    assert loader is not None
    for name in loader.list_templates():
        if name.endswith(".html"):
            source = loader.get_source(_TEMPLATES, name)[0].replace('method="get" action=', "")  # holds it hidden
            assert not re.findall(r'(?:href|action)="/', source), name
            assert set(re.findall(r'"(%[^"]*[fg])" \| format', source)) <= {"%.2f"}, "of a bar's width alone"
