"""The page that checks a statement: by its words, in parts, in three languages; the operation is the tool's."""

import re
from datetime import date
from html import unescape

import pytest

from compliance.statements.answers import Frame
from services.statements import NOT_UNDERSTOOD, check
from tests.api.people import signed_in

DAY = date(2026, 11, 27)
PARTS = {"about": "shipping carton, reusable", "demand": "oblige", "figure": "40 %", "role": "from", "day": "2030"}


@pytest.fixture
def viewer(caller, pool):
    return signed_in(caller, pool, "viewer")


def shown(page):
    return unescape(re.sub(r"\s+", " ", page.text))


@pytest.mark.parametrize(
    ("lang", "statement", "verdict"),
    [
        ("en", "From 2030 the empty space ratio may not exceed 50 %.", "Supported"),
        ("fr", "La classe A exige au moins 90 %.", "Contredit"),
        ("de", "Klasse A erfordert mindestens 95 %.", "Bestätigt"),
        ("de", "Verpackungen glitzern im Mondlicht.", "Nicht entschieden"),
    ],
)
def test_a_sentence_is_answered_with_what_was_read_and_its_provisions(viewer, lang, statement, verdict):
    page = viewer.get("/statements", params={"lang": lang, "statement": statement})
    answer = check(statement, lang, "regulation", DAY)
    assert f'<h2 id="verdict">{verdict}</h2>' in page.text
    assert f'<dd lang="en">{answer.read_as}</dd>' in shown(page)
    assert statement in shown(page)  # nothing is typed twice
    for fact in answer.provisions:
        assert fact.sentence in shown(page)
    for word in answer.not_understood:
        assert word in shown(page)
    for each in answer.exemptions:
        assert each.sentence in shown(page)


def test_what_is_said_in_parts_is_judged_in_place_of_the_sentence(viewer):
    frame = {name: PARTS[name] for name in ("demand", "figure")} | {"about": PARTS["about"].split(", ")}
    told = check("", "en", "regulation", DAY, Frame(**frame, when="from:2030"))
    page = viewer.get("/statements", params={"lang": "en", "statement": "Grade A needs 95 %."} | PARTS)
    assert told.read_as == "Shipping carton, reusable; is required, 40 %, from 2030."
    assert f'<dd lang="en">{told.read_as}</dd>' in page.text
    assert '<h2 id="verdict">Contradicted</h2>' in page.text
    assert "<details open>" in page.text
    assert '<option value="oblige" selected>' in page.text


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        ({"figure": "5 bananas"}, "figure"),
        ({"day": "2030-13"}, "day"),
        ({"day": "soon"}, "day"),
        ({"who": "nobody"}, "who"),
        ({"about": ",".join(["paper"] * 13)}, "about"),
        ({"statement": "x" * 1001}, "statement"),
    ],
)
def test_a_part_that_is_none_is_refused_where_it_stands(viewer, wrong, name):
    page = viewer.get("/statements", params={"lang": "fr"} | PARTS | wrong)
    assert page.status_code == 400
    assert f'id="{name}-error"' in page.text
    assert 'id="verdict"' not in page.text


def test_the_page_without_a_statement_has_no_verdict_and_words_are_counted(viewer):
    page = viewer.get("/statements")
    assert (page.status_code, 'id="verdict"' in page.text) == (200, False)
    before = NOT_UNDERSTOOD.labels("en", "other")._value.get()
    viewer.get("/statements", params={"lang": "en", "statement": "Packaging must not glitter."})
    assert NOT_UNDERSTOOD.labels("en", "other")._value.get() == before + 1
