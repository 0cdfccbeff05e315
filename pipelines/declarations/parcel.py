"""Combines a declaration with its companion files, as bytes by file name, and the record that the command prints."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import polars as pl

from compliance.declarations import document
from compliance.declarations.uk.lines import Statements
from compliance.declarations.uk.tables import MARKET
from pipelines.declarations import declare, explain, forms
from pipelines.declarations.declare import Inputs, NotDeclarable
from pipelines.declarations.files import companion_path
from warehouse.sessions import Connection

FORMS: Final = ("rpd", "csv", "json")
UNCOUNTED: Final = "uncounted.csv"
MISSING: Final = "scope_missing.csv"
SOURCE: Final = "source.json"
EXPLAINED: Final = "explained.csv"


@dataclass(frozen=True, slots=True)
class Asked:
    """The requested declaration and its path; `half` 0 is the year, `form` one of `FORMS`, `explain` a code of it."""

    market: str
    year: int
    half: int
    form: str
    out: Path
    explain: str | None = None

    def as_dict(self) -> dict[str, object]:
        """Return the period as every record names it."""
        return {"market": self.market, "year": self.year, "half": self.half, "format": self.form}


@dataclass(frozen=True, slots=True)
class Parcel:
    """`files` in the order in which they take their names, the declaration last; `record` sums them up.

    `figures` are the codes of the declaration's figures, `uncounted` the rows of the SKUs that it does not count.
    """

    files: Mapping[Path, bytes]
    record: Mapping[str, Any]
    figures: Sequence[str]
    uncounted: Sequence[Mapping[str, Any]] = ()


def by_category(inputs: Inputs, asked: Asked) -> Parcel:
    """Return tonnes by scheme category, as CSV or JSON."""
    found = declare.figures(inputs, asked.market, asked.year)
    content = document.document(found, asked.market, asked.year, asked.half, inputs.source)
    sums = {
        "rows": len(content["tonnes"]),
        "total_tonnes": content["total_tonnes"],
        "uncounted": len(content["uncounted"]),
        "scope_missing": len(content["scope_missing"]),
    }
    if asked.form == "json":
        files = {asked.out: forms.as_json(content)}
    else:
        data = forms.tonnes_csv(content["tonnes"])
        missing = {companion_path(asked.out, MISSING): forms.missing_csv(content["scope_missing"])}
        files = missing | _with_companions(inputs, asked, data, content["uncounted"], sums)
    made = _parcel(inputs, asked, files, sums, [row["category_code"] for row in content["tonnes"]])
    return replace(made, uncounted=content["uncounted"])


def uk_file(inputs: Inputs, asked: Asked, statements: Statements) -> Parcel:
    """Return the packaging data file of the United Kingdom. Raises `NotDeclarable` and `FileRefused`."""
    if asked.market != MARKET:
        raise NotDeclarable(f"--format rpd is the file of {MARKET}; declare {asked.market} as csv or json.")
    file = declare.uk_file(inputs, statements)
    uncounted = list(document.uncounted_rows(file.uncounted))
    weight = sum(int(row["packaging_material_weight"]) for row in file.rows)
    sums = {
        "rows": len(file.rows),
        "total_kg": weight,
        "difference_kg": file.difference_kg,
        "uncounted": len(uncounted),
    }
    files = _with_companions(inputs, asked, forms.uk_csv(file.rows), uncounted, sums)
    made = _parcel(inputs, asked, files, sums, sorted({row["packaging_material"] for row in file.rows}))
    return replace(made, uncounted=uncounted)


def left_out(asked: Asked, uncounted: pl.DataFrame) -> Mapping[Path, bytes]:
    """Return the SKUs that a refused file left out, under the name of an accepted file's companion."""
    return {companion_path(asked.out, UNCOUNTED): forms.uncounted_csv(document.uncounted_rows(uncounted))}


def with_explanation(
    inputs: Inputs, asked: Asked, parcel: Parcel, statements: Statements, connection: Connection
) -> Parcel:
    """Return the parcel with the SKUs behind the figures of the requested code; unchanged where no code is requested.

    Raises `NotDeclarable` where it has no figure of that code.
    """
    code = asked.explain
    if code is None:
        return parcel
    if code not in parcel.figures:
        named = "packaging_material" if asked.form == "rpd" else "category_code"
        raise NotDeclarable(
            f"The declaration has no figure for {code}; name a {named} of it: {', '.join(parcel.figures) or 'none'}."
        )
    if asked.form == "rpd":
        found = explain.uk_figure(inputs, statements, code)
    else:
        found = explain.figure(inputs, asked.market, asked.year, asked.half, code)
    path = companion_path(asked.out, EXPLAINED)
    data = forms.explained_csv(list(explain.with_origins(connection, found)))
    skus = found["sku_code"].n_unique()
    record = {**parcel.record, "files": [*parcel.record["files"], str(path)], "explained_skus": skus}
    return Parcel({path: data, **parcel.files}, record, parcel.figures)


def _with_companions(
    inputs: Inputs, asked: Asked, data: bytes, uncounted: Iterable[Mapping[str, object]], sums: Mapping[str, object]
) -> dict[Path, bytes]:
    """Return a form that has no room for its origin and its gaps, with both as files beside it."""
    source = {"file": asked.out.name, **_origin(inputs), **asked.as_dict(), **sums}
    return {
        companion_path(asked.out, UNCOUNTED): forms.uncounted_csv(uncounted),
        companion_path(asked.out, SOURCE): forms.source_json(source, data),
        asked.out: data,
    }


def _parcel(
    inputs: Inputs, asked: Asked, files: Mapping[Path, bytes], sums: Mapping[str, object], figures: Sequence[str]
) -> Parcel:
    record = {"files": [str(path) for path in reversed(list(files))], **_origin(inputs), **asked.as_dict(), **sums}
    return Parcel(files, record, figures)


def _origin(inputs: Inputs) -> dict[str, str]:
    return {**inputs.source.as_dict(), "catalogue_hash": inputs.catalogue.source_hash}
