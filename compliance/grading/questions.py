"""Words the questions of a grade in English: the fields that it lacks, and the open facts that could change it.

The questions come from the tables (`attribute_questions.csv`). Where a rule-set lacks them, a plain sentence says what
to send. `compliance.grading.questions` translates.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from compliance.grading.components import lines
from compliance.grading.provisional import OpenFact
from compliance.ruleset import RuleSet
from compliance.words import nearest_materials, resolve_material
from schemas import rules as rules_schemas
from schemas.issues import Issue
from schemas.messages import ORIGINAL, Message, message_of, translate, word
from schemas.rules import GradeComponent, GradeRule, GradeTrace, MissingFact
from schemas.skus.types import Sku

TO_SEND: Final[dict[str, Message]] = {
    "material": Message("Give the material, the material subtype, or the component graph."),
    "components": Message(
        "Give the component graph: one body at least, each layer of a composite with its own weight."
    ),
    "packaging_format": Message("Give the packaging format; it decides the sorting stream of this material."),
    "polymer_or_grade": Message(
        "Give the material of this part (polymer or grade), with its share small or its kind known."
    ),
    "material_subtype": Message("Give the polymer or grade of the material."),
    "weight_g": Message("Give the weight of this part in grams, above 0 for a body."),
    "weight_grams": Message("Give the weight in grams, above 0."),
}
"""The sentence that says what to send where the tables have no question, by the name of the field."""
_AS: Final = {"material_subtype": "polymer_or_grade", "weight_grams": "weight_g"}
"""Fields of a SKU without components that mean the same as a field of its body: they share its question."""


def question(field: str, types: Sequence[str | None], day: RuleSet) -> Message:
    """Return the question for a field of a part: of the first of these types with its own; none for a SKU's field."""
    name = _AS.get(field, field)
    found = [day.questions.get((name, kind)) for kind in (*types, "") if kind is not None]
    if asked := next((each for each in found if each), None):
        return message_of(asked.en)
    return TO_SEND.get(field) or Message("Give the {field} of this part; a design rule depends on it.", field=field)


def missing_fields(fields: Sequence[str], record: Sku, day: RuleSet) -> list[MissingFact]:
    """Return the missing fields as published issues; each is a path of the caller's body."""
    return [{"field": path, "code": "required", "message": _question_at(path, record, day)} for path in fields]


def _question_at(path: str, record: Sku, day: RuleSet) -> Message:
    place, _, name = path.removeprefix("components[").rpartition("].")
    return question(name, [lines(record)[int(place)]["component_type"]] if place else [], day)


def published_open_facts(facts: Sequence[OpenFact], record: Sku, day: RuleSet) -> list[rules_schemas.OpenFact]:
    """Return the open facts as they are published, in their order."""
    return [
        {
            "field": fact.field,
            "component_id": None if fact.line is None else lines(record)[fact.line].get("id"),
            "ask": question(fact.field, [fact.component_type, fact.matched], day),
            "could_become": list(fact.could_become),
        }
        for fact in facts
    ]


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


def warnings(record: Sku, rules: RuleSet) -> list[Issue]:
    """Return the warnings `polymer_unresolved` and `material_conflict` of a record."""
    return list(_issues(record, rules))


def _issues(record: Sku, rules: RuleSet) -> Iterator[Issue]:
    for field, family, text in _material_texts(record):
        code = resolve_material(text, rules)
        if code is None:
            near = ", ".join(f"“{word}”" for word in nearest_materials(text, rules))
            yield Issue(
                "polymer_unresolved",
                Message("The material is not known and grades nothing. Nearest: {near}.", near=near),
                field,
            )
        elif family and _conflict(family, code, rules):
            fitting = ", ".join(sorted(rules.materials[code].contract_families))
            yield Issue(
                "material_conflict",
                Message(
                    "The family is {family}, but the text means {code} and decides; {fitting} would fit it.",
                    family=family,
                    code=code,
                    fitting=fitting,
                ),
                field,
            )


def _material_texts(record: Sku) -> Iterator[tuple[str, str | None, str]]:
    """Yield field, family and text of every material text; the SKU's own only where there is no graph."""
    graph = lines(record)
    for index, line in enumerate(graph):
        if text := line.get("polymer_or_grade"):
            yield f"components[{index}].polymer_or_grade", line.get("material_family"), text
    if not graph and (text := record.get("material_subtype")):
        yield "material_subtype", record.get("material"), text


def _conflict(family: str, code: str, rules: RuleSet) -> bool:
    material = rules.materials[code]
    return material.specified and family != "other" and family not in material.contract_families
