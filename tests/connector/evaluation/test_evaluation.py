"""The list of tools tells which tool answers a question at least as well as when it was measured last."""

from tests.connector.evaluation.client import LANGS, measure, questions

MEASURED = {"en": (40, 43), "fr": (29, 42), "de": (36, 42)}
"""By language: right by the first pick, and among three, of 44 each. English is the language of the list; of another
language it has a line for each tool, general words of the field that were not chosen for single questions.
"""


def test_the_list_leads_to_the_right_tool_as_often_as_measured():
    asked = questions()
    assert len(asked) >= 100
    found = measure()
    for lang in LANGS:
        first, among, every = found[lang]
        assert every == len(asked) / len(LANGS)
        assert (first, among) >= MEASURED[lang], (lang, found)
        assert among >= MEASURED[lang][1], (lang, found)
