"""Builds the published trace of a grade: units, parts, rules, missing, open and assumed facts (step 7e, step 8).

It reports the findings of `compliance.grading.assessment` and decides nothing. The questions for missing and open
facts come from the tables (`attribute_questions.csv`); where a rule-set lacks them, a plain sentence says what to send.
All is worded in English, and translated last.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Final, TypeAlias

from compliance.grading.assessment import Assessment, UnitAssessment, rounded_score
from compliance.grading.firing import RANK, rows_for_type
from compliance.grading.provisional import Judgement, OpenFact, judge, open_facts
from compliance.grading.units import Part, Weighed, lines
from compliance.rule_rows import Material, Rule
from compliance.ruleset import STEP_6_RULES, RuleSet
from compliance.words import nearest_materials, resolve_material
from schemas import rules as rules_schemas
from schemas.issues import Issue
from schemas.messages import ORIGINAL, Figure, Message, message_of, translate, word
from schemas.rules import GradeComponent, GradeRule, GradeTrace, GradeUnit, MissingFact, UncoveredMaterial
from schemas.skus.types import Component, Sku

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
    questions = [day.questions.get((name, kind)) for kind in (*types, "") if kind is not None]
    if first := next((candidate for candidate in questions if candidate), None):
        return message_of(first.en)
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
        "no_guideline_row": [
            {**material, "message": translated_text(material["message"], rule_sets, lang)}
            for material in trace["no_guideline_row"]
        ],
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
    parameters = dict(sentence.parameters)
    if "features" in parameters:
        parameters["features"] = with_rules(str(parameters["features"]), rule_sets, lang)
    if "feature" in parameters:
        parameters["feature"] = rule_text(str(parameters["rule_id"]), str(parameters["feature"]), rule_sets, lang)
    if "unit" in parameters:
        parameters["unit"] = word("component_type", str(parameters["unit"]), lang)
    if "of_unit" in parameters:
        parameters["of_unit"] = _in_words(str(parameters["of_unit"]), rule_sets, lang)
    return Message(sentence.template, **parameters)


def translated_question(sentence: str, rule_sets: Sequence[RuleSet], lang: str) -> str:
    """Return a question of the tables, or a sentence used instead of one, in the language."""
    translations = (_questions(rules, lang).get(sentence) for rules in rule_sets)
    return next((text for text in translations if text), None) or translate(sentence, lang)


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
    return MappingProxyType({row.en: getattr(row, lang, "") for row in rules.questions.values()})


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


SCHEME: Final = "eu"
"""The scheme of these grades: Article 6 and Annex II of Regulation (EU) 2025/40."""


def explain(record: Sku, rules: RuleSet, day: RuleSet | None = None) -> GradeTrace:
    """Return the `grade_trace` of a record (decisions §9, §12), ready for JSON; questions as in `build_trace`."""
    return build_trace(judge(record, rules), record, rules, day or rules)


def build_trace(judged: Judgement, record: Sku, rules: RuleSet, day: RuleSet, *, with_open: bool = True) -> GradeTrace:
    """Return the trace of a record that `rules` already judged; the questions are those of the day's rule-set.

    A caller that knows the record's versions fills `previous`. Without open facts it takes a fraction of the time.
    """
    assessed, provisional = judged
    stored_lines, fired = lines(record), [_rules_by_member(unit, rules) for unit in assessed.units]
    body = assessed.units[0] if assessed.units else None
    limited = body.result.limited if body else None
    facts = open_facts(record, assessed, rules) if with_open and provisional else []
    return {
        "scheme": SCHEME,
        "ruleset_version": rules.version,
        "indicative": True,
        "provisional": provisional,
        "reason": _reason(assessed, fired, rules, provisional=provisional),
        "stream": body.stream if body else None,
        "weight_share_percent": rounded_score(body.result.kept) if body else None,
        "limited_features": limited,
        "cap": None if limited is None else rules.cap(limited),
        "units": [_unit(*unit, stored_lines) for unit in zip(assessed.units, fired, strict=True)],
        "missing": missing_fields(assessed.missing, record, day),
        "open": published_open_facts(facts, record, day),
        "no_guideline_row": [
            _uncovered(member, part, stored_lines) for unit in assessed.units for member, part in unit.without_row()
        ],
        "previous": None,
        "assumptions": list(dict.fromkeys(text for unit in assessed.units for text in _assumptions(unit, rules))),
    }


def _uncovered(member: Weighed, part: Part, stored_lines: Sequence[Component]) -> UncoveredMaterial:
    assert part.material
    return {
        "component_id": None if member.index is None else stored_lines[member.index].get("id"),
        "code": "no_guideline_row",
        "material": part.material.code,
        "message": Message(
            "No guideline row covers {material} as {unit}: the material is given, and nothing is missing.",
            material=part.material.code,
            unit=part.component_type,
        ),
    }


_Fired: TypeAlias = list[list[tuple[Rule, bool]]]
"""The rules traced on each member of a unit and its carried parts, each with whether it is overruled."""


def _reason(assessed: Assessment, fired: Sequence[_Fired], rules: RuleSet, *, provisional: bool) -> Message:
    """Return one sentence for the grade as it is."""
    if assessed.why_none:
        return assessed.why_none
    if assessed.missing and assessed.result.grade == "not_assessed":
        return Message("Not assessed, because facts are missing: {fields}.", fields=", ".join(assessed.missing))
    place = next((at for at, unit in enumerate(assessed.units) if unit.result == assessed.result), 0)
    deciding = assessed.units[place]
    where = "" if place == 0 else Message(" of the separate {unit}", unit=deciding.unit.name)
    strict = [rule for on_member in fired[place] for rule, overruled in on_member if not overruled]
    uncovered = ", ".join(dict.fromkeys(part.material.code for _, part in deciding.without_row() if part.material))
    if assessed.result.grade == "not_assessed":
        return _why_not_assessed(deciding, strict, uncovered)
    if reds := [rule for rule in strict if rule.effect == "disqualify"]:
        about = {"of_unit": where, "features": _quoted(reds)}
        if provisional and uncovered:
            return Message(
                "Not recyclable, because of the design{of_unit}: {features}; no guideline row covers {materials}, so "
                "that this is a reading.",
                **about,
                materials=uncovered,
            )
        if provisional:
            return Message(
                "Not recyclable, because of the design{of_unit}: {features}; facts that are not given could change it.",
                **about,
            )
        return Message("Not recyclable, because of the design{of_unit}: {features}.", **about)
    return _reason_of_points(assessed, deciding, where, uncovered, rules, provisional=provisional)


def _reason_of_points(
    assessed: Assessment,
    deciding: UnitAssessment,
    where: str | Message,
    uncovered: str,
    rules: RuleSet,
    *,
    provisional: bool,
) -> Message:
    """Return the sentence for a grade that is reached by points."""
    limited = deciding.result.limited
    about = {
        "grade": assessed.result.grade,
        "score": Figure(str(rounded_score(assessed.result.score))),
        "of_unit": where,
        "kept": Figure(str(rounded_score(deciding.result.kept))),
        "limits": Message("1 limited feature") if limited == 1 else Message("{count} limited features", count=limited),
        "cap": Figure(f"{rules.cap(limited or 0):g}"),
    }
    if provisional and uncovered:
        return Message(
            "{grade} with {score} points{of_unit}: recycling keeps {kept} % of the weight, and with {limits} the score "
            "is at most {cap}; no guideline row covers {materials}, so that this is a reading.",
            **about,
            materials=uncovered,
        )
    if provisional:
        return Message(
            "{grade} with {score} points{of_unit}: recycling keeps {kept} % of the weight, and with {limits} the score "
            "is at most {cap}; facts that are not given could change it.",
            **about,
        )
    return Message(
        "{grade} with {score} points{of_unit}: recycling keeps {kept} % of the weight, and with {limits} the score "
        "is at most {cap}.",
        **about,
    )


def _why_not_assessed(deciding: UnitAssessment, strict: Sequence[Rule], uncovered: str) -> Message:
    """Return why a unit without missing facts has no grade; `uncovered` are given materials without a row."""
    if deciding.stream is None:
        return Message("Not assessed, because no recycling stream is known for this material.")
    tests = [rule for rule in strict if rule.effect == "not_assessed"]
    if uncovered and any(rule.rule_id in STEP_6_RULES for rule in tests):
        return Message(
            "Not assessed, because no guideline row covers the material that is given: {materials}.",
            materials=uncovered,
        )
    return Message("Not assessed, because a test would have to decide: {features}.", features=_quoted(tests))


def _quoted(rules_named: Sequence[Rule]) -> str:
    return "; ".join(dict.fromkeys(f"{rule.feature} ({rule.rule_id})" for rule in rules_named))


def _rules_by_member(assessed: UnitAssessment, rules: RuleSet) -> _Fired:
    unlisted = assessed.unlisted(rules)
    traced_on: _Fired = [[] for _ in assessed.unit.members]
    for owner, result in zip(assessed.unit.owners, assessed.outcomes, strict=False):
        on_owner = traced_on[owner]
        on_owner += [(rule, False) for rule in result.standing]
        on_owner += [(rule, True) for rule in result.overruled]
        if result.effect.unlisted and unlisted:
            on_owner.append((unlisted, False))
    return traced_on


def _unit(assessed: UnitAssessment, by_member: _Fired, stored_lines: Sequence[Component]) -> GradeUnit:
    components: list[GradeComponent] = []
    for place, (member, fired) in enumerate(zip(assessed.unit.members, by_member, strict=True)):
        share = 100 * assessed.unit.grams[place] / assessed.total if assessed.stream else None
        components.append(
            {
                "component_id": None if member.index is None else stored_lines[member.index].get("id"),
                "component_type": member.part.component_type,
                "resolved_material": member.part.material.code if member.part.material else None,
                "share_percent": rounded_score(share),
                "effect": min((rule.effect for rule, over in fired if not over), key=RANK.__getitem__, default="none"),
                "rules": [_rule(rule, overruled=over) for rule, over in dict.fromkeys(fired)],
            }
        )
    return {
        "unit": assessed.unit.name,
        "component_ids": [component["component_id"] for component in components],
        "grade": assessed.result.grade,
        "score": rounded_score(assessed.result.score),
        "components": components,
    }


def _rule(rule: Rule, *, overruled: bool) -> GradeRule:
    return {
        "rule_id": rule.rule_id,
        "verdict": "overruled" if overruled else rule.verdict,
        "text": rule.feature,
        "source": rule.source_url,
        "basis": None if rule.published else rule.basis or None,
        "confidence": None if rule.published else rule.confidence or None,
    }


def _assumptions(assessed: UnitAssessment, rules: RuleSet) -> Iterator[Message]:
    """Yield the assumptions: for attributes that are not given, and for facts that no record has."""
    if assessed.stream is None:
        return
    for place, result in enumerate(assessed.outcomes):
        member = assessed.unit.members[assessed.unit.owners[place]]
        for field in dict.fromkeys(rule.field for rule in result.open):
            waiting = ", ".join(rule.rule_id for rule in result.open if rule.field == field)
            if field == "svhc":
                yield Message("No substance of very high concern is declared: taken as absent (ANY-003).")
            elif field in rules.makes_provisional:
                yield Message("{fact} is not given: {rules} was not applied.", fact=member.field(field), rules=waiting)
            elif field == "form":
                yield Message(
                    "The form of the {unit} is not known: {rules} was not applied.",
                    unit=assessed.unit.name,
                    rules=waiting,
                )
            else:
                yield message_of(f"The {field} of the {assessed.unit.name} is not known: {waiting} was not applied.")
    for part, matched in zip(assessed.unit.parts, assessed.unit.types, strict=True):
        assert part.material is not None
        yield from _not_recorded(rules, assessed.stream, matched, part.material)


@lru_cache(maxsize=4096)
def _not_recorded(rules: RuleSet, stream: str, component_type: str, material: Material) -> tuple[Message, ...]:
    """Return the facts assumed false for any part of this type and material, because no record has them."""
    return tuple(
        Message(
            "No record holds what {rule_id} asks ({feature}): taken as not so.",
            rule_id=rule.rule_id,
            feature=rule.feature,
        )
        for rule in rows_for_type(rules, stream, component_type)
        if not rule.recordable and rule.asks_code(material, rules.targets[stream])
    )
