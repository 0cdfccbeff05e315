"""What the service says can be said in each language: every sentence of the code stands in the table, gaps and all."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import pytest

from compliance import ruleset
from compliance.flag_texts import in_words, retold
from compliance.grading import asking, trace
from compliance.readiness import findings
from pipelines.reading import skipped
from schemas.errors import ERROR_CODES
from schemas.issues import ISSUE_CODES
from schemas.labels import LANGUAGES
from schemas.models import Invalid, parse_sku
from schemas.sentences import ORIGINAL, rows, told
from schemas.technical_files import CONTENTS, TYPES

ROOT = Path(__file__).parents[2]
ROWS = list(rows())
SPEAKING = re.compile(r"\b(?:Issue|Unfit|faults_where|RowIssue|LineFault|refuse|InvalidBody|Refused)\(")
"""What a module calls that makes sentences for callers."""
SENTENCE = re.compile(r"(?:[A-Z“]|\{\}).* .*[.?](?:\{\})?", re.DOTALL)
NOT_TOLD = ("Field", "Path", "Query", "PydanticField", "TokenRefused", "ErrorCode", "IssueCode")
"""Calls whose texts describe a field, are told by another test, or must be ASCII."""
NOT_SENTENCES = ("compliance/grading/trace.py", "schemas/models.py")
"""Modules that also make other texts: reasons of a grade, descriptions of fields."""


NEW = {"sku_code": "A", "name": "N"}


def gaps(text: str) -> set[str]:
    """The names of a text's gaps."""
    return {gap for _, gap, *_ in Formatter().parse(text) if gap is not None}


def skeleton(text: str) -> str:
    """A template without the names of its gaps."""
    return "".join(literal + ("{}" if gap is not None else "") for literal, gap, *_ in Formatter().parse(text))


def test_gaps_are_the_same_in_all_languages() -> None:
    assert [row["en"] for row in ROWS for lang in LANGUAGES if gaps(row[lang]) != gaps(row["en"])] == []


def test_every_row_is_there_once_and_whole() -> None:
    counted = Counter((row["part"], skeleton(row["en"])) for row in ROWS)
    assert [row for row, times in counted.items() if times > 1] == []
    assert [row for row in ROWS if not all(row[lang].strip() for lang in LANGUAGES)] == []


def test_every_part_fills_a_gap() -> None:
    assert {row["part"] for row in ROWS} - {""} <= {gap for row in ROWS for gap in gaps(row["en"])}


@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_sentence_with_its_gaps_filled_is_told_with_the_same_in_them(lang: str) -> None:
    for row in ROWS:
        held = {gap: f"“{gap} 1,5; 100 %”" for gap in gaps(row["en"])}
        if not row["part"]:
            assert told(row["en"].format_map(held), lang) == row[lang].format_map(held)


def test_a_part_is_told_inside_its_sentence_and_what_is_quoted_is_not() -> None:
    sentence = "An import has no part “parameter”; it has file, mapping."
    assert told(sentence, "fr") == "Un import n'a pas de partie “parameter” ; il a file, mapping."


def test_an_unknown_sentence_stays_as_it_is() -> None:
    assert told("Nobody has said this before.", "de") == "Nobody has said this before."


def test_every_code_has_its_meaning_and_remedy_in_all_languages() -> None:
    said = [text for code in (*ERROR_CODES.values(), *ISSUE_CODES.values()) for text in (code.meaning, code.remedy)]
    assert [text for text in said for lang in LANGUAGES if lang != ORIGINAL and told(text, lang) == text] == []


def test_everything_that_a_grade_asks_for_is_told() -> None:
    assert [text for text in asking.TO_SEND.values() if told(text, "fr") == text] == []


@pytest.mark.parametrize(
    "body",
    [
        [], {}, {"sku_code": 1, "name": None}, NEW | {"weight_grams": -1, "recycled_content_percent": 101},
        NEW | {"food_contact": "yes", "markets": "FR", "weight_grams": "1", "colour": 1},
        NEW | {"material": "Plastik", "use_contexts": ["x"], "brand_id": "x", "markets": ["XX"]},
        {"sku_code": "", "name": "N" * 600, "reuse_cycles_target": 1.5, "heavy_metals_sum_ppm": True},
        NEW | {"substances": {"pfas": {}}, "components": [{"component_type": "body"}] * 300, "gtin": "4006381333932"},
    ],
)  # fmt: skip
def test_every_fault_of_a_body_is_told(body: object) -> None:
    with pytest.raises(Invalid) as refused:
        parse_sku(body)
    assert [issue.message for issue in refused.value.issues if told(issue.message, "de") == issue.message] == []


def test_every_reason_of_a_skipped_line_is_told() -> None:
    named = (skipped.NOTHING_READ, skipped.EXAMPLE, skipped.TOTAL, skipped.NOTE, skipped.HELP, skipped.REPEATED)
    assert [reason for reason in named if told(reason, "fr") == reason] == []


def sentences(path: Path) -> Iterator[str]:
    """The sentences that a module makes, without the names of their gaps; docstrings are none."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    passed: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            passed.add(id(node.value))
        if isinstance(node, ast.Call) and _called(node) in NOT_TOLD:
            passed |= {id(inner) for inner in ast.walk(node)}
        if isinstance(node, ast.Dict):
            named = zip(node.keys, node.values, strict=True)
            passed |= {id(held) for key, held in named if getattr(key, "value", None) == "description"}
    for node in ast.walk(tree):
        if id(node) in passed:
            continue
        if isinstance(node, ast.JoinedStr):
            passed |= {id(inner) for inner in ast.walk(node)}
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def test_every_sentence_for_callers_is_in_the_table() -> None:
    known = {re.sub(r"(?:\{\})+", "{}", skeleton(row["en"])) for row in ROWS}
    unknown = {}
    for room in ("schemas", "compliance", "pipelines", "services", "api"):
        for path in (ROOT / room).rglob("*.py"):
            module = str(path.relative_to(ROOT))
            if module not in NOT_SENTENCES and SPEAKING.search(path.read_text(encoding="utf-8")):
                made = {re.sub(r"(?:\{\})+", "{}", text) for text in sentences(path) if SENTENCE.fullmatch(text)}
                unknown[module] = made - known
    assert {module: missing for module, missing in unknown.items() if missing} == {}


PET = {"component_type": "body", "material_family": "plastic", "polymer_or_grade": "PET", "weight_g": 20}
GRADED = (
    {"material": "plastic"},
    {"components": [PET], "packaging_format": "bottle"},
    {"components": [PET | {"colour": "carbon_black"}], "packaging_format": "bottle"},
    {"use_contexts": ["pharmaceutical"], "material": "glass"},
    {"use_contexts": ["dangerous_goods"], "packaging_level": "transport", "material": "paper"},
    {"material": "wood", "packaging_level": "sales"},
    {"material": "other", "material_subtype": "moon dust"},
)  # fmt: skip


@pytest.mark.parametrize("record", GRADED)
def test_the_reason_of_a_grade_is_told(record: dict[str, object]) -> None:
    reason = str(trace.explain(record, ruleset.load())["reason"])
    assert reason not in (told(reason, "fr"), told(reason, "de"))
    assert not [word for word in ("facts", "limited", "points") if word in told(reason, "de")]


def test_every_gap_is_told() -> None:
    gaps_said = [found.sentence for found in findings() if found.kind == "missing"]
    assert [sentence for sentence in gaps_said if told(sentence, "fr") == sentence] == []


def open_keys(cell: str) -> list[str]:
    """The facts of a ban that the record cannot hold, or holds under a condition (`key=condition`)."""
    return [fact.strip().partition("=")[0] for fact in cell.split(";") if fact.strip()]


@pytest.mark.parametrize("lang", ["fr", "de"])
def test_a_banned_format_is_told_with_what_it_depends_on_and_where_it_stands(lang: str) -> None:
    for ban in ruleset.load().bans:
        said = [ban.reference, *map(in_words, open_keys(ban.open_facts))]
        assert [sentence for sentence in said if told(sentence, lang) == sentence] == [], ban.code
        assert ban.texts[lang] == retold(ban.code, ban.flag_text, ruleset.load(), lang) != ban.flag_text
    references = {found.reference for found in findings() if found.reference}
    assert [reference for reference in references if told(reference, lang) == reference] == []


def test_every_type_of_document_has_its_words() -> None:
    for lang in LANGUAGES:
        assert CONTENTS[lang].keys() == TYPES.keys()
        assert all(CONTENTS[lang].values())
    assert not set(CONTENTS["de"].values()) & set(CONTENTS["fr"].values())
