"""Answers statements for every door, and counts the words that kept a verdict back: what to add to the words."""

from datetime import date
from typing import Final

from prometheus_client import Counter

from compliance.statements import answers
from compliance.statements.words import CorpusName, Lang

NOT_UNDERSTOOD: Final = Counter(
    "pcds_statement_words_not_understood",
    "Words of statements that no list has: by word where a published sentence has it, else as other.",
    ("lang", "word"),
    registry=None,
)
"""`/metrics` registers it. No label has a caller's text that our own sentences lack."""


def check(
    statement: str, lang: Lang, corpus: CorpusName, today: date, frame: answers.Frame | None = None
) -> answers.Answer:
    """Return the answer to a statement on a UTC day, judged by its words or by the frame that its sender has filled."""
    claim = answers.claim_of(frame, lang, corpus) if frame else None
    answer = answers.answer(statement, lang, corpus, today, claim)
    for word in answer.not_understood:
        NOT_UNDERSTOOD.labels(lang, word if word in answers.vocabulary(corpus) else "other").inc()
    return answer
