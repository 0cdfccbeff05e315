"""What the importer made of a sent file beside what a person makes of it: right, wrong, and what it did not read."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import polars as pl

from pipelines.reading.grid import ReadingRefused
from tests.pipelines.reading.senders.sent import Record, Sent
from tests.pipelines.reading.writing import read

Place = tuple[str, str]
"""The SKU's code, and the field of it, of a component with its index: `components[1].weight_g`."""


@dataclass
class Judged:
    """Columns and cells that a person reads, those of them read likewise, and everything that differs, in words."""

    columns: int = 0
    columns_right: int = 0
    cells: int = 0
    cells_right: int = 0
    differences: list[str] = field(default_factory=list)


def judge(sent: Sent, mapping: Mapping[str, object] | None = None) -> Judged:
    """The file as the importer reads it, without being told anything but the mapping."""
    wanted = dict(_cells(sent.skus))
    judged = Judged(columns=len(sent.columns), cells=len(wanted))
    try:
        upload, typed = read(sent.data, mapping)
    except ReadingRefused as refused:
        told = [f"refused {issue.code}: {issue.message}" for issue in refused.issues]
        judged.differences += told if tuple(issue.code for issue in refused.issues) != tuple(sent.refused) else []
        return judged
    columns: dict[str, list[str]] = {}
    parts = upload.source["components"]
    own = parts["columns"] if parts is not None and parts["sheet"] == upload.source["sheet"] else []
    for column in (*upload.source["columns"], *own):
        columns.setdefault(column["column"], []).append(column["field"])
    _judge_columns(sent, columns, judged)
    unsaid = {column["column"]: column["could_be"] for column in upload.source["asked"]}
    if unsaid != {letter: list(fields) for letter, fields in sent.unsaid.items()}:
        judged.differences.append(f"columns asked about: {sent.unsaid}, asked {unsaid}")
    got = dict(_cells({str(row["sku_code"]): _record(row) for row in typed.values.to_dicts()}))
    judged.cells_right = sum(_same(value, got.get(place)) for place, value in wanted.items())
    judged.differences += [
        f"{code}.{name}: {value!r}, read {got.get((code, name))!r}"
        for (code, name), value in wanted.items()
        if not _same(value, got.get((code, name)))
    ]
    judged.differences += [
        f"{code}.{name}: nothing, read {value!r}"
        for (code, name), value in got.items()
        if (code not in sent.skus or name.split(".")[0] not in _has_unit(wanted, code)) and name not in LEFT_OPEN
    ]
    asked = {(line, name): (code, message) for line, name, code, message in _faults(typed.errors)}
    judged.differences += [f"line {at} {name}: not asked" for at, name in sent.asked if (at, name) not in asked]
    judged.differences += [
        f"line {at} {name}: {why}" for (at, name), why in asked.items() if (at, name) not in sent.asked
    ]
    return judged


LEFT_OPEN = ("material_subtype", "volume_year")
"""What a reader may add to a SKU that a person need not name: the detail of a material as it is written."""


ALSO = {
    "material_family": "material",
    "weight_g": "weight_grams",
    "polymer_or_grade": "material_subtype",
    "component_type": "shape",
}
"""What the columns of a part are called where the SKU has them too, or where words only help to find its type."""
_OF_A_GROUP = re.compile(r"component_\d+_")


def _judge_columns(sent: Sent, got: Mapping[str, list[str]], judged: Judged) -> None:
    for letter in sorted({*got, *sent.columns}, key=lambda letter: (len(letter), letter)):
        name, names = sent.columns.get(letter), got.get(letter, [])
        right = name is not None and any(_same_field(name, read_as) for read_as in names)
        judged.columns_right += right
        if not right:
            judged.differences.append(f"column {letter}: {name}, read {', '.join(names) or None}")


def _same_field(wanted: str, got: str) -> bool:
    """Whether two names of columns are of one field; the columns of parts side by side are told by their field."""
    field_of, grouped = _OF_A_GROUP.sub("", wanted), _OF_A_GROUP.match(wanted) is not None
    names = (field_of, ALSO.get(field_of))
    return got in names or (grouped and any(got.endswith(f"_{name}") for name in names))


def _record(row: Mapping[str, object]) -> Record:
    parts = row.get("components")
    return {**row, "components": json.loads(parts)} if isinstance(parts, str) else row


def _cells(skus: Mapping[str, Record]) -> Iterator[tuple[Place, object]]:
    for code, record in skus.items():
        for name, value in record.items():
            if name in ("row", "line", "sheet", "sku_code") or value is None:
                continue
            if name == "components" and isinstance(value, list):
                for at, part in enumerate(value):
                    yield from (((code, f"components[{at}].{key}"), of) for key, of in part.items())
            else:
                yield (code, name), value


def _has_unit(wanted: Mapping[Place, object], code: str) -> set[str]:
    return {name.split(".")[0] for of, name in wanted if of == code}


def _same(wanted: object, got: object) -> bool:
    if isinstance(wanted, int | float) and isinstance(got, int | float):
        return abs(wanted - got) < 0.001
    if isinstance(wanted, list) and isinstance(got, str):
        return "{" + ",".join(wanted) + "}" == got
    return wanted == got


def _faults(errors: pl.DataFrame) -> list[tuple[int, str | None, str, str]]:
    return errors.select("line", "field", "code", "message").rows()
