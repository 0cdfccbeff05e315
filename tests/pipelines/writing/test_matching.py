"""Parts keep their ids by what they are (decisions §13, Parts), never by the order of the lines."""

from collections import Counter
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.writing.json_fields import graph_text, matched_ids

Line = dict[str, Any]


def part(kind: str, family: str = "plastic", polymer: str | None = None, weight: float | None = None, **more) -> Line:
    fields = {"component_type": kind, "material_family": family, "polymer_or_grade": polymer, "weight_g": weight}
    return {name: value for name, value in {**fields, **more}.items() if value is not None}


def named(*lines: Line) -> list[Line]:
    """Stored lines: the first has the id `0`, the second `1`, and so on."""
    return [{"id": str(at), **line} for at, line in enumerate(lines)]


PET, PE = part("label", polymer="PET", weight=0.8), part("label", polymer="PE", weight=1.23)
PAPER = part("label", "paper", weight=1.0)

CASES: dict[str, tuple[list[Line], list[Line], list[str | None]]] = {
    "a label before another takes no id": ([PE], [PET, PE], [None, "0"]),
    "an id that is named moves its line": ([PE, PET], [{**PET, "id": "0"}, PAPER], ["0", None]),
    "the library component before the triple": (
        [{**PE, "component_id": "L"}, PE],
        [{**PE, "weight_g": 9}, {**PET, "component_id": "L"}],
        ["1", "0"],
    ),
    "position before weight": (
        [{**PE, "position_in_sku": 1, "weight_g": 1}, {**PE, "position_in_sku": 2, "weight_g": 2}],
        [{**PE, "position_in_sku": 2, "weight_g": 1}, {**PE, "position_in_sku": 1, "weight_g": 2}],
        ["1", "0"],
    ),
    "the place in the list is no position": (
        [{**PE, "weight_g": 1}, {**PE, "weight_g": 2}],
        [{**PE, "weight_g": 2, "colour": "dark"}, {**PE, "weight_g": 1, "colour": "dark"}],
        ["1", "0"],
    ),
    "equal weight before a near one": (
        [{**PE, "weight_g": 1}, {**PE, "weight_g": 2}],
        [{**PE, "weight_g": 2, "colour": "dark"}, {**PE, "weight_g": 3}],
        ["1", "0"],
    ),
    "all heavier keep their rank": (
        [{**PE, "weight_g": 1}, {**PE, "weight_g": 2}],
        [{**PE, "weight_g": 50}, {**PE, "weight_g": 30}],
        ["1", "0"],
    ),
    "the nearest of more": (
        [{**PE, "weight_g": 1}, {**PE, "weight_g": 2}, {**PE, "weight_g": 3}],
        [{**PE, "weight_g": 3.1}, {**PE, "weight_g": 1.1}],
        ["2", "0"],
    ),
    "as near to one as to the other": ([{**PE, "weight_g": 1}, {**PE, "weight_g": 3}], [{**PE, "weight_g": 2}], [None]),
    "an inserted one numbers the others anew": (
        [{**PE, "position_in_sku": 1, "weight_g": 10}, {**PE, "position_in_sku": 2, "weight_g": 20}],
        [
            {**PE, "position_in_sku": 1, "weight_g": 5},
            {**PE, "position_in_sku": 2, "weight_g": 10},
            {**PE, "position_in_sku": 3, "weight_g": 20},
        ],
        [None, "0", "1"],
    ),
    "a retired one numbers the others anew": (
        [{**PE, "position_in_sku": 1, "weight_g": 10}, {**PE, "position_in_sku": 2, "weight_g": 20}],
        [{**PE, "position_in_sku": 1, "weight_g": 20}],
        ["1"],
    ),
    "one more beside two of new weights": (
        [{**PE, "position_in_sku": 1, "weight_g": 10}, {**PE, "position_in_sku": 2, "weight_g": 20}],
        [
            {**PE, "position_in_sku": 3, "weight_g": 10},
            {**PE, "position_in_sku": 2, "weight_g": 21},
            {**PE, "position_in_sku": 1, "weight_g": 11},
        ],
        [None, "1", "0"],
    ),
    "several that nothing tells apart": (
        [{**PE, "colour": "dark"}, {**PE, "colour": "light"}],
        [{**PE, "colour": "opaque"}, {**PE, "colour": "natural"}],
        [None, None],
    ),
    "another polymer of the only one of its material": ([PE, PAPER], [PAPER, PET], ["1", "0"]),
    "another polymer beside a second one": ([PE, part("label", polymer="PP")], [PET, PAPER], [None, None]),
    "another material is another part": ([PE], [PAPER], [None]),
    "equal lines have an id each": ([PE, PE], [PE, PE, PE], ["0", "1", None]),
}


@pytest.mark.parametrize("case", CASES)
def test_a_part_keeps_its_id_by_what_it_is(case):
    stored, sent, ids = CASES[case]
    assert matched_ids(sent, named(*stored)) == ids


@pytest.mark.parametrize("case", CASES)
def test_the_order_of_the_lines_decides_nothing(case):
    """Turned round, the lines have the same ids; of equal lines any may have any."""
    stored, sent, ids = CASES[case]
    turned = matched_ids(sent[::-1], named(*stored)[::-1])
    kept = [identity for identity in ids if identity]
    if case == "equal lines have an id each":
        assert sorted(filter(None, turned)) == kept
    else:
        assert Counter(_held(sent[::-1], turned)) == Counter(_held(sent, ids))


def _held(lines: list[Line], ids: list[str | None]) -> list[tuple[str | None, bytes]]:
    return [(identity, orjson.dumps(line)) for identity, line in zip(ids, lines, strict=True)]


LINES = st.builds(
    part,
    st.sampled_from(["body", "label", "cap"]),
    st.sampled_from(["plastic", "paper"]),
    st.sampled_from([None, "PE", "PET"]),
    st.sampled_from([None, 1.0, 2.0, 2.5]),
    position_in_sku=st.sampled_from([None, 1, 2, 3]),
    component_id=st.sampled_from([None, None, "L"]),
    colour=st.sampled_from([None, "dark", "light"]),
)
GRAPHS = st.lists(LINES, min_size=1, max_size=7)


def _unplaced(line: Line) -> bytes:
    return orjson.dumps({name: value for name, value in line.items() if name != "position_in_sku"})


def numbered(lines: list[Line]) -> list[Line]:
    return [{**line, "position_in_sku": at} for at, line in enumerate(lines, 1)]


def stored_text(lines: list[Line]) -> str:
    text, issues = graph_text(lines, None)
    assert text is not None
    assert not issues
    return text


def parts_of(text: str | None) -> dict[str, Line]:
    """Each part by its id."""
    lines = orjson.loads(text or "[]")
    assert len({line["id"] for line in lines}) == len(lines), "an id is of one part"
    return {line.pop("id"): line for line in lines}


def sent_again(lines: list[Line], stored: str) -> dict[str, Line]:
    text, issues = graph_text(lines, stored)
    assert not issues
    return parts_of(text)


@given(GRAPHS, st.data())
def test_reordered_lines_keep_every_id(lines, data):
    stored = stored_text(lines)
    assert sent_again(data.draw(st.permutations(lines)), stored) == parts_of(stored)


@given(GRAPHS)
def test_what_was_read_is_sent_again_and_changes_nothing(lines):
    stored = stored_text(lines)
    assert graph_text(lines, stored) == (stored, [])
    assert graph_text(orjson.loads(stored), stored) == (stored, [])


@given(GRAPHS, LINES, st.data())
def test_an_inserted_part_moves_no_id(lines, added, data):
    stored = stored_text(lines)
    place = data.draw(st.integers(0, len(lines)))
    after = sent_again([*lines[:place], added, *lines[place:]], stored)
    assert {i: line for i, line in after.items() if i in parts_of(stored)} == parts_of(stored)


@given(GRAPHS, st.data())
def test_a_retired_part_moves_no_id(lines, data):
    stored = stored_text(lines)
    place = data.draw(st.integers(0, len(lines) - 1))
    after = sent_again([*lines[:place], *lines[place + 1 :]], stored)
    before = parts_of(stored)
    assert all(before.get(identity) == line for identity, line in after.items())


@given(GRAPHS, LINES, st.data())
def test_a_changed_part_moves_no_other_id(lines, changed, data):
    stored = stored_text(lines)
    place = data.draw(st.integers(0, len(lines) - 1))
    after = sent_again([*lines[:place], changed, *lines[place + 1 :]], stored)
    before = parts_of(stored)
    assert sum(after.get(identity) == line for identity, line in before.items()) >= len(lines) - 1


@given(GRAPHS, GRAPHS)
def test_an_id_that_is_kept_is_of_one_part(lines, others):
    after = sent_again(others, stored_text(lines))
    assert len(after) == len(others)


@given(GRAPHS, GRAPHS, st.data())
def test_the_order_of_any_two_graphs_decides_nothing(lines, others, data):
    stored = stored_text(lines)
    held = parts_of(stored)

    def kept(graph: list[Line]) -> list[tuple[bytes, bytes]]:
        after = sent_again(graph, stored)
        return sorted((orjson.dumps(held[i]), orjson.dumps(line)) for i, line in after.items() if i in held)

    assert kept(data.draw(st.permutations(others))) == kept(others)


def test_a_named_id_is_of_this_sku_and_named_once():
    stored = stored_text([PE, PET])
    [first, _] = parts_of(stored)
    text, issues = graph_text([{**PE, "id": first}, {**PET, "id": first}, {**PAPER, "id": "another"}], stored)
    assert text is None
    assert [(issue.code, issue.field) for issue in issues] == [
        ("duplicate_row", "components[1].id"),
        ("unknown_reference", "components[2].id"),
    ]
