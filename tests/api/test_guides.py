"""The guides at /reference/guides: whole pages without scripts, links that lead somewhere, and a search by words."""

import re

from api.reference.guides import ADDRESS, GROUPS, guides, search
from tests.api.test_reference import Page, rendered

NAMES = [name for names in GROUPS.values() for name in names]


def test_every_page_is_whole_and_every_link_leads_to_a_place(http):
    read: dict[str, str] = {}

    def at(path: str) -> str:
        if path not in read:
            answer = http.get(path)
            assert answer.status_code == 200, path
            read[path] = "" if path.endswith((".png", ".webp", ".css", ".json")) else answer.text
        return read[path]

    for address in (ADDRESS, f"{ADDRESS}?q=retry", *(f"{ADDRESS}/{name}" for name in NAMES)):
        page = Page(at(address))
        assert len(page.ids) == len(set(page.ids)), address
        assert page.tags.count("h1") == page.tags.count("main") == page.tags.count("form") == 1
        assert "script" not in page.tags
        for link in page.addresses:
            path, _, fragment = link.partition("#")
            target = at(path or address)
            assert not fragment or f'id="{fragment}"' in target, (address, link)


def test_a_page_runs_no_script_shows_pictures_and_sends_its_form_here(http):
    policy = http.get(f"{ADDRESS}/auditor").headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; style-src 'self'; img-src 'self';")
    assert "form-action 'self'" in policy
    assert http.get(f"{ADDRESS}/dagster/lineage.png").headers["Content-Type"] == "image/png"


def test_documents_of_the_operator_and_decisions_are_not_served(http):
    for path in ("operations", "settings", "decisions", "decisions/README.md", "pages/nothing.png", "../README"):
        assert http.get(f"/reference/guides/{path}").status_code == 404, path
    assert "operations.md" not in str([guide.body for guide in guides().values()])


def test_every_heading_is_found_by_its_own_words_in_any_order():
    for guide in guides().values():
        for section in guide.sections:
            words = " ".join(reversed(section.headings[-1].split()))
            assert section in [hit.section for hit in search(words)], section.address


def test_words_are_found_in_text_whatever_their_order_and_letters(http):
    forwards, backwards = search("Idempotency-Key payload"), search("PÄYLOAD key idempotency")
    assert [hit.section.address for hit in forwards] == [hit.section.address for hit in backwards] != []
    assert "<mark>Retry</mark>-<mark>After</mark>" in http.get("/reference/guides?q=retry+after").text
    assert search("") == search("  ") == search("gibberishword") == []


def test_a_question_cannot_write_into_the_page(http):
    page = http.get("/reference/guides", params={"q": '"><script>alert(1)</script>'}).text
    assert "script" not in Page(page).tags
    assert "&lt;script&gt;" in page


def test_the_reference_leads_to_the_guides():
    assert all('href="/reference/guides"' in re.sub(r"\s+", " ", text) for text in rendered().values())
