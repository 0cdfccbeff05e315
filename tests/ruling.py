"""Rule-sets of a test's own: the release's tables with some cells changed."""

import csv
import io
from collections.abc import Mapping
from pathlib import Path

from compliance import ruleset
from compliance.ruleset import RULES

Change = Mapping[tuple[str, str], Mapping[str, str]]
"""(table, the key of a row in its first column) → the cells that are other ones."""

BOTTLE = {
    "packaging_format": "bottle", "packaging_level": "sales", "components": [
        {"component_type": "body", "material_family": "plastic", "polymer_or_grade": "PET", "weight_g": 27,
         "colour": "transparent", "additives": []},
        {"component_type": "label", "material_family": "paper", "polymer_or_grade": "paper", "weight_g": 1,
         "coverage_percent": 20, "metallised": False, "attachment": "detaches"},
    ],
}  # fmt: skip
"""B by the release's rules, as GLASS is A; LINES and FEATURE are about this one alone."""
GLASS = {
    "packaging_format": "bottle",
    "packaging_level": "sales",
    "components": [
        {
            "component_type": "body",
            "material_family": "glass",
            "polymer_or_grade": "GL71",
            "weight_g": 300,
            "colour": "transparent",
        },
    ],
}
LINES: Change = {("scoring.csv", "grade_B"): {"value": "94.5"}, ("scoring.csv", "grade_C"): {"value": "70"}}
"""What was B with 94 points and less is C."""
FEATURE: Change = {("dfr_rules.csv", "PET_BOTTLE-004"): {"feature": "clear, in other words"}}
"""The grade stays, its trace says something else."""


def texts(change: Change) -> dict[str, str]:
    """The tables of the release with these cells changed."""
    tables = ruleset.texts(RULES / ruleset.versions()[-1])
    for (name, key), cells in change.items():
        rows = list(csv.DictReader(io.StringIO(tables[name])))
        [row] = [row for row in rows if next(iter(row.values())) == key]
        row.update(cells)
        out = io.StringIO()
        writer = csv.DictWriter(out, rows[0])
        writer.writeheader()
        writer.writerows(rows)
        tables[name] = out.getvalue()
    return tables


def folder(parent: Path, version: str, change: Change) -> Path:
    """The same as a folder that an operator would send."""
    made = parent / version
    made.mkdir()
    for name, text in texts(change).items():
        (made / name).write_text(text, encoding="utf-8")
    return made
