"""The words of suppliers' pages: what they need is computed from the code; a language without one is not offered."""

import ast
import re
from collections import defaultdict
from pathlib import Path
from string import Formatter

import pytest

from api.pages import render
from api.pages.refusals import _TEXT_KEYS
from compliance import ruleset
from pipelines.reading.values import LIST_SEPARATOR, code_of_words
from pipelines.suppliers import workbook_headers
from schemas import messages
from schemas.fields import COMPONENT
from schemas.messages import (
    LANGUAGES,
    Figure,
    Message,
    as_typed,
    code_of_supplier_word,
    supplier_languages,
    supplier_words,
    translate,
    word,
)
from schemas.suppliers import CELLS, DESIGN, FIRST
from schemas.vocabularies import TYPES, VOCABULARIES, table_rows

ROOT = Path(__file__).parents[2]
OTHERS = ("it", "es", "pl", "nl", "cs", "zh")

SAID_BY: dict[str, tuple[str, ...]] = {
    "api/suppliers/enquiry_pages.py": (),
    "api/suppliers/supplier_pages.py": (),
    "api/pages/forms.py": (),
    "pipelines/suppliers.py": (),
    "pipelines/readers/requests.py": (),
    "pipelines/readers/tasks.py": ("cells",),
    "pipelines/reading/workbook/book.py": (),
    "pipelines/reading/workbook/cells.py": (),
    "pipelines/reading/media.py": (),
    "pipelines/reading/values.py": ("read_number", "_factor_of", "_parse_decimal"),
    "pipelines/writing/json_fields.py": ("_complete",),
    "schemas/files.py": (),
    "schemas/skus/inputs.py": (),
    "schemas/texts.py": (),
    "schemas/normalise.py": ("text", "code", "too_short", "too_long"),
    "services/review/entries.py": (),
    "warehouse/operate/objects.py": (),
}
"""The modules, and the functions of them where not all are meant, whose sentences a supplier can meet."""
TO_PROGRAMS = {
    "Send a JSON object.",
    "Send a JSON array.",
    "Send a whole number.",
    "Send a day as YYYY-MM-DD.",
    "Send a text of the form {pattern}.",
    'Send a number of mg/kg, a text such as "<100", or null.',
    "{value} is no UUID.",
    "This field cannot be cleared; send a value or leave it out.",
    "This field is not part of the contract; leave it out.",
    "At least {least} item is needed; these are {given}.",
    "A technical file has no field {name}; it has file, {fields}.",
    (
        "{cell} can be {fraction} or {whole}, and no other number in the file decides; write more or fewer decimals, "
        'or say the decimal mark: mapping={{"decimal": ","}}.'
    ),
}  # fmt: skip
"""Sentences of those modules that no form or workbook leads to."""


def gaps(text: str) -> set[str]:
    return {gap for _, gap, *_ in Formatter().parse(text) if gap is not None}


def templates(path: str, names: tuple[str, ...]) -> set[str]:
    """The templates of a module, or of some functions of it."""
    tree: ast.AST = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name in names]
    assert len(functions) == len(names), path
    calls = (node for part in functions or [tree] for node in ast.walk(part) if isinstance(node, ast.Call))
    return {
        str(call.args[0].value)
        for call in calls
        if getattr(call.func, "id", "") == "Message" and isinstance(call.args[0], ast.Constant)
    }


def said() -> set[str]:
    """Every sentence that a supplier can meet, and every question of the design rules."""
    found = {template for path, names in SAID_BY.items() for template in templates(path, names)}
    assert found >= TO_PROGRAMS
    asked = {question.en for question in ruleset.load().questions.values() if question.field in (*FIRST, *DESIGN)}
    of_rules = {"Give the {field} of this part; a design rule depends on it."}
    return found - TO_PROGRAMS | asked | of_rules | {messages._ONLY_ENGLISH}


def needed() -> set[tuple[str, str]]:
    """What the pages, workbooks and mails of suppliers say, by kind and name."""
    keys = {row["key"] for row in render.rows() if re.match(r"(supplier|enquiry|substance|unit)\.", row["key"])}
    pages = ("layout.html", "refused.html", "supplier_enquiry.html", "supplier_form.html", "supplier_thanks.html")
    templates_of_pages = {path.name: path.read_text(encoding="utf-8") for path in render.FOLDER.glob("*/*.html")}
    for name in pages:
        keys |= set(re.findall(r'say\("([\w.]+)"[,)]', templates_of_pages[name]))
    links = templates_of_pages["parts.html"].partition("macro page_links")[2]
    keys |= set(re.findall(r'say\("([\w.]+)"[,)]', links)) | {*_TEXT_KEYS.values(), "language", "fault.title"}
    keys |= {"refused.stopping", "refused.gone", "refused.too_large", "refused.unreadable"}
    keys -= {"nav.menu", "nav.label", "sign_out", "refused.home"}  # of people who signed in
    sentences = said()
    for_people = {template: key for template, key in render._FOR_PEOPLE.items() if template in sentences}
    for_people |= {"At most {limit} bytes are taken here.": "advice.too_large"}
    for_people |= {"The file has no bytes; send the document itself.": "advice.empty_file"}
    vocabularies = {cell.field.vocabulary for cell in CELLS if cell.field.vocabulary} | {"component_type"}
    words = {f"{name}.{code}" for name in vocabularies for code in VOCABULARIES[name]}
    words |= {"truth.true", "truth.false", *(f"technical_file_type.{code}" for code in TYPES)}
    return {
        *(("text", key) for key in keys | {*for_people.values()}),
        *(("message", sentence) for sentence in sentences - for_people.keys()),
        *(("word", name) for name in words),
        *(("header", name) for name in (*COMPONENT, *(cell.name for cell in CELLS))),
        *(("meaning", name) for name in DESIGN),
    }


def test_the_table_has_what_the_pages_say_and_nothing_else() -> None:
    table = {(row["kind"], row["name"]) for row in table_rows("supplier_words.csv")}
    assert (needed() - table, table - needed()) == (set(), set())
    assert supplier_languages() == (*LANGUAGES, *OTHERS)


@pytest.mark.parametrize("lang", OTHERS)
def test_a_translation_has_the_gaps_of_its_text(lang: str) -> None:
    texts = {row["key"]: row["en"] for row in render.rows()}
    for (kind, name), text in supplier_words()[lang].items():
        english = texts[name] if kind == "text" else name if kind == "message" else ""
        assert gaps(text) == gaps(english), (lang, name)


def test_a_language_with_an_empty_cell_is_not_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [*table_rows("supplier_words.csv")]
    rows[-1] = rows[-1] | {"pl": ""}
    monkeypatch.setattr(messages, "table_rows", lambda _: rows)
    offered = supplier_words.__wrapped__()
    assert [lang for lang in OTHERS if lang not in offered] == ["pl"]


@pytest.mark.parametrize("lang", OTHERS)
def test_what_is_not_translated_says_that_it_is_english(lang: str) -> None:
    sentence = translate(Message("The plan is {plan}.", plan="full"), lang)
    assert sentence.endswith("The plan is full.")
    assert len(sentence) > len("The plan is full.")
    assert translate("Ada’s note", lang) == "Ada’s note", "what somebody wrote is no sentence of ours"
    with pytest.raises(KeyError):
        word("plan", "starter", lang)
    with pytest.raises(KeyError):
        render.text("nav.items", lang)
    bounded = translate(Message("Send a number of at most {bound}.", bound=Figure("0.5")), lang)
    assert ("0.5" if lang == "zh" else "0,5") in bounded


def test_a_word_or_title_means_one_thing_in_every_language() -> None:
    meanings, titles = defaultdict[tuple[str, str], set[str]](set), defaultdict[str, set[str]](set)
    for lang in supplier_languages():
        for kind, name in needed():
            vocabulary, _, code = name.partition(".")
            if kind != "word" or vocabulary == "technical_file_type":
                continue
            text = word(vocabulary, code, lang)
            meanings[vocabulary, as_typed(text)].add(code)
            assert LIST_SEPARATOR.split(text) == [text], "a list of such words is read word by word"
            if lang in OTHERS:
                assert code_of_supplier_word(text.upper(), vocabulary) == code
                assert lang == "zh" or code_of_words(text, vocabulary) in (None, code), "imports read it otherwise"
        assert len(workbook_headers(lang)) == len(CELLS) + 5
        for title, name in workbook_headers(lang).items():
            titles[as_typed(title)].add(name)
    assert [text for text, codes in [*meanings.items(), *titles.items()] if len(codes) > 1] == []
