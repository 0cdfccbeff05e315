"""Makes the files of a declaration, each complete before one of them takes its name, and proposes ratings for one.

A file of proposed ratings has one row for each SKU and component type, in the columns that `ratings` reads, and behind
them reason and certainty; a person checks it and hands it in. A file beside it lists what is open.
`compliance.schemes` decides the ratings.
"""

import csv
import hashlib
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, NamedTuple  # Any: rows of figures, as polars yields them
from uuid import UUID

import orjson
import polars as pl

from compliance.filings import document as document_filings
from compliance.filings.annex_ix import REPORT_COLUMNS, TOTAL, UNCOUNTED_LIST, UNPLACED_COLUMNS, Reporter
from compliance.filings.document import (
    ARCHIVED,
    MISSING_COLUMNS,
    TONNES_COLUMNS,
    UNCOUNTED_COLUMNS,
    CategoryScope,
)
from compliance.filings.uk.rows import DRINKS, RATINGS, Statements
from compliance.filings.uk.rules import MARKET, FileRefused, codes, columns
from compliance.rollup.exact import written_tonnes
from compliance.rollup.parts import SKU_COLUMNS
from compliance.schemes import rating, settling
from compliance.schemes.rating import Scheme
from compliance.schemes.settling import PartRating
from pipelines import filings
from pipelines.filings import Inputs
from schemas.filings import UNION_FORMAT
from schemas.issues import Issue
from schemas.json_values import json_number
from schemas.messages import message_of
from schemas.refusals import Refused
from schemas.skus.types import Sku
from schemas.texts import harmless, is_computed
from schemas.vocabularies import VOCABULARIES
from services.filings import figures
from services.skus import detail
from warehouse import filings as stored_filings
from warehouse import registers
from warehouse.operate import whole_files
from warehouse.operate.sessions import Connection
from warehouse.skus import portfolio as stored_skus


def companion_path(out: Path, kind: str) -> Path:
    """Return `<OUT without extension>.<kind>`, the path of a file that belongs to a declaration (decisions §11)."""
    return out.with_suffix(f".{kind}")


def write(files: Mapping[Path, bytes]) -> None:
    """Write all files; each replaces the file of its name. Raises `OSError`, and then none of them has changed."""
    drafts: dict[Path, Path] = {}
    try:
        for path, data in files.items():
            drafts[path] = whole_files.drafted(path, data)
        for path, draft in drafts.items():
            draft.replace(path)
    finally:
        for draft in drafts.values():
            draft.unlink(missing_ok=True)


def as_json(document: Mapping[str, object]) -> bytes:
    """Write a document as one JSON object, its decimals as numbers with every digit."""
    return orjson.dumps(document, default=json_number, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def csv_of(columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> bytes:
    """Write rows under these columns, a list joined by `; ` (decisions §11).

    The column `archived` stands behind them where one of the SKUs is archived.
    """
    every = list(rows)
    names = (*columns, ARCHIVED) if any(ARCHIVED in row for row in every) else columns
    return _csv(names, ([_cell(row.get(name)) for name in names] for row in every))


def _csv(header: Sequence[str], rows: Iterable[Iterable[str]]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue().encode()


def _cell(value: object) -> str:
    """Return a value as text; one that is no number and that a spreadsheet would compute gets a `'`."""
    if value is None:
        return ""
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(value)
    return harmless("; ".join(value) if isinstance(value, list) else str(value))


FORMS: Final = ("rpd", "csv", "json", UNION_FORMAT)
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

    `figures` are the codes of the declaration's figures, `uncounted` the rows of the SKUs that it does not count;
    `scopes` its categories, or `rows` the cells of the UK file or of the report of Article 44.
    """

    files: Mapping[Path, bytes]
    record: Mapping[str, object]
    figures: Sequence[str]
    uncounted: Sequence[Mapping[str, Any]] = ()
    scopes: Sequence[CategoryScope] = ()
    rows: Sequence[Mapping[str, Any]] = ()


def bundle(inputs: Inputs, request: DeclarationRequest, statements: Statements | None = None) -> Bundle:
    """Return the files of the requested form; `statements` are for the UK file. Raise `Refused` and `FileRefused`."""
    if statements is not None:
        return uk_file(inputs, request, statements)
    return union_report(inputs, request) if request.form == UNION_FORMAT else by_category(inputs, request)


def by_category(inputs: Inputs, request: DeclarationRequest) -> Bundle:
    """Return tonnes by scheme category, as CSV or JSON."""
    year_figures = filings.figures(inputs, request.market, request.year)
    content = document_filings.document(year_figures, request.market, request.year, request.half, inputs.source)
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
        files = {request.out: as_json(content)}
    else:
        data = csv_of(TONNES_COLUMNS, content["tonnes"])
        missing = {companion_path(request.out, MISSING): csv_of(MISSING_COLUMNS, content["scope_missing"])}
        files = missing | _with_companions(inputs, request, data, content["uncounted"], sums)
    codes = [row["category_code"] for row in content["tonnes"]]
    scopes = document_filings.category_scopes(year_figures, request.market, request.year, request.half)
    return Bundle(files, _record(inputs, request, files, sums), codes, content["uncounted"], scopes)


def uk_file(inputs: Inputs, request: DeclarationRequest, statements: Statements) -> Bundle:
    """Return the packaging data file of the United Kingdom. Raises `Refused` and `FileRefused`."""
    if request.market != MARKET:
        raise filings.not_declarable(f"--format rpd is the file of {MARKET}; declare {request.market} as csv or json.")
    file = filings.uk_file(inputs, statements)
    uncounted = list(document_filings.uncounted_rows(file.uncounted))
    weight = sum(int(row["packaging_material_weight"]) for row in file.rows)
    sums = {
        "halves": filings.halves(inputs, request.market, request.year, request.half),
        "rows": len(file.rows),
        "total_kg": weight,
        "difference_kg": file.difference_kg,
        "uncounted": len(uncounted),
    }
    files = _with_companions(inputs, request, _csv(columns(), (row.values() for row in file.rows)), uncounted, sums)
    materials = sorted({row["packaging_material"] for row in file.rows})
    return Bundle(files, _record(inputs, request, files, sums), materials, uncounted, rows=file.rows)


def reporter_of(connection: Connection, market: str) -> Reporter:
    """Return what the registers of the session's company hold of a market."""
    stored = registers.read(connection).get(market)
    if stored is None:
        return Reporter()
    held = stored.held
    mandate, certified = held["representative"], held["certification"]

    def texts(record: Mapping[str, Any], *names: str) -> Any:  # a tuple of so many texts
        return tuple(record[name] or "" for name in names)

    registrations = (texts(row, "register_name", "number", "valid_from", "valid_to") for row in held["registrations"])
    return Reporter(
        tuple(registrations),
        mandate and texts(mandate, "name", "address", "mandate_from", "mandate_to"),
        certified and texts(certified, "name", "signed_on"),
    )


def union_report(inputs: Inputs, request: DeclarationRequest) -> Bundle:
    """Return the yearly report of Article 44 in the order of Annex IX. Raise `Refused`."""
    report = filings.union_report(inputs, request.market, request.year)
    undecided, placed = written_tonnes(report.unplaced_grams), written_tonnes(report.placed_grams)
    sums = {
        "halves": None,
        "rows": sum(1 for row in report.rows if row["tonnes"] and row["entry"] != TOTAL),
        "in_scope_tonnes": placed,
        "undecided_tonnes": undecided,
        "out_of_scope_tonnes": Decimal(0),
        "question": report.question,
        "total_tonnes": written_tonnes(report.placed_grams + report.unplaced_grams),
        "uncounted": len(report.uncounted),
        "scope_missing": len(report.unplaced),
    }
    source = {"file": request.out.name, **_origin(inputs), **request.as_dict(), **sums, "form": report.form}
    data = csv_of(REPORT_COLUMNS, report.rows)
    files = {
        companion_path(request.out, MISSING): csv_of(UNPLACED_COLUMNS, report.unplaced),
        companion_path(request.out, UNCOUNTED): csv_of(UNCOUNTED_LIST, report.uncounted),
        companion_path(request.out, SOURCE): as_json({**source, "sha256": hashlib.sha256(data).hexdigest()}),
        request.out: data,
    }
    left_out: list[dict[str, object]] = [
        {name: row[name] for name in (*UNCOUNTED_COLUMNS, ARCHIVED) if name in row}
        for row in (*report.unplaced, *report.uncounted)
    ]
    return Bundle(files, _record(inputs, request, files, sums), (), left_out, rows=report.rows)


def left_out_files(request: DeclarationRequest, uncounted: pl.DataFrame) -> Mapping[Path, bytes]:
    """Return the SKUs that a refused file left out, under the name of an accepted file's companion."""
    return {
        companion_path(request.out, UNCOUNTED): csv_of(UNCOUNTED_COLUMNS, document_filings.uncounted_rows(uncounted))
    }


def with_explanation(
    inputs: Inputs, request: DeclarationRequest, bundle: Bundle, statements: Statements, connection: Connection
) -> Bundle:
    """Return the parcel with the SKUs behind the figures of the requested code; unchanged where no code is requested.

    Raises `Refused` where it has no figure of that code.
    """
    code = request.explain
    if code is None:
        return bundle
    if code not in bundle.figures:
        column = "packaging_material" if request.form == "rpd" else "category_code"
        raise filings.not_declarable(
            f"The declaration has no figure for {code}; name a {column} of it: {', '.join(bundle.figures) or 'none'}."
        )
    if request.form == "rpd":
        explained = figures.uk_figure(inputs, statements, code)
    else:
        explained = figures.figure(inputs, request.market, request.year, request.half, code)
    path, rows = companion_path(request.out, EXPLAINED), list(figures.with_origins(connection, explained))
    data = csv_of(list(rows[0]), rows)
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
        companion_path(request.out, UNCOUNTED): csv_of(UNCOUNTED_COLUMNS, uncounted),
        companion_path(request.out, SOURCE): as_json({**source, "sha256": hashlib.sha256(data).hexdigest()}),
        request.out: data,
    }


def _record(
    inputs: Inputs, request: DeclarationRequest, files: Mapping[Path, bytes], sums: Mapping[str, object]
) -> dict[str, object]:
    return {"files": _names(files), **_origin(inputs), **request.as_dict(), **sums}


def _names(files: Mapping[Path, bytes]) -> list[str]:
    """Return the paths for the record, the declaration first."""
    return [str(path) for path in reversed(list(files))]


def _origin(inputs: Inputs) -> dict[str, str]:
    return {**inputs.source._asdict(), "catalogue_hash": inputs.catalogue.source_hash}


_ANSWERS: Final = {"Y": True, "N": False}


def ratings(path: Path | None) -> pl.DataFrame:
    """Read `RATINGS` from a CSV `sku_code, component_type, rating`; none without a file.

    Raises `Refused`, and `FileRefused` with error 100 for an unknown rating.
    """
    colours: dict[tuple[str, ...], str] = {}
    for line, (sku_code, component_type, colour) in _lines(path, ("sku_code", "component_type", "rating")):
        if component_type not in VOCABULARIES["component_type"]:
            raise _refused(path, line, f"component_type is one of {', '.join(VOCABULARIES['component_type'])}")
        if colour not in codes("ram_rag_rating"):
            raise FileRefused(["100"], f"Line {line} of the ratings says {colour or 'nothing'}.")
        _add(colours, (sku_code, component_type), colour, path, line)
    return pl.DataFrame([(*key, colour) for key, colour in colours.items()], schema=RATINGS, orient="row")


def drinks(path: Path | None) -> pl.DataFrame:
    """Read `DRINKS` from a CSV `sku_code, drinks_container`; none without a file. Raises `Refused`."""
    answers: dict[tuple[str, ...], str] = {}
    for line, (sku_code, answer) in _lines(path, ("sku_code", "drinks_container")):
        if answer not in _ANSWERS:
            raise _refused(path, line, "drinks_container is Y or N")
        _add(answers, (sku_code,), answer, path, line)
    return pl.DataFrame([(*key, _ANSWERS[answer]) for key, answer in answers.items()], schema=DRINKS, orient="row")


def _lines(path: Path | None, columns: tuple[str, ...]) -> Iterator[tuple[int, list[str]]]:
    """Yield the lines of the file with the cells of these columns, trimmed."""
    if path is None:
        return
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            if missing := [column for column in columns if column not in (reader.fieldnames or ())]:
                raise _unusable(f"{path.name}: the column {missing[0]} is missing; it has {', '.join(columns)}.")
            for row in reader:
                yield reader.line_num, [_unescaped((row[column] or "").strip()) for column in columns]
    except OSError as error:
        raise _unusable(f"{path.name} cannot be read: {error.strerror}.") from None
    except (UnicodeDecodeError, csv.Error):
        raise _unusable(f"{path.name} is no CSV file in UTF-8; save it as one.") from None


def _unescaped(cell: str) -> str:
    """Return the cell without the `'` that the service puts before text that a spreadsheet would compute."""
    return cell[1:] if cell.startswith("'") and is_computed(cell[1:]) else cell


def _add(by_key: dict[tuple[str, ...], str], key: tuple[str, ...], value: str, path: Path | None, line: int) -> None:
    if by_key.setdefault(key, value) != value:
        raise _refused(path, line, f"{' '.join(key)} stands before with {by_key[key]}; keep one of the two")


def _refused(path: Path | None, line: int, right: str) -> Refused:
    return _unusable(f"{path.name if path else 'The file'}, line {line}: {right}.")


def _unusable(reason: str) -> Refused:
    """Return the refusal of a file of statements; the reason names file and line and says what would be right."""
    return Refused([Issue("invalid_format", message_of(reason))])


_LISTED: Final = 10


def first_uncounted(connection: Connection, declaration_id: UUID | None) -> Sequence[Mapping[str, Any]]:
    """Return the first SKUs that a kept declaration does not count: they are in its JSON, or in the list beside it."""
    kept = stored_filings.files_of(connection, declaration_id)
    if kept is None:
        return []
    form, content, beside = kept
    rows: list[Mapping[str, Any]] = orjson.loads(content)["uncounted"] if form == "json" else []
    if beside is not None:
        rows = list(csv.DictReader(io.StringIO(beside.decode("utf-8-sig"))))
    return rows[:_LISTED]


OPEN: Final = "open.csv"
RATING_COLUMNS: Final = (
    "sku_code",
    "component_type",
    "rating",
    "scheme",
    "why",
    "rules",
    "confidence",
    "unverified_rating",
)
OPEN_COLUMNS: Final = ("sku_code", "component_type", "field", "could_become", "ask")


def propose_ratings(inputs: Inputs, market: str, year: int, out: Path, connection: Connection) -> Bundle:
    """Return both files, and a record of how many parts have a rating. Raises `Refused` where no scheme rates."""
    scheme = rating.of_market(market, year)
    if scheme is None:
        rated = ", ".join(f"{version.market} from {version.years.start}" for version in rating.versions())
        raise filings.not_declarable(f"No scheme rates the packaging of {market} in {year}; schemes: {rated}.")
    ratings: list[Mapping[str, object]] = []
    still_open: list[Mapping[str, object]] = []
    unrated = 0
    codes_placed = [
        code
        for portfolio in filings.portfolios(inputs, market, year, SKU_COLUMNS)
        for code in sorted(portfolio.skus["sku_code"])
    ]
    for record in map(detail.record, stored_skus.of_codes(connection, codes_placed)):
        for part in settling.part_ratings(record, scheme, inputs.rules):
            if part.code is None:
                unrated += 1
            else:
                ratings.append(_rating(record, part, scheme))
        still_open += _open(record, scheme, inputs)
    files = {companion_path(out, OPEN): csv_of(OPEN_COLUMNS, still_open), out: csv_of(RATING_COLUMNS, ratings)}
    summary = {
        "files": _names(files),
        "market": market,
        "year": year,
        "scheme": scheme.key,
        "version": scheme.version,
        "rated": len(ratings),
        "unverified": sum(1 for row in ratings if row["unverified_rating"]),
        "unrated": unrated,
        "open": len(still_open),
    }
    return Bundle(files, summary, ())


def _rating(record: Sku, part: PartRating, scheme: Scheme) -> Mapping[str, object]:
    """Return a row of the file; a rating that rests on memory is no `rating` until a person writes it there.

    `ratings` refuses the file while such a row has none.
    """
    return {
        "sku_code": record["sku_code"],
        "component_type": part.component_type,
        "rating": None if part.is_unverified else part.code,
        "scheme": f"{scheme.key} {scheme.version}",
        "why": "; ".join(dict.fromkeys(row.rule.feature for row in part.standing)),
        "rules": "; ".join(row.rule.rule_id for row in part.standing),
        "confidence": "; ".join(sorted({row.confidence for row in part.standing})),
        "unverified_rating": part.code if part.is_unverified else None,
    }


def _open(record: Sku, scheme: Scheme, inputs: Inputs) -> Iterator[Mapping[str, object]]:
    types = {line.get("id"): line["component_type"] for line in record["components"]}
    for fact in settling.published_open_facts(record, scheme, inputs.rules):
        yield {
            **fact,
            "sku_code": record["sku_code"],
            "component_type": types.get(fact["component_id"]),
            "could_become": "; ".join(fact["could_become"]),
        }


class RatedPart(NamedTuple):
    """A part for which the UK file asks a rating, and the one that the tables propose; None where a fact is missing.

    A proposal is unverified where a row that leads to it rests on memory.
    """

    sku_code: str
    name: str
    component_type: str
    rating: str | None
    is_unverified: bool


class Questions(NamedTuple):
    """What the UK file asks its producer: ratings of parts, and which SKUs are drinks containers, by code and name.

    Parts for which nothing is proposed come first, then those with a proposal that is unverified.
    """

    parts: Sequence[RatedPart] = ()
    drinks: Sequence[tuple[str, str]] = ()


def producer_questions(inputs: Inputs, statements: Statements, connection: Connection) -> Questions:
    """Return what the file of a period asks; of parts whose SKU waits for its answer about drinks nothing yet."""
    unrated = statements._replace(ratings=statements.ratings.clear())
    try:
        uncounted = pl.concat([lines.uncounted for _, lines in filings.uk_lines(inputs, unrated)])
    except FileRefused:
        return Questions()
    parts = uncounted.filter(pl.col("reason") == "rating_missing").explode("fields")
    kinds = parts.group_by("sku_code").agg(pl.col("fields").str.strip_prefix("ram:")).sort("sku_code").rows()
    undecided = uncounted.filter(pl.col("reason") == "drinks_container_undecided")["sku_code"]
    drinks = sorted({*undecided, *statements.drinks["sku_code"]})
    wanted_codes = sorted({*drinks, *(code for code, _ in kinds)})
    records = {row["sku_code"]: detail.record(row) for row in stored_skus.of_codes(connection, wanted_codes)}
    scheme = rating.of_market(MARKET, statements.year)
    rated = [
        part for code, types in kinds if code in records for part in _rated_parts(records[code], types, scheme, inputs)
    ]
    rated.sort(key=lambda part: (part.rating is not None, not part.is_unverified))
    return Questions(rated, [(code, records[code]["name"]) for code in drinks if code in records])


def _rated_parts(record: Sku, types: Iterable[str], scheme: Scheme | None, inputs: Inputs) -> Iterator[RatedPart]:
    rated = settling.part_ratings(record, scheme, inputs.rules) if scheme else []
    proposed = {part.component_type: part for part in rated}
    for component_type in dict.fromkeys(types):
        part = proposed.get(component_type)
        code, is_unverified = (part.code, part.is_unverified) if part else (None, False)
        yield RatedPart(record["sku_code"], record["name"], component_type, code, is_unverified)
