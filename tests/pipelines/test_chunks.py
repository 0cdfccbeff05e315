"""Chunks of an import: every row, fault and rejected line of the file in exactly one, wherever a run resumes."""

from datetime import date
from itertools import pairwise
from uuid import uuid4

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from pipelines.imports.process import Chunk, Rows, chunks
from pipelines.imports.report import Work
from pipelines.reading.rows import type_rows
from pipelines.reading.upload import Upload, read_upload
from tests.drawing import examples


def upload(good: list[bool]) -> Upload:
    """A file whose lines 2, 3, … are rows that can be read (true) or rows with two faulty cells (false)."""
    rows = [f"S{number},Bottle,{'12,yes' if fine else 'x,maybe'}" for number, fine in enumerate(good)]
    text = "\n".join(["sku_code,name,weight_grams,reusable", *rows])
    return read_upload(text.encode(), "portfolio.csv", today=date(2026, 11, 21))


def work(sent: Upload, position: int) -> Work:
    return Work(
        id=uuid4(),
        company_id=uuid4(),
        company_name="Acme",
        filename="portfolio.csv",
        size_bytes=1,
        sha256="",
        dry_run=False,
        upload_key="",
        table_key="",
        default_year=2026,
        source=sent.source,
        rows_total=sent.rows,
        position=position,
        attempts=1,
        correlation_id="c",
        ip=None,
        user_agent=None,
    )


def run_through(sent: Upload, sizes: list[int]) -> list[Chunk]:
    """The committed chunks when a run of each size but the last dies after its first chunk."""
    typed, done = type_rows(sent, default_year=2026, served_markets=frozenset()), list[Chunk]()
    for size in sizes:
        if done and done[-1].last:
            break
        rest = chunks(sent, typed, work(sent, done[-1].stop if done else 0), lambda start, size=size: start + size)
        done += list(rest) if size == sizes[-1] else [next(rest)]
    return done


@examples(60)
@given(good=st.lists(st.booleans(), min_size=1, max_size=40), sizes=st.lists(st.integers(1, 15), max_size=6))
def test_each_row_and_fault_is_in_one_chunk_whatever_size_each_run_takes(good: list[bool], sizes: list[int]) -> None:
    done = run_through(upload(good), [*sizes, 16])
    assert done[-1].last
    assert not any(chunk.last for chunk in done[:-1])
    assert [(a.stop, b.start) for a, b in pairwise(done) if a.stop != b.start] == []
    assert (done[0].start, done[-1].stop) == (0, good.count(True))
    bad_lines = [number + 2 for number, fine in enumerate(good) if not fine]
    assert [line for chunk in done for line in chunk.faults["line"]] == [line for line in bad_lines for _ in range(2)]
    decided = 0
    for chunk in done:
        decided += chunk.stop - chunk.start + chunk.rejected
        assert chunk.rows_done == decided
    assert decided == len(good)


def test_a_file_whose_every_line_is_rejected_still_has_its_last_chunk() -> None:
    (only,) = run_through(upload([False, False]), [10])
    assert (only.last, only.rejected, only.rows_done, only.faults.height) == (True, 2, 2, 4)


@given(stored=st.lists(st.booleans(), max_size=30), start=st.integers(0, 5), size=st.integers(1, 7))
def test_a_chunk_has_so_many_rows_to_write_and_takes_along_unchanged_rows(
    stored: list[bool], start: int, size: int
) -> None:
    rows = Rows(
        start, typed=None, unchanged_grades=pl.Series(["A" if one else None for one in stored], dtype=pl.String)
    )
    end, at, parts = rows.end(size), start, []
    while at < start + len(stored):
        stop = min(end(at), start + len(stored))
        parts.append(stored[at - start : stop - start])
        at = stop
    assert [one for part in parts for one in part] == stored
    assert all(part.count(False) == size and not part[-1] for part in parts[:-1])
    assert all(part.count(False) <= size for part in parts)
