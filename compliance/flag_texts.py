"""Words the flag of a banned format: the ban, whether it is in force, and the facts that would decide it.

A reason is written in English where the flag is found, and may be stored so, as in a decided entry of the review queue;
pages and answers translate it. `compliance.annex_v` decides which record has which flag.
"""

import re
from collections.abc import Sequence
from datetime import date
from typing import Final

from compliance.rule_rows import Ban
from compliance.ruleset import RuleSet
from schemas.messages import ORIGINAL, Message, translate

_DECIMAL: Final = re.compile(r"(?<=\d)_(?=\d)")
"""The character that replaces the decimal point in the key of a fact."""
_REASON: Final = re.compile(
    r"(?P<ban>.*?)(?:, (?P<since>in force since|from) (?P<day>\d{4}-\d\d-\d\d))?(?:, if: (?P<facts>.*))?", re.DOTALL
)
"""Splits a reason into its parts; reasons stored before 2026-11-22 have no date."""


def reason(ban: Ban, open_facts: Sequence[str], today: date) -> str:
    """Return the sentence of a flag on a UTC day, in English; the open facts are those that the record lacks."""
    text = dated_ban(ban.flag_text, ban.applies_from, today)
    return f"{text}, if: {', '.join(map(in_words, open_facts))}" if open_facts else text


def dated_ban(text: str, applies_from: date, today: date) -> str:
    """Return the ban, with whether it is in force on a UTC day or from when it will be."""
    return f"{text}, {'in force since' if applies_from <= today else 'from'} {applies_from.isoformat()}"


def in_words(fact: str) -> str:
    """Return an open fact as people read it: `produce_below_1_5_kg` contains a decimal number."""
    return _DECIMAL.sub(".", fact).replace("_", " ")


def translated_reason(code: str, reason: str, rules: RuleSet, lang: str) -> str:
    """Return a flag's reason in a language of `LANGUAGES`: the ban in the rules' words, the rest in the service's.

    Words that neither has stay English, such as a ban that the rules no longer have.
    """
    found = _REASON.fullmatch(reason)
    if lang == ORIGINAL or found is None:
        return reason
    sentences = [_ban(code, found["ban"], rules, lang)]
    if found["day"]:
        day = found["day"]
        when = Message("from {day}", day=day) if found["since"] == "from" else Message("in force since {day}", day=day)
        sentences.append(translate(when, lang))
    if found["facts"]:
        facts = "; ".join(translate(fact, lang) for fact in found["facts"].split(", "))
        sentences.append(translate(Message("if: {facts}", facts=facts), lang))
    return ", ".join(sentences)


def _ban(code: str, text: str, rules: RuleSet, lang: str) -> str:
    ban = next((ban for ban in rules.bans if (ban.code, ban.flag_text) == (code, text)), None)
    return (ban and ban.texts.get(lang)) or translate(text, lang)
