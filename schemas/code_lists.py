"""Reads the code lists of the reporting world, which use short codes in other meanings than ours and ISO's.

`code_lists.csv` (list, field, code, value) gives each code's meaning in our words: materials of the United Kingdom's
packaging data (guidance *Packaging data: what to collect*, material codes AL, FC, GL, PC, PL, ST, WD, OT), its nations,
the states of the United States (ISO 3166-2:US), and the numbers of Commission Decision 97/129/EC, Annexes I to VII.
Which list a column speaks is decided by `pipelines.reading.code_lists`.
"""

import csv
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

from schemas.words import fold

_FILE = Path(__file__).parent / "code_lists.csv"


@cache
def code_lists(field: str) -> Mapping[str, Mapping[str, str]]:
    """Return the lists that a field's values may come from: list -> folded code -> the value in our words."""
    lists: dict[str, dict[str, str]] = {}
    with _FILE.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["field"] == field:
                lists.setdefault(row["list"], {})[fold(row["code"])] = row["value"]
    return MappingProxyType(lists)
