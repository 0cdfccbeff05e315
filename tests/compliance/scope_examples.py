"""The worked examples of scope, and where a declaration differs from one."""

import json
from decimal import Decimal
from pathlib import Path

EXAMPLES = json.loads((Path(__file__).parent / "data" / "epr_examples.json").read_text(encoding="utf-8"))


def differences(example, said):
    """What of a declaration is not as the example says: (where, found, expected)."""
    tonnes = {row["category_code"]: row for row in said["tonnes"]}
    duties = {(row["obligation"], row["material"]): row for row in said["obligations"]}
    expected = [(code, tonnes.get(code, {}), row) for code, row in example["tonnes"].items()]
    expected += [(row["obligation"], duties[row["obligation"], row["material"]], row) for row in example["obligations"]]
    found = [
        (where, name, row.get(name), value)
        for where, row, wanted in expected
        for name, value in wanted.items()
        if _plain(row.get(name)) != value
    ]
    if tonnes.keys() != example["tonnes"].keys():
        found.append(("categories", "", sorted(tonnes), sorted(example["tonnes"])))
    if said["scope_missing"] != example["scope_missing"]:
        found.append(("scope_missing", "", said["scope_missing"], example["scope_missing"]))
    if "halves" in example and said["halves"] != example["halves"]:
        found.append(("halves", "", said["halves"], example["halves"]))
    return found


def _plain(value):
    return float(value) if isinstance(value, Decimal) else value
