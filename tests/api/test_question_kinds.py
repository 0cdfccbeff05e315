"""A question of every kind, answered by REST, page and command, gives the right value from the file first sent.

A kind has a file that asks it, the choice that is right, and what is stored then (decisions §13, *Asked*).
"""

import json
import shlex
from functools import reduce
from typing import Any, NamedTuple, get_args

import pytest

from api.imports.summary import options_of
from api.pages.render import _FOR_PEOPLE
from pipelines.reading.mapping import merged
from pipelines.reading.questions import answer_with
from schemas.issues import QuestionKind
from tests.api.people import hidden, signed_in
from tests.api.portfolios import run
from tests.api.test_import_answers import stored
from tests.api.test_question_pages import questions
from tests.api.test_upload_pages import send
from tests.pipelines.reading.writing import workbook
from tests.schemas.test_messages import in_code


class Case(NamedTuple):
    """A file that asks; `choices` are the answers that are right, by what is asked about; `right` is what is stored."""

    kind: str
    text: str | bytes
    choices: dict[str, str]
    right: dict[str, object]
    encoding: str = "utf-8"

    @property
    def data(self) -> bytes:
        return self.text if isinstance(self.text, bytes) else self.text.encode(self.encoding)


HEAD = ["sku_code", "name", "weight_grams"]
CASES = (
    Case("column", "SKU;Name;Weight\nQ-1;Jar;180\n", {"Weight": "weight_grams"}, {"weight_grams": 180}),
    Case("column", "SKU;Name;Glas;Papier;Kork\nQ-1;Jar;1;2;3\n", {"Kork": "wood_weight_g"}, {"weight_grams": 6}),
    Case(
        "value",
        "sku_code;name;Component;material_family;component_weight_g\nQ-1;Tray;Film;plastic;4\nQ-1;Tray;Tray;plastic;20\n",
        {"Film": "label"},
        {"weight_grams": 24},
    ),
    Case(
        "unit",
        "SKU;Name;Packaging weight per carton (g)\nQ-1;Jar;2160\n",
        {"per carton": "g per case of 12"},
        {"weight_grams": 180},
    ),
    Case(
        "quantity",
        "sku_code;name;component_type;material_family;component_weight_g;Quantity\n"
        "Q-1;Six pack;body;plastic;20;6\nQ-1;Six pack;sleeve;paper;30;1\n",
        {"Quantity": "multiply"},
        {"weight_grams": 150},
    ),
    Case(
        "list",
        "SKU;Name;Packaging material\nQ-1;Gift box;PC\nQ-2;Can;AL\n",
        {"Packaging material": "uk_rpd"},
        {"material": "paper"},
    ),
    Case(
        "lines",
        "sku_code;name;material;weight_grams\nQ-2;Jar;glass;180\n;;;\nQ-1;Lid;;\nPL;Plastic;;\n",
        {"4-5": "read"},
        {"name": "Lid"},
    ),
    Case(
        "fraction",
        "sku_code;name;Recycled content\nQ-1;Jar;0.3\nQ-2;Lid;1\n",
        {"Recycled content": "fraction"},
        {"recycled_content_percent": 30},
    ),
    Case(
        "sheet",
        workbook({"Glass": [HEAD, ["Q-2", "Jar", 180]], "Paper": [HEAD, ["Q-1", "Box", 14]]}),
        {"sheets": "Paper"},
        {"weight_grams": 14},
    ),
    Case(
        "sheet",
        workbook({"Glass": [HEAD, ["Q-2", "Jar", 180]], "Paper": [["2026"], HEAD, ["Q-1", "Box", 14]]}),
        {"sheets": "all"},
        {"weight_grams": 14},
    ),
    Case("encoding", "sku_code;name\nQ-1;Fľaša\n", {"letters": "cp1250"}, {"name": "Fľaša"}, "cp1250"),
    Case("value", "SKU;Name;brand_id\nQ-1;Jar;Waldhonig\n", {"Waldhonig": "create"}, {"name": "Jar"}),
)
assert {case.kind for case in CASES} == {*get_args(QuestionKind)}, "every kind"


def ids(case: Case) -> str:
    return f"{case.kind}-{'-'.join(next(iter(case.choices.items())))}"


def chosen(case: Case, asked: dict[str, Any]) -> str:
    """The right one of the things that a question could be."""
    about = asked.get("text") or asked.get("header") or asked.get("lines") or asked.get("sheet")
    of_file = next((each for each in case.choices.values() if each in asked["could_be"]), asked["could_be"][0])
    choice = case.choices.get(str(about), of_file)
    assert choice in asked["could_be"]
    return choice


def by_rest(caller: Any, case: Case, asked: list[dict[str, Any]]) -> dict[str, object]:
    """The pieces of mapping, as a program puts the right choice into each answer."""
    return reduce(merged, (answer_with(each, chosen(case, each)) for each in asked), {})


def by_command(caller: Any, case: Case, asked: list[dict[str, Any]]) -> dict[str, object]:
    """The pieces of mapping that a person copies from what `pcds import` prints."""
    pieces = []
    for each in asked:
        option = options_of(each)[each["could_be"].index(chosen(case, each))]
        name, piece = shlex.split(option)
        assert name == "--mapping"
        pieces.append(json.loads(piece))
    return reduce(merged, pieces, {})


@pytest.mark.parametrize("case", CASES, ids=ids)
@pytest.mark.parametrize("door", [by_rest, by_command])
def test_an_answer_by_a_program_gives_the_right_value(caller, case, door):
    answer = caller.request("POST", "/imports", files={"file": ("list.csv", case.data)})
    if answer.status_code == 202:
        first = answer.json()
        run(caller, first["id"])
        asked = first["source"]["asked"]
        assert {each["kind"] for each in asked} == {case.kind}
        again = caller.post(f"/imports/{first['id']}/repeat", {"mapping": door(caller, case, asked)})
    else:
        asked = [issue for issue in answer.json()["details"] if "answer" in issue]
        assert {each["kind"] for each in asked} == {case.kind}
        mapping = json.dumps(door(caller, case, asked))
        again = caller.request("POST", "/imports", files={"file": ("list.csv", case.data)}, params={"mapping": mapping})
    assert again.status_code == 202, again.text
    run(caller, again.json()["id"])
    assert caller.get(f"/imports/{again.json()['id']}").json()["source"]["asked"] == []
    assert {name: stored(caller)["Q-1"][name] for name in case.right} == case.right


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_a_choice_on_the_page_gives_the_right_value(caller, pool, case):
    """The file is sent once; where it is refused, the page has kept it."""
    browser = signed_in(caller, pool)
    address = send(browser, case.data).headers["Location"]
    import_id = address.partition("?")[0].rpartition("/")[2]
    report = caller.get(f"/imports/{import_id}").json()
    if report["status"] == "queued":
        run(caller, import_id)
    page = browser.get(address).text
    fields = {}
    for at, asked in enumerate(report["source"]["asked"]):
        if f"answer.{at}" in questions(page):
            fields[f"answer.{at}"] = chosen(case, asked)
        else:  # the table of columns asks what a column is
            fields[f"sku.{asked['column']}"] = chosen(case, asked)
    answer = browser.post(f"/imports/{import_id}/columns", hidden(page) | fields | {"step": "import"})
    assert answer.status_code == 303, answer.text
    run(caller, answer.headers["Location"].partition("?")[0].rpartition("/")[2])
    assert {name: stored(caller)["Q-1"][name] for name in case.right} == case.right


def test_a_page_says_no_question_in_the_words_of_programs() -> None:
    """A message that names a piece of mapping has a text of its own for people, who choose (`api.pages.render`)."""
    told = {template for template in in_code() if "mapping={{" in template}
    assert told - _FOR_PEOPLE.keys() == set()
