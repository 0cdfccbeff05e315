"""Characters that no text holds, characters that nobody sees, and one form for what looks the same."""

import re
import time
import unicodedata
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.reading.values import as_codes
from schemas import texts
from schemas.fields import COMPONENT_FIELDS, SKU_FIELDS
from schemas.refusals import Refused
from schemas.skus.inputs import SkuBatchInput, SkuInput, VolumeRowInput, parse_sku
from schemas.suppliers import SupplierSubmission, parse_submission

TAKEN = {"\t", "\n", "\r"}
REFUSED = [chr(number) for number in [*range(0x20), *range(0x7F, 0xA0)] if chr(number) not in TAKEN]
_PUBLISHED = (SkuInput, SkuBatchInput, VolumeRowInput, SupplierSubmission)


@pytest.mark.parametrize("character", REFUSED)
def test_a_control_character_is_refused_with_its_place(character):
    for field in ("sku_code", "name", "description", "reuse_pool_owner"):
        with pytest.raises(Refused) as refused:
            parse_sku({"sku_code": "A", "name": "n", field: f"ab{character}c"})
        [issue] = refused.value.issues
        assert (issue.code, issue.field) == ("invalid_format", field)
        assert f"U+{ord(character):04X} as its character 3" in issue.message


def _free_texts(model: Any) -> list[tuple[str, ...]]:
    """The path of every text of a published body whose values no vocabulary, pattern or format bounds."""
    schema, found = model.model_json_schema(), []

    def walk(node: Any, path: tuple[str, ...]) -> None:
        if "$ref" in node:
            node = schema["$defs"][node["$ref"].rpartition("/")[2]]
        for choice in node.get("anyOf", ()):
            walk(choice, path)
        if node.get("type") == "string" and not node.keys() & {"enum", "const", "format", "pattern"}:
            found.append(path)
        for name, member in node.get("properties", {}).items():
            walk(member, (*path, name))
        if isinstance(node.get("items"), dict):
            walk(node["items"], (*path, "[]"))

    walk(schema, ())
    return found


def _body(path: tuple[str, ...], value: object) -> object:
    for name in reversed(path):
        value = [value] if name == "[]" else {name: value}
    return value


@pytest.mark.parametrize("model", _PUBLISHED, ids=lambda model: model.__name__)
def test_every_text_of_every_published_body_refuses_them(model):
    """The guard: a text field that is added without the common type is found here."""
    paths = _free_texts(model)
    assert len(paths) >= 1
    for path in paths:
        try:
            model.model_validate(_body(path, "A\x1b[31m"))
        except ValueError as error:
            own = [fault for fault in error.errors() if fault["loc"] and isinstance(fault["input"], str)]
            assert own, path
            assert {fault["type"] for fault in own} <= {
                "invalid_format",
                "unknown_market",
                "invalid_gtin",
                "not_in_vocabulary",
                "literal_error",
            }, path
        else:
            pytest.fail(f"{path} takes ESC")


def test_the_walk_meets_the_texts_of_the_field_tables():
    names = {path[-1] for path in _free_texts(SkuInput)}
    assert names >= {field.name for field in (*SKU_FIELDS, *COMPONENT_FIELDS) if field.kind == "text"} | {"evidence"}


def test_codes_are_compared_without_what_nobody_sees_and_texts_keep_it_within():
    record = parse_sku(
        {"sku_code": " \u200bA\u00ad-\u202e1\ufeff ", "name": "\ufeffCafe\u0301\u200b", "description": "a\u00adb\u200b"}
    )
    assert (record["sku_code"], record["name"], record["description"]) == ("A-1", "Café", "a\u00adb")
    answer = parse_submission({"consent": True, "response": {"comment": "Cafe\u0301"}})
    assert answer["comment"] == "Café"


@given(st.text(alphabet=[*texts.INVISIBLE, "a", "b", " ", "e", "\u0301", "é", "\u00a0", "\u0308", "\u1100", "\u1161"]))
def test_the_stored_form_is_its_own(text):
    code = texts.code(text)
    assert texts.code(code) == code
    assert not set(code) & set(texts.INVISIBLE)
    assert unicodedata.is_normalized("NFC", code)
    plain = texts.plain(text)
    assert texts.plain(plain) == plain
    assert pl.Series([text]).to_frame("code").select(as_codes(pl.col("code")))["code"][0] == code


def test_control_characters_are_found_however_deep_they_stand():
    assert texts.refused_in({"a": [{"b": ["fine", "\x9b31m"]}]}) is not None
    assert texts.refused_in({"\x07": 1}) is not None
    assert texts.refused_in({"a": ["two\r\nlines\t", 1, None, True]}) is None


@pytest.mark.parametrize("text", ["\u200b" * 30_000 + "x", "\u0f73" * 30_000, "e" + "\u0301\u0316" * 15_000])
def test_a_text_costs_its_length(text: str) -> None:
    """Composing marks took the square of their number, and so did looking for what nobody sees at the ends."""
    before = time.thread_time()
    texts.plain(text)
    texts.code(text)
    assert time.thread_time() - before < 1


@given(st.text(alphabet=" \t\u200b\u00adaé", max_size=12))
def test_only_what_nobody_sees_and_white_space_beyond_it_goes_from_the_ends(text: str) -> None:
    seen = re.sub(r"\A[\s\u200b\u00ad]*[\u200b\u00ad]|[\u200b\u00ad][\s\u200b\u00ad]*\Z", "", text)
    assert texts.plain(text) == unicodedata.normalize("NFC", seen)
