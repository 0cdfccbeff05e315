"""The list of tools tells which tool answers a question at least as well as when it was measured last."""

from tests.connector.evaluation.client import LANGS, measure, questions

MEASURED = {"en": (40, 43), "fr": (18, 33), "de": (17, 32)}
"""By language: right by the first pick, and among three, of 44 each. English is the language of the list; another
language shares names, numbers and pieces of words with it, which is all that a client without a model has.
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
