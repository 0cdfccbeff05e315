"""Measures the reading of a file alone, step by step: finding the table, and typing its cells.

It counts CPU seconds of this process, all threads, so that other processes do not matter; the median of the rounds.
"""

import time
from collections.abc import Callable, Iterator
from datetime import date
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, Final, TypeVar

from bench import data
from bench.report import Line
from pipelines.reading import Upload, read_upload, type_rows
from pipelines.reading.delimited import detect_delimiter, read_delimited
from pipelines.reading.encoding import decode, detect_format
from pipelines.reading.header import find_header
from pipelines.reading.header_row import known_headers
from pipelines.reading.mapping import check_mapping
from pipelines.reading.workbook import Workbook
from schemas.contracts import typed_rows

TODAY: Final = date(2026, 11, 21)
DETECTION: Final = 0.3
"""CPU seconds that encoding, delimiter, header and mapping may take together on a file of 10 MiB."""
MAPPING: Final = {
    "columns": {"sku_code": "subsidiary_id", "name": "packaging_type", "weight_grams": "packaging_material_weight"}
}
"""The columns of a producer's data file that stand for an import's SKU fields; each of its lines is one SKU."""

Result = TypeVar("Result")


def measure(rows: int, rounds: int, others: list[Path]) -> Iterator[Line]:
    """Measure the steps of reading a CSV and an XLSX of our own, and those of other files with `MAPPING`."""
    files = [data.csv_file(rows, changed=False), data.xlsx_file(rows, changed=False)]
    for path in files:
        yield from _steps(path, None, rounds)
    for path in others:
        yield from _steps(path, MAPPING, rounds)


def _steps(path: Path, mapping: dict[str, Any] | None, rounds: int) -> Iterator[Line]:
    content = path.read_bytes()
    named = f"{path.suffix[1:].upper()} of {len(content) / 2**20:.1f} MiB{', mapped' if mapping else ''}"
    found, detection = _timed(partial(_detected, content, mapping), rounds)
    yield Line(
        f"finding the table of a {named}", f"{detection:.2f} s of CPU", f"{DETECTION} s", detection / DETECTION, 1
    )
    upload, reading = _timed(partial(read_upload, content, path.name, mapping=mapping, today=TODAY), rounds)
    yield Line(f"its cells as text, {upload.rows} lines", f"{reading - detection:.2f} s of CPU")
    again, packing = _timed(lambda: Upload.from_bytes(upload.to_bytes()), rounds)
    yield Line("packed for a worker and back", f"{packing:.2f} s of CPU")
    typed, typing = _timed(partial(type_rows, again, default_year=TODAY.year, served_markets={"FR", "DE"}), rounds)
    yield Line(f"its cells typed, {typed.values.height} rows, {found} columns", f"{typing:.2f} s of CPU")
    contract = typed_rows(typed.values.columns)
    _, checking = _timed(partial(contract.validate, typed.values), rounds)
    yield Line("the contract of its rows", f"{checking:.2f} s of CPU")


def _timed(step: Callable[[], Result], rounds: int) -> tuple[Result, float]:
    seconds = []
    for _ in range(rounds):
        begun = time.process_time()
        result = step()
        seconds.append(time.process_time() - begun)
    return result, median(seconds)


def _detected(content: bytes, mapping: dict[str, Any] | None) -> int:
    """Find encoding, delimiter, header and mapping, without the cells below; return the number of read columns."""
    mapped = check_mapping(mapping)
    if detect_format(content, "file") == "xlsx":
        book = Workbook(content)
        return len(find_header(book.top(book.sheets[0], 40), "sku", mapped).columns)
    text = decode(content).text
    delimiter = detect_delimiter(text, lambda records: known_headers(records, set()))
    top = "".join(text[:200_000].splitlines(keepends=True)[:40])
    return len(find_header(read_delimited(top, delimiter), "sku", mapped).columns)
