"""Combines a declaration with its companion files, as bytes by file name, and the record that the command prints."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final  # Any: rows of figures, as polars yields them

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
class DeclarationRequest:
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
class Bundle:
    """`files` in the order in which they take their names, the declaration last; `record` sums them up.

    `figures` are the codes of the declaration's figures, `uncounted` the rows of the SKUs that it does not count.
    """

    files: Mapping[Path, bytes]
    record: Mapping[str, object]
    figures: Sequence[str]
    uncounted: Sequence[Mapping[str, Any]] = ()


def by_category(inputs: Inputs, request: DeclarationRequest) -> Bundle:
    """Return tonnes by scheme category, as CSV or JSON."""
    found = declare.figures(inputs, request.market, request.year)
    content = document.document(found, request.market, request.year, request.half, inputs.source)
    sums = {
        "halves": content["halves"],
        "rows": len(content["tonnes"]),
        "in_scope_tonnes": content["in_scope_tonnes"],
        "undecided_tonnes": content["undecided_tonnes"],
        "out_of_scope_tonnes": content["out_of_scope_tonnes"],
        "question": content["question"],
        "total_tonnes": content["total_tonnes"],
        "uncounted": len(content["uncounted"]),
        "scope_missing": len(content["scope_missing"]),
    }
    if request.form == "json":
        files = {request.out: forms.as_json(content)}
    else:
        data = forms.tonnes_csv(content["tonnes"])
        missing = {companion_path(request.out, MISSING): forms.missing_csv(content["scope_missing"])}
        files = missing | _with_companions(inputs, request, data, content["uncounted"], sums)
    bundle = _bundle(inputs, request, files, sums, [row["category_code"] for row in content["tonnes"]])
    return replace(bundle, uncounted=content["uncounted"])


def uk_file(inputs: Inputs, request: DeclarationRequest, statements: Statements) -> Bundle:
    """Return the packaging data file of the United Kingdom. Raises `NotDeclarable` and `FileRefused`."""
    if request.market != MARKET:
        raise NotDeclarable(f"--format rpd is the file of {MARKET}; declare {request.market} as csv or json.")
    file = declare.uk_file(inputs, statements)
    uncounted = list(document.uncounted_rows(file.uncounted))
    weight = sum(int(row["packaging_material_weight"]) for row in file.rows)
    sums = {
        "halves": declare.halves(inputs, request.market, request.year, request.half),
        "rows": len(file.rows),
        "total_kg": weight,
        "difference_kg": file.difference_kg,
        "uncounted": len(uncounted),
    }
    files = _with_companions(inputs, request, forms.uk_csv(file.rows), uncounted, sums)
    bundle = _bundle(inputs, request, files, sums, sorted({row["packaging_material"] for row in file.rows}))
    return replace(bundle, uncounted=uncounted)


def left_out_files(request: DeclarationRequest, uncounted: pl.DataFrame) -> Mapping[Path, bytes]:
    """Return the SKUs that a refused file left out, under the name of an accepted file's companion."""
    return {companion_path(request.out, UNCOUNTED): forms.uncounted_csv(document.uncounted_rows(uncounted))}


def with_explanation(
    inputs: Inputs, request: DeclarationRequest, bundle: Bundle, statements: Statements, connection: Connection
) -> Bundle:
    """Return the parcel with the SKUs behind the figures of the requested code; unchanged where no code is requested.

    Raises `NotDeclarable` where it has no figure of that code.
    """
    code = request.explain
    if code is None:
        return bundle
    if code not in bundle.figures:
        named = "packaging_material" if request.form == "rpd" else "category_code"
        raise NotDeclarable(
            f"The declaration has no figure for {code}; name a {named} of it: {', '.join(bundle.figures) or 'none'}."
        )
    if request.form == "rpd":
        explained = explain.uk_figure(inputs, statements, code)
    else:
        explained = explain.figure(inputs, request.market, request.year, request.half, code)
    path = companion_path(request.out, EXPLAINED)
    data = forms.explained_csv(list(explain.with_origins(connection, explained)))
    skus = explained["sku_code"].n_unique()
    files = {path: data, **bundle.files}
    record = {**bundle.record, "files": _names(files), "explained_skus": skus}
    return Bundle(files, record, bundle.figures)


def _with_companions(
    inputs: Inputs,
    request: DeclarationRequest,
    data: bytes,
    uncounted: Iterable[Mapping[str, object]],
    sums: Mapping[str, object],
) -> dict[Path, bytes]:
    """Return a form that has no field for its origin and its gaps, with both as files beside it."""
    source = {"file": request.out.name, **_origin(inputs), **request.as_dict(), **sums}
    return {
        companion_path(request.out, UNCOUNTED): forms.uncounted_csv(uncounted),
        companion_path(request.out, SOURCE): forms.source_json(source, data),
        request.out: data,
    }


def _bundle(
    inputs: Inputs,
    request: DeclarationRequest,
    files: Mapping[Path, bytes],
    sums: Mapping[str, object],
    figures: Sequence[str],
) -> Bundle:
    record = {"files": _names(files), **_origin(inputs), **request.as_dict(), **sums}
    return Bundle(files, record, figures)


def _names(files: Mapping[Path, bytes]) -> list[str]:
    """Return the paths for the record, the declaration first."""
    return [str(path) for path in reversed(list(files))]


def _origin(inputs: Inputs) -> dict[str, str]:
    return {**inputs.source.as_dict(), "catalogue_hash": inputs.catalogue.source_hash}
