"""The template: every header and word of it is read, its example is skipped, and it is the same from both doors."""

import io
import zipfile
from datetime import date

import pytest

from pipelines.reading.columns import recognise
from pipelines.reading.grid import ReadingRefused
from pipelines.reading.rows import type_rows
from pipelines.reading.upload import read_upload
from pipelines.reading.workbook.cells import Workbook
from schemas.fields import COMPONENT_FIELDS, SKU_FIELDS
from schemas.messages import LANGUAGES, meaning
from schemas.vocabularies import VOCABULARIES
from schemas.words import code_of
from services.imports.workbook import columns, template
from tests.commands import called
from tests.pipelines.rewriting import with_rows

TODAY = date(2026, 11, 21)
each_language = pytest.mark.parametrize("lang", LANGUAGES)


@each_language
def test_an_untouched_template_has_no_rows(lang):
    with pytest.raises(ReadingRefused) as refused:
        read_upload(template(lang), "t.xlsx", today=TODAY)
    assert [issue.code for issue in refused.value.issues] == ["no_rows"]


@each_language
@pytest.mark.parametrize(("table", "fields"), [("sku", SKU_FIELDS), ("component", COMPONENT_FIELDS)])
def test_every_field_has_a_column_that_is_read_as_it_with_a_comment_in_the_language(lang, table, fields):
    own = columns(table, lang)
    for column in own:
        read = recognise(column.header, 0, table)
        assert read is not None
        assert (read.name, read.factor) == (column.name, 1)
        assert column.comment.startswith(meaning(table, column.field, lang))
        if lang != "en":
            assert meaning(table, column.field, lang) != meaning(table, column.field, "en")
    wanted = {field.name for field in fields if not field.deprecated and field.kind not in ("substances", "components")}
    assert wanted <= {column.name for column in own}
    assert len({column.header for column in own}) == len(own)


@each_language
@pytest.mark.parametrize("table", ["sku", "component"])
def test_every_choice_is_a_word_of_its_vocabulary(lang, table):
    for column in columns(table, lang):
        if column.field.kind == "truth":
            assert [code_of(word, "truth") for word in column.choices] == ["true", "false"]
        elif column.field.vocabulary:
            codes = tuple(code_of(word, column.field.vocabulary) for word in column.choices)
            assert codes == VOCABULARIES[column.field.vocabulary]
        else:
            assert column.choices == ()


@each_language
def test_rows_typed_in_are_imported_beside_the_example(lang):
    """The example under another code is such a row: it uses drop-downs, numbers, lists and both sheets."""
    filled = with_rows(template(lang), repeat=2, code="A-1")
    upload = read_upload(filled, "t.xlsx", today=TODAY)
    assert [entry["line"] for entry in upload.source["skipped"]] == [2]
    assert upload.source["ignored"] == upload.source["components"]["ignored"] == []
    rows = type_rows(upload, default_year=2026, served_markets=frozenset({"FR", "DE"}))
    assert rows.errors.to_dicts() == []
    [record] = rows.values.to_dicts()
    assert (record["sku_code"], record["material"], record["packaging_level"]) == ("A-1", "plastic", "sales")
    assert (record["food_contact"], record["reusable"], float(record["weight_grams"])) == (True, False, 24.5)
    for part in ('"component_type":"body"', '"component_type":"cap"', '"component_type":"label"'):
        assert part in record["components"].replace(" ", "")


@each_language
def test_lists_are_hidden_and_every_drop_down_points_at_its_words(lang):
    book = Workbook(template(lang))
    assert [sheet.hidden for sheet in book.sheets] == [False, False, True]
    held = {tuple(words.drop_nulls()) for words in book.whole(book.sheets[2], ()).cells}
    offered = {column.choices for table in ("sku", "component") for column in columns(table, lang) if column.choices}
    assert held == offered
    with zipfile.ZipFile(io.BytesIO(template(lang))) as parts:
        rules = parts.read("xl/worksheets/sheet1.xml").decode().count("<dataValidation ")
    assert rules == sum(bool(column.choices) for column in columns("sku", lang))


def test_the_reference_gives_the_template_that_the_command_writes(http, tmp_path):
    answer = http.get("/reference/template.xlsx?lang=fr")
    assert (answer.status_code, answer.headers["content-type"].rpartition(".")[2]) == (200, "sheet")
    assert 'filename="packaging-fr.xlsx"' in answer.headers["content-disposition"]
    assert answer.content == template("fr")
    assert http.get("/reference/template.xlsx").content == template("en")
    again = http.get("/reference/template.xlsx?lang=fr", headers={"If-None-Match": answer.headers["etag"]})
    assert again.status_code == 304
    refused = http.get("/reference/template.xlsx?lang=xx")
    assert (refused.status_code, refused.json()["details"][0]["field"]) == (400, "lang")
    target = tmp_path / "t.xlsx"
    assert called("template", "--lang", "fr", target, "--json").stdout.strip() == f'{{"file":"{target}","lang":"fr"}}'
    assert target.read_bytes() == answer.content


@pytest.mark.parametrize(
    ("arguments", "status"), [(("--lang", "xx", "t.xlsx"), 2), (("t.csv",), 2), (("no/such/folder/t.xlsx",), 1)]
)
def test_wrong_usage_and_a_place_that_cannot_be_written_are_told_apart(arguments, status):
    done = called("template", *arguments)
    assert (done.returncode, done.stdout) == (status, "")
    assert "Traceback" not in done.stderr
