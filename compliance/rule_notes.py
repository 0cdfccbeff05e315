"""Rule-set rows that are shown beside a grade and decide nothing in it: questions, a standard's parts, guidance.

The rows that decide a grade are in `compliance.rule_rows`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from compliance.tables import words


@dataclass(frozen=True, slots=True)
class Question:
    """The question for a field that is not given (`attribute_questions.csv`), in English, French and German.

    `component_type` is empty where the question fits a part of any type; a question with the type takes precedence.
    """

    field: str
    component_type: str
    en: str
    fr: str
    de: str


@dataclass(frozen=True, slots=True)
class StandardPart:
    """One part of EN 18120:2026 (`en18120.csv`) and the streams whose rules it would supersede.

    `say` is the sentence for a caller; it is empty where the part sets no design rules.
    """

    part: str
    title: str
    covers: str
    streams: frozenset[str]
    supersedes: tuple[str, ...]
    status: str
    title_seen: str
    say: str
    source_url: str


@dataclass(frozen=True, slots=True)
class Guidance:
    """A document that explains the law without binding force (`guidance.csv`); `read` says how much of it was read."""

    document: str
    date: str
    status: str
    on: str
    what_it_says: str
    read: str
    source_url: str


def question(row: dict[str, str]) -> Question:
    """Parse a row of `attribute_questions.csv`."""
    return Question(row["field"], row["component_type"], row["ask_en"], row["ask_fr"], row["ask_de"])


def rule_text(row: dict[str, str]) -> Mapping[str, str]:
    """Parse a row of `rule_texts.csv`: a rule's text (`feature` of `dfr_rules.csv`, in English) by other language."""
    return MappingProxyType({"fr": row["text_fr"], "de": row["text_de"]})


def standard_part(row: dict[str, str]) -> StandardPart:
    """Parse a row of `en18120.csv`."""
    return StandardPart(
        part=row["part"],
        title=row["title"],
        covers=row["covers"],
        streams=frozenset(words(row["streams"])),
        supersedes=words(row["supersedes_rules"]),
        status=row["status"],
        title_seen=row["title_seen"],
        say=row["say"],
        source_url=row["source_url"],
    )


def guidance(row: dict[str, str]) -> Guidance:
    """Parse a row of `guidance.csv`."""
    return Guidance(
        row["document"], row["date"], row["status"], row["on"], row["what_it_says"], row["read"], row["source_url"]
    )
