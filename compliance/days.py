"""Lists the days from which obligations of Regulation (EU) 2025/40 begin, each once, for all who show them.

The rows are `rules/days/days.csv`, in the order of the days. A row takes its day from `limits.csv` of the rule-set in
force where that has one, so that a date of law stands once; else from its own cell. Reports that a market asks for each
year are not here (`compliance.filings`), nor what each item owes (`compliance.readiness`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache, lru_cache
from typing import Final

from compliance.rule_rows import RuleSet
from compliance.tables import RULES, Row, TableError, rows
from schemas.messages import LANGUAGES, ORIGINAL

_FILE: Final = RULES / "days" / "days.csv"


@dataclass(frozen=True, slots=True)
class LegalDay:
    """An obligation and its first day. `may_move`: the law also says so long after an act, whichever is later.

    `sentences` say the obligation in each of `LANGUAGES`; `reference` is the article.
    """

    key: str
    on: date
    may_move: bool
    reference: str
    sentences: Mapping[str, str]

    def as_text(self) -> str:
        """Return the day, the obligation and its article in one English line, as an assistant is told them."""
        later = " or later" if self.may_move else ""
        return f"{self.on.isoformat()}{later}: {self.sentences[ORIGINAL]} ({self.reference})"


@cache
def table() -> tuple[Row, ...]:
    """Return the rows of the table. Raise `TableError` where one has two days or none, or lacks a sentence."""
    listed = tuple(rows(_FILE))
    for row in listed:
        if bool(row["limit"]) == bool(row["on"]) or not all(row[name] for name in ("reference", *LANGUAGES)):
            raise TableError(f"{_FILE.name}: {row['key']} needs one day, a reference and its sentences.")
    return listed


@lru_cache(maxsize=8)
def legal_days(rules: RuleSet, today: date) -> tuple[LegalDay, ...]:
    """Return the days after a day, by the rule-set, the nearest first; a rule-set without a row's limit lacks it."""
    dated = ((row, _day(row, rules)) for row in table())
    ahead = [(row, on) for row, on in dated if on is not None and on > today]
    return tuple(_legal_day(row, on) for row, on in sorted(ahead, key=lambda pair: pair[1]))


def _day(row: Row, rules: RuleSet) -> date | None:
    if row["on"]:
        return date.fromisoformat(row["on"])
    limit = rules.limits.get(row["limit"])
    return limit.applies_from if limit else None


def _legal_day(row: Row, on: date) -> LegalDay:
    sentences = {lang: row[lang] for lang in LANGUAGES}
    return LegalDay(row["key"], on, row["may_move"] == "Y", row["reference"], sentences)
