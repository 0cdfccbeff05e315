"""Messages: every template in the code is translated with the same parameters, and no translation is left over."""

import ast
import copy
import pickle
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from string import Formatter

import pytest
from babel.messages.catalog import Message as Entry

from compliance import ruleset
from compliance.annex_v import in_words, translated_reason
from compliance.catalogue import coverages, due_days
from compliance.grading import trace
from compliance.readiness import findings
from compliance.representatives import PRODUCER, questions, representatives
from pipelines.reading import lines
from schemas.issues import ISSUE_CODES
from schemas.messages import (
    LANGUAGES,
    ORIGINAL,
    Figure,
    Message,
    catalogue,
    from_json,
    message_of,
    stored_message,
    stored_template,
    templates,
    to_json,
    translate,
)
from schemas.refusals import ERROR_CODES, Refused
from schemas.skus.inputs import parse_sku
from schemas.vocabularies import CONTENTS, TYPES

ROOT = Path(__file__).parents[2]
ROOMS = ("schemas", "compliance", "warehouse", "pipelines", "services", "connector", "api")
OTHERS = tuple(lang for lang in LANGUAGES if lang != ORIGINAL)
NEW = {"sku_code": "A", "name": "N"}
OF_CODES = {"IssueCode", "ErrorCode"}


def gaps(text: str) -> set[str]:
    return {gap for _, gap, *_ in Formatter().parse(text) if gap is not None}


@cache
def entries(lang: str) -> list[Entry]:
    return [entry for entry in catalogue(lang) if entry.id]


def calls(tree: ast.AST) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield node


@cache  # parses every module
def in_code() -> dict[str, set[str] | None]:
    """Every template in the code with its parameters; None where they are given as one mapping."""
    found: dict[str, set[str] | None] = {}
    for room in ROOMS:
        for path in (ROOT / room).rglob("*.py"):
            for call in calls(ast.parse(path.read_text(encoding="utf-8"))):
                if getattr(call.func, "id", "") == "Message" and path.name not in ("messages.py", "gate.py"):
                    if not isinstance(template := call.args[0], ast.Constant):
                        assert path.name in ("pages.py", "trace.py"), f"{path}: a template is a constant text"
                        continue
                    names = {keyword.arg for keyword in call.keywords}
                    found[str(template.value)] = None if None in names else {str(name) for name in names}
    for path in (ROOT / "api" / "reference" / "templates").iterdir():
        page = path.read_text(encoding="utf-8")
        found |= {text: gaps(text) for text in re.findall(r'say\("([^"]+)"', page)}
        found |= {text: gaps(text) for text in re.findall(r'\("\w*", "(\w+)"\)', page)}
    return found


def in_tables() -> set[str]:
    """The texts that are data: codes' meanings, and what rule-sets and findings say without words of their own."""
    codes = (*ERROR_CODES.values(), *ISSUE_CODES.values())
    texts = {text for code in codes for text in (code.meaning, code.remedy, getattr(code, "example", "")) if text}
    for version in ruleset.versions():
        for ban in ruleset.load(version).bans:
            texts |= {ban.reference, ban.flag_text, *map(in_words, open_keys(ban.open_facts))}
    for found in findings():
        texts |= {found.sentence, *([found.reference] if found.reference else [])}
    texts |= {
        note for covered in coverages().values() for note in (covered["note"], covered["missing_to_serve"]) if note
    }
    texts |= {day.note for days in due_days().values() for day in days if day.note}
    texts |= {row["article"] for row in representatives().values() if row["article"]} | {PRODUCER}
    texts |= {question["reference"] for question in questions("en").values()}
    return {text.replace("{", "{{").replace("}", "}}") for text in texts}


def test_parameters_of_a_template_are_all_given() -> None:
    wrong = {text: given for text, given in in_code().items() if given is not None and given != gaps(text)}
    assert wrong == {}


@pytest.mark.parametrize("lang", OTHERS)
def test_every_template_is_translated_and_no_translation_is_left_over(lang: str) -> None:
    known = {str(entry.id) for entry in entries(lang)}
    assert in_code().keys() - known == set()
    unused = known - in_code().keys() - in_tables()
    assert unused == set()


@pytest.mark.parametrize("lang", OTHERS)
def test_every_note_of_the_tables_is_translated(lang: str) -> None:
    known = {str(entry.id) for entry in entries(lang)}
    notes = [note for covered in coverages().values() for note in (covered["note"], covered["missing_to_serve"])]
    notes += [day.note for days in due_days().values() for day in days]
    assert {note for note in notes if note} - known == set()


@pytest.mark.parametrize("lang", OTHERS)
def test_a_translation_has_the_parameters_of_its_template(lang: str) -> None:
    assert [entry.id for entry in entries(lang) if gaps(str(entry.string)) != gaps(str(entry.id))] == []
    assert [entry.id for entry in entries(lang) if not str(entry.string).strip() or entry.fuzzy] == []


def test_a_message_is_its_english_text_and_stays_a_message() -> None:
    message = Message("Row {before} has the same sku_code; send each code once.", before=3)
    assert message == "Row 3 has the same sku_code; send each code once."
    for same in (str(ValueError(message)), copy.deepcopy(message), pickle.loads(pickle.dumps(message))):
        assert translate(same, "de") == "Zeile 3 hat denselben sku_code; senden Sie jeden Code einmal."


def test_what_a_caller_sent_is_not_translated_and_a_message_in_a_message_is() -> None:
    known = "The text is not in UTF-8."
    quoted = Message("An import has no {what} {name}; it has {known}.", what=Message("part"), name=known, known="file")
    assert translate(quoted, "fr") == f"Un import n'a pas de partie {known} ; il a file."


def test_a_figure_has_the_decimal_mark_of_the_language() -> None:
    template = "weight_grams is {total} g and the components weigh {parts} g together; they differ by more than 5 %."
    message = Message(template, total=Figure("1.5"), parts="2.5")
    assert "1.5 g" in message
    assert "1,5 g" in translate(message, "de")
    assert "2.5 g" in translate(message, "de")


def test_a_message_comes_back_from_what_is_stored_beside_its_english() -> None:
    inner = Message("{others} or {last}", others="'a', 'b'", last="'c'")
    reason = Message("send {codes}", codes=inner)
    message = Message("{value} is not allowed: {reason}.", value="“{x}”", reason=reason)
    assert (from_json(to_json(message)), translate(from_json(to_json(message)), "de")) == (
        message,
        translate(message, "de"),
    )
    assert translate(stored_message(str.__str__(message), templates([{"message": message}])), "fr") == translate(
        message, "fr"
    )
    assert stored_template(message_of("Send a {JSON} object.")) is None


def test_a_template_that_was_read_does_not_reach_into_its_parameters() -> None:
    hostile = '{"$template": "{a.__class__} {a[0]} {a!r} {a:>9}", "a": "x"}'
    assert from_json(hostile) == "{a.__class__} {a[0]} {a!r} {a:>9}"


def test_a_text_that_was_stored_alone_is_read_in_english() -> None:
    alone = "Row 3 has the same sku_code; send each code once."
    assert translate(stored_message(alone, {}), "de") == alone == from_json(alone)
    assert translate("Send a JSON object.", "de") == translate(Message("Send a JSON object."), "de") != alone


def test_every_code_has_its_meaning_and_remedy_in_all_languages() -> None:
    said = [text for code in (*ERROR_CODES.values(), *ISSUE_CODES.values()) for text in (code.meaning, code.remedy)]
    assert [text for text in said for lang in LANGUAGES if lang != ORIGINAL and translate(text, lang) == text] == []


def test_everything_that_a_grade_asks_for_is_translated() -> None:
    assert [text for text in trace.TO_SEND.values() if translate(text, "fr") == text] == []


@pytest.mark.parametrize(
    "body",
    [
        [],
        {},
        {"sku_code": 1, "name": None},
        NEW | {"weight_grams": -1, "recycled_content_percent": 101},
        NEW | {"food_contact": "yes", "markets": "FR", "weight_grams": "1", "colour": 1},
        NEW | {"material": "Plastik", "use_contexts": ["x"], "brand_id": "x", "markets": ["XX"]},
        {"sku_code": "", "name": "N" * 600, "reuse_cycles_target": 1.5, "heavy_metals_sum_ppm": True},
        NEW | {"substances": {"pfas": {}}, "components": [{"component_type": "body"}] * 300, "gtin": "4006381333932"},
    ],
)
def test_every_fault_of_a_body_is_translated(body: object) -> None:
    with pytest.raises(Refused) as refused:
        parse_sku(body)
    assert [issue.message for issue in refused.value.issues if translate(issue.message, "de") == issue.message] == []
    assert [issue.message for issue in refused.value.issues if "should" in issue.message] == [], "a library's words"


def test_every_reason_of_a_skipped_line_is_translated() -> None:
    named = (lines.NOTHING_READ, lines.EXAMPLE, lines.TOTAL, lines.NOTE, lines.HELP)
    named += (lines.REPEATED, lines.OTHER_HEADER)
    assert [reason for reason in named if translate(reason, "fr") == reason] == []


PET = {"component_type": "body", "material_family": "plastic", "polymer_or_grade": "PET", "weight_g": 20}
GRADED = (
    {"material": "plastic"},
    {"components": [PET], "packaging_format": "bottle"},
    {"components": [PET | {"colour": "carbon_black"}], "packaging_format": "bottle"},
    {"use_contexts": ["pharmaceutical"], "material": "glass"},
    {"use_contexts": ["dangerous_goods"], "packaging_level": "transport", "material": "paper"},
    {"material": "wood", "packaging_level": "sales"},
    {"material": "other", "material_subtype": "moon dust"},
)


@pytest.mark.parametrize("record", GRADED)
def test_the_reason_of_a_grade_is_translated(record: dict[str, object]) -> None:
    reason = str(trace.explain(record, ruleset.load())["reason"])
    assert reason not in (translate(reason, "fr"), translate(reason, "de"))
    assert not [word for word in ("facts", "limited", "points") if word in translate(reason, "de")]


def test_every_gap_is_translated() -> None:
    gaps_said = [found.sentence for found in findings() if found.kind == "missing"]
    assert [sentence for sentence in gaps_said if translate(sentence, "fr") == sentence] == []


def open_keys(cell: str) -> list[str]:
    """The facts of a ban that the record cannot hold, or holds under a condition (`key=condition`)."""
    return [fact.strip().partition("=")[0] for fact in cell.split(";") if fact.strip()]


@pytest.mark.parametrize("lang", ["fr", "de"])
def test_a_banned_format_is_translated_with_what_it_depends_on_and_where_it_stands(lang: str) -> None:
    for ban in ruleset.load().bans:
        said = [ban.reference, *map(in_words, open_keys(ban.open_facts))]
        assert [sentence for sentence in said if translate(sentence, lang) == sentence] == [], ban.code
        assert ban.texts[lang] == translated_reason(ban.code, ban.flag_text, ruleset.load(), lang) != ban.flag_text
    references = {found.reference for found in findings() if found.reference}
    assert [reference for reference in references if translate(reference, lang) == reference] == []


def test_every_type_of_document_has_its_words() -> None:
    for lang in LANGUAGES:
        assert CONTENTS[lang].keys() == TYPES.keys()
        assert all(CONTENTS[lang].values())
    assert not set(CONTENTS["de"].values()) & set(CONTENTS["fr"].values())
