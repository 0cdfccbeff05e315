"""The worked examples of grading: those of each rule-set, as they were worked by hand for its tables."""

import json
from pathlib import Path

import pytest

DATA = Path(__file__).parent / "data"
_FILES = {
    "2026-11-21": "grading_examples_2026-11-21.json",
    "2026-11-22": "grading_examples.json",
    "2026-11-26": "grading_examples.json",
}
EXAMPLES = [
    pytest.param(version, example, id=f"{version} {example['name']}")
    for version, name in _FILES.items()
    for example in json.loads((DATA / name).read_text(encoding="utf-8"))["examples"]
]
"""(version, example) of each; 39 of the first version, 61 of the second, which its tables of 2026-11-26 grade alike."""


def record_of(example):
    """The example as a stored record: the level in its canonical form."""
    level = example["input"].get("packaging_level")
    return {**example["input"], "packaging_level": {"tertiary": "transport"}.get(level, level)}
