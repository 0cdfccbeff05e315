"""The page of an import shows its questions with their answers to choose from, without a script."""

import re
from datetime import UTC, datetime
from html import unescape
from uuid import uuid4

import pytest

from pipelines.imports import submissions
from pipelines.reading import questions as asking
from schemas.actors import Actor, Origin
from schemas.messages import Message
from tests.api.people import hidden, signed_in
from tests.api.portfolios import run, service_behind
from tests.api.test_import_answers import ASKING, imported, stored
from tests.api.test_upload_pages import send, shown


def questions(page):
    """The choices of each question, by the name of its list."""
    lists = re.findall(r'<select name="(answer\.\d+)"(.*?)</select>', page, re.DOTALL)
    return {name: re.findall(r'<option value="([^"]*)"', body)[1:] for name, body in lists}


def test_several_questions_of_a_written_import_are_answered_at_once(caller, browser):
    first = imported(caller, "SKU;Name;Material;Weight\nQ-1;Jar;glass;180\n")
    page = unescape(browser.get(f"/imports/{first}").text)
    assert "2 questions open" in page
    assert sorted(questions(page).values()) == [["material", "-"], ["weight_grams", "-"]]
    chosen = {name: choices[0] for name, choices in questions(page).items()}
    answer = browser.post(f"/imports/{first}/columns", hidden(page) | chosen | {"step": "import"})
    assert answer.status_code == 303, answer.text
    run(caller, answer.headers["Location"].rpartition("/")[2])
    assert {name: stored(caller)["Q-1"][name] for name in ("material", "weight_grams")} == {
        "material": "glass",
        "weight_grams": 180,
    }
    told = browser.get(answer.headers["Location"]).text
    assert "questions open" not in told
    assert f'href="/imports/{first}' in told, "the page links back to the import that asked"
    assert f'href="{answer.headers["Location"].partition("?")[0]}' in browser.get(f"/imports/{first}").text


def test_a_column_that_is_nothing_of_the_packaging_is_asked_about_no_more(caller, browser):
    first = imported(caller, ASKING)
    page = browser.get(f"/imports/{first}").text
    answer = browser.post(f"/imports/{first}/columns", hidden(page) | {"answer.0": "-", "step": "import"})
    run(caller, answer.headers["Location"].rpartition("/")[2])
    report = caller.get(f"/imports/{answer.headers['Location'].rpartition('/')[2]}").json()
    assert report["source"]["asked"] == []
    assert stored(caller)["Q-1"]["weight_grams"] is None


def test_an_open_word_is_answered_in_the_dry_run(caller, browser):
    text = (
        b"sku_code;name;Component;material_family;component_weight_g\n"
        b"P-1;Tray;Film;plastic;4\nP-1;Tray;Tray;plastic;20\n"
    )
    address, page = shown(caller, browser, send(browser, text))
    [(name, choices)] = questions(page).items()
    assert "label" in choices
    answer = browser.post(f"{address.partition('?')[0]}/columns", hidden(page) | {name: "label", "step": "import"})
    assert answer.status_code == 303, answer.text
    run(caller, answer.headers["Location"].rpartition("/")[2])
    assert sorted(part["component_type"] for part in stored(caller)["P-1"]["components"]) == ["body", "label"]


@pytest.mark.parametrize(
    ("lang", "sentence"), [("en", "1 question open"), ("fr", "1 question ouverte"), ("de", "1 Frage offen")]
)
def test_the_list_of_imports_counts_the_open_questions(caller, browser, lang, sentence):
    imported(caller, ASKING)
    assert sentence in browser.get(f"/imports?lang={lang}").text


def test_a_viewer_sees_the_questions_and_no_choice(caller, pool):
    first = imported(caller, ASKING)
    viewer = signed_in(caller, pool, "viewer")
    page = unescape(viewer.get(f"/imports/{first}").text)
    assert "may be the product’s or its packaging’s" in page
    assert questions(page) == {}
    assert "/columns" not in page


def test_a_refused_file_is_kept_and_a_choice_is_enough(caller, browser):
    asked = asking.question(
        "encoding",
        Message("The letters of {name} fit two encodings.", name="Pude³ko", mapping={"encoding": "windows-1250"}),
        could_be=["windows-1250", "iso-8859-2"],
    )
    refused, service = asking.refused(asked), service_behind(caller)
    assert refused.outline is not None
    file = submissions.keep_file(service.objects, caller.company, "SKU;Name\nK-1;Pudełko\n".encode("cp1250"))
    with service.writes.company(caller.company) as conn:
        actor = Actor(caller.company, Origin("user", str(uuid4()), "A", "c"), datetime.now(UTC))
        sent = submissions.Submission(b"", "kody.csv", dry_run=True)
        outline, issues = refused.outline, refused.issues
        submissions.ask_columns(conn, actor, service.objects, file, sent, outline=outline, issues=issues)
    kept = file.import_id
    page = unescape(browser.get(f"/imports/{kept}?lang=de").text)
    assert questions(page) == {"answer.0": ["windows-1250", "iso-8859-2"]}
    assert "sku.header_row" not in page
    [listed] = [row for row in browser.get("/imports").text.split("<tr>") if "kody.csv" in row]
    assert "asked for" in listed
    failure = caller.get(f"/imports/{kept}").json()["failure"]
    assert (failure["kind"], failure["answer"]) == ("encoding", {"encoding": "windows-1250"})
    answer = browser.post(f"/imports/{kept}/columns", hidden(page) | {"answer.0": "windows-1250", "step": "read"})
    assert answer.status_code == 303, answer.text
