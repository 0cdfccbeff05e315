"""Translates a trace to the caller's language: it is made in English, and only its sentences change.

Our own sentences are messages (`schemas.messages`). Questions and the rules' texts have translations in
the tables: those of the rule-set that graded, or those of today's where its English is the same.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from compliance.ruleset import RuleSet
from schemas.grading import GradeComponent, GradeRule, GradeTrace
from schemas.labels import word
from schemas.messages import ORIGINAL, Message, translate

_NAMED: Final = "{0} ({1})"
"""How a reason names a rule: its text, and its id."""
_RULE_ID: Final = re.compile(r"\b[A-Za-z_]+-\d+[a-z]?\b")


def in_language(trace: GradeTrace, rule_sets: Sequence[RuleSet], lang: str) -> GradeTrace:
    """Return the trace with every sentence in a language of `LANGUAGES`; one without a translation stays English.

    `rule_sets` are those whose tables may have the texts, the one that graded first.
    """
    if lang == ORIGINAL:
        return trace
    return {
        **trace,
        "reason": translated_text(trace["reason"], rule_sets, lang),
        "units": [
            {**unit, "components": [_component(part, rule_sets, lang) for part in unit["components"]]}
            for unit in trace["units"]
        ],
        "missing": [
            {**issue, "message": translated_question(issue["message"], rule_sets, lang)} for issue in trace["missing"]
        ],
        "open": [{**fact, "ask": translated_question(fact["ask"], rule_sets, lang)} for fact in trace["open"]],
        "assumptions": [translated_text(sentence, rule_sets, lang) for sentence in trace["assumptions"]],
    }


def translated_text(sentence: str, rule_sets: Sequence[RuleSet], lang: str) -> str:
    """Return a reason or an assumption in the language: with the rules' texts, and units by their words."""
    if lang == ORIGINAL:
        return sentence
    return translate(_in_words(sentence, rule_sets, lang), lang)


def _in_words(sentence: str, rule_sets: Sequence[RuleSet], lang: str) -> str:
    """Return a message with the rules' texts and the units among its parameters in the language."""
    if not isinstance(sentence, Message):
        return sentence
    given = dict(sentence.parameters)
    if "features" in given:
        given["features"] = with_rules(str(given["features"]), rule_sets, lang)
    if "feature" in given:
        given["feature"] = rule_text(str(given["rule_id"]), str(given["feature"]), rule_sets, lang)
    if "unit" in given:
        given["unit"] = word("component_type", str(given["unit"]), lang)
    if "of_unit" in given:
        given["of_unit"] = _in_words(str(given["of_unit"]), rule_sets, lang)
    return Message(sentence.template, **given)


def translated_question(sentence: str, rule_sets: Sequence[RuleSet], lang: str) -> str:
    """Return a question of the tables, or a sentence used instead of one, in the language."""
    known = (_questions(rules, lang).get(sentence) for rules in rule_sets)
    return next((text for text in known if text), None) or translate(sentence, lang)


def with_rules(sentence: str, rule_sets: Sequence[RuleSet], lang: str) -> str:
    """Return the sentence with the texts of the rules that it names by id in the language; the rest is unchanged."""
    for rule_id in dict.fromkeys(_RULE_ID.findall(sentence)):
        for rules in rule_sets:
            if rule := rules.rules.get(rule_id):
                text = rule_text(rule_id, rule.feature, rule_sets, lang)
                sentence = sentence.replace(_NAMED.format(rule.feature, rule_id), _NAMED.format(text, rule_id))
    return sentence


def rule_text(rule_id: str, english: str, rule_sets: Sequence[RuleSet], lang: str) -> str:
    """Return a rule's text in the language, where a rule-set has it for the same English text; else the English one."""
    for rules in rule_sets:
        rule, texts = rules.rules.get(rule_id), rules.texts.get(rule_id)
        if rule and texts and rule.feature == english:
            return texts.get(lang, english)
    return english


def _component(part: GradeComponent, rule_sets: Sequence[RuleSet], lang: str) -> GradeComponent:
    rules: list[GradeRule] = [
        {**rule, "text": rule_text(rule["rule_id"], rule["text"], rule_sets, lang)} for rule in part["rules"]
    ]
    return {**part, "rules": rules}


@lru_cache(maxsize=16)
def _questions(rules: RuleSet, lang: str) -> Mapping[str, str]:
    """Return the questions of a rule-set in the language, by their English."""
    return MappingProxyType({each.en: getattr(each, lang) for each in rules.questions.values()})
