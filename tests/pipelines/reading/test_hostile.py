"""Files made to cost more than they are worth: each is read or refused within two seconds of CPU and 400 MiB.

What they are is `hostile.py`. The dearest, rows of headers, take one and a half on a busy machine, and most less than
half a second; each took more than two when it was found.
"""

from pathlib import Path

import pytest

from tests.pipelines.reading import hostile
from tests.pipelines.reading.budget import DOCUMENT, MOST_MIB, MOST_SECONDS, costs

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="only Linux says the peak of one process"
)
_AT_ONCE = 12
"""Files that one process reads; starting it costs more than reading them."""


def _some(names: list[str]) -> list[list[str]]:
    return [names[at : at + _AT_ONCE] for at in range(0, len(names), _AT_ONCE)]


@pytest.mark.parametrize("names", _some(list(hostile.TABLES)), ids=lambda names: names[0])
def test_no_table_costs_more_than_its_budget(names: list[str], tmp_path: Path) -> None:
    found = costs({name: hostile.TABLES[name]() for name in names}, tmp_path)
    over = {name: cost for name, cost in found.items() if cost.seconds > MOST_SECONDS or cost.mib > MOST_MIB}
    assert not over


@pytest.mark.parametrize("texts", _some(list(hostile.REPEATED)), ids=lambda texts: repr(texts[0]))
def test_no_cell_of_repeated_characters_costs_more_than_its_budget(texts: list[str], tmp_path: Path) -> None:
    found = costs({text: hostile.repeated(text) for text in texts}, tmp_path)
    assert not {text: cost for text, cost in found.items() if cost.seconds > MOST_SECONDS}


def test_no_document_costs_more_than_its_budget(tmp_path: Path) -> None:
    found = costs({f"{name}{DOCUMENT}": make() for name, make in hostile.DOCUMENTS.items()}, tmp_path)
    assert {cost.outcome for cost in found.values()} == {"unsupported_media_type"}
    assert all(cost.seconds < MOST_SECONDS and cost.mib < MOST_MIB for cost in found.values())


@pytest.mark.parametrize("name", [name for name in hostile.TABLES if "DTD" in name])
def test_a_document_type_is_refused_wherever_it_stands(name: str, tmp_path: Path) -> None:
    [cost] = costs({name: hostile.TABLES[name]()}, tmp_path).values()
    assert cost.outcome == "unreadable_file"
    assert cost.mib < 40
