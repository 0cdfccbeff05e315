"""A question has one form, and one about the whole file refuses it with the answer (decisions §13)."""

from pipelines.reading.questions import question, refused
from schemas.messages import Message

ASKED = question(
    "encoding",
    Message("The letters of {name} fit two encodings.", name="Pudełko", mapping={"encoding": "windows-1250"}),
    could_be=["windows-1250", "iso-8859-2"],
)


def test_a_refusal_asks_with_kind_choices_and_the_answer() -> None:
    refusal = refused(ASKED)
    (issue,) = refusal.issues
    assert issue.as_dict() == {
        "field": "mapping",
        "code": "invalid_mapping",
        "message": "The letters of Pudełko fit two encodings.",
        "kind": "encoding",
        "could_be": ["windows-1250", "iso-8859-2"],
        "answer": {"encoding": "windows-1250"},
    }


def test_a_refusal_that_asks_can_be_shown_before_anything_was_read() -> None:
    outline = refused(ASKED).outline
    assert outline is not None
    assert outline["asked"] == [ASKED]
    assert outline["columns"] == []
