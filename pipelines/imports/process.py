"""Writes an import's typed rows in chunks, each one transaction with its counts, position and report rows.

Two chunks are under way at a time: while one is stored, the next is read, merged, graded and staged, which needs no
lock of the database; then it waits for its turn. They are stored in the order of the file. The second chunk is prepared
when the first one is: side by side in one process each would take twice as long, and the first be stored later.

Between two chunks a run may end in any way; the next one reads the position and continues. A chunk's last statement
moves the position under the claim's token, so that a chunk is stored once or not at all.

An answer to an import's questions writes only what the import did not read before (decisions §13). The file is read
twice: with the mapping of before, and with the answer. What the second reading gives that the first did not was held
back, whatever kind of question held it. A SKU that the import rejected is written whole.
"""

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from itertools import pairwise
from json import dumps, loads
from pathlib import Path
from threading import Lock
from typing import BinaryIO, Final, NamedTuple
from uuid import UUID

import polars as pl

from compliance.rollup.parts import Portfolio
from pipelines.imports import beside, report
from pipelines.imports.report import Work
from pipelines.reading.grid import LINES_OF_SHEET
from pipelines.reading.rows import TypedRows
from pipelines.reading.upload import Upload
from pipelines.writing import merge
from pipelines.writing.json_fields import COLUMNS, LEGACY
from pipelines.writing.patch import Patch, Prepared, RowIssue, TypedPatch, from_typed
from pipelines.writing.refuse import warnings_of
from pipelines.writing.write import PlanLimitReached, prepare, stage_rows
from schemas.actors import Actor
from schemas.issues import Issue
from schemas.messages import Message, templates
from schemas.vocabularies import SUBSTANCES
from warehouse.audit import ledger
from warehouse.figures import snapshots
from warehouse.imports import claims, queries
from warehouse.imports.claims import MAX_ATTEMPTS, Claim
from warehouse.operate import tracing
from warehouse.operate.clock import Clock
from warehouse.operate.objects import Objects
from warehouse.operate.sessions import Connection, Pool
from warehouse.rules import Rulesets


def complete(conn: Connection, claim: Claim, work: Work, now: datetime) -> None:
    """End the import in the transaction of its last chunk. Raises `ClaimLost`."""
    _end(conn, claim, work, now, status="completed", failure=None)


def fail(pool: Pool, claim: Claim, work: Work, clock: Clock, failure: Issue) -> None:
    """End the import without its remaining rows. Raises `ClaimLost`."""
    with pool.company(claim.company_id) as conn:
        _end(conn, claim, work, clock.now(), status="failed", failure=failure)


def gave_up_issue() -> Issue:
    """Return the reason for an import whose runs lost their process too often: the file may need too much memory."""
    return Issue(
        "unreadable_file",
        Message(
            "The file was accepted, but {attempts} times the process that worked on it was lost before it had got "
            "further. Send it again in smaller parts, or quote the import's id to support.",
            attempts=MAX_ATTEMPTS,
        ),
    )


def our_fault_issue(correlation_id: str, *, dry_run: bool) -> Issue:
    """Return the reason for an import that met a fault of the service; another attempt would meet it again."""
    if dry_run:
        sentence = Message(
            "A fault of the service ended this dry run; nothing is wrong with the file, and nothing was written. Quote "
            "{id} to support, and send the file again when the fault is mended.",
            id=correlation_id,
        )
        return Issue("internal_error", sentence)
    return Issue(
        "internal_error",
        Message(
            "A fault of the service ended this import; nothing is wrong with the file. What counts shows is stored, "
            "the rest is not. Quote {id} to support, and send the file again when the fault is mended.",
            id=correlation_id,
        ),
    )


def ended_by_operator(*, dry_run: bool) -> Issue:
    """Return the reason for an import whose run a person of the operator's staff has terminated."""
    if dry_run:
        sentence = Message(
            "The operator of the service ended this dry run; nothing is wrong with the file, and nothing was written. "
            "Send the file again when the operator says that it may be sent."
        )
        return Issue("ended_by_operator", sentence)
    return Issue(
        "ended_by_operator",
        Message(
            "The operator of the service ended this import; nothing is wrong with the file. What counts shows is "
            "stored, the rest is not. Send the file again when the operator says that it may be sent."
        ),
    )


def plan_limit_issue(reached: PlanLimitReached) -> Issue:
    """Return the reason for an import whose room in the plan other writes took after it was accepted."""
    return Issue(
        "plan_limit_reached",
        Message("{reached} The rows before this one are stored; raise the plan and send again.", reached=reached),
    )


def _end(conn: Connection, claim: Claim, work: Work, now: datetime, *, status: str, failure: Issue | None) -> None:
    reason = None if failure is None else failure.as_dict() | {"correlationId": work.correlation_id}
    counts = claims.end(conn, claim, status, failure=reason, at=now, templates=templates(reason))
    ledger.enter(
        conn,
        Actor(work.company_id, work.origin, now),
        f"import.{status}",
        work.id,
        before={"status": "processing"},
        after={"status": status, "counts": counts} | ({"failure": reason} if reason else {}),
    )


CHUNK_ROWS: Final = 5_000
"""Rows that one transaction writes: a tenth of a second of work, so that the first is soon stored while the next is
prepared, and other writers of its SKUs wait no longer. A crash costs at most two chunks."""

_AT_A_TIME: Final = 2
"""Chunks under way: Postgres stores one while this process prepares another."""


@dataclass(frozen=True, slots=True)
class Job:
    """Everything that a chunk needs besides its rows.

    `data_dir` has the snapshots. `foreseen` gathers what the chunks of a dry run would write, by their first row.
    `preparing` is held by the one chunk that is being prepared.
    """

    pool: Pool
    data_dir: Path
    clock: Clock
    rulesets: Rulesets
    claim: Claim
    work: Work
    upload: Upload
    typed: TypedRows
    foreseen: dict[int, Portfolio] = field(default_factory=dict)
    preparing: Lock = field(default_factory=Lock)


@dataclass(frozen=True, slots=True)
class Chunk:
    """Typed rows `start` to `stop`, with the reader's faults on the lines up to there."""

    start: int
    stop: int
    rows_done: int
    faults: pl.DataFrame
    rejected: int
    last: bool


@dataclass(frozen=True, slots=True)
class Rows:
    """The typed rows from `start` on, in stored columns; `unchanged_grades` is the grade of each row stored as sent."""

    start: int
    typed: TypedPatch
    unchanged_grades: pl.Series

    def end(self, size: int) -> Callable[[int], int]:
        """Return the function from a chunk's start to its end, which counts `size` rows to write, no unchanged ones."""
        due = self.unchanged_grades.is_null().cum_sum()

        def end(start: int) -> int:
            before = due[start - self.start - 1] if start > self.start else 0
            return self.start + int(due.search_sorted(before + size)) + 1

        return end

    def part(self, chunk: Chunk) -> tuple[Patch, list[RowIssue], Counter[str]]:
        """Return the chunk's rows to write, the faults of rows that cannot be, and the grades of unchanged rows."""
        within = slice(chunk.start - self.start, chunk.stop - self.start)
        unchanged = self.unchanged_grades[within]
        values, presence = (
            frame[within].filter(unchanged.is_null()) for frame in (self.typed.values, self.typed.presence)
        )
        unfit = [fault for fault in self.typed.issues if chunk.start <= fault.row < chunk.stop]
        return (
            Patch.from_frames(values, presence).without([fault.row for fault in unfit]),
            unfit,
            Counter(unchanged.drop_nulls()),
        )


class CommittedChunk(NamedTuple):
    """A committed chunk: SKUs by outcome, rejected ones included, accepted rows by grade, seconds by step."""

    outcomes: Counter[str]
    grades: Counter[str | None]
    seconds: dict[str, float]


@dataclass(slots=True)
class RunTotals:
    """What one run did: SKUs by outcome, accepted SKUs by grade, seconds by step, chunks committed."""

    outcomes: Counter[str] = field(default_factory=Counter)
    grades: Counter[str] = field(default_factory=Counter)
    seconds: Counter[str] = field(default_factory=Counter)
    ungraded: int = 0
    chunks: int = 0


def write_rows(job: Job, *, chunk_rows: int = CHUNK_ROWS, proceed: Callable[[], None]) -> RunTotals:
    """Write the rest of the import and complete it.

    `proceed` is called before each chunk and raises where the run has to end (`ClaimLost`, `HandedBack`). Raises
    `ClaimLost` and `pipelines.writing.write.PlanLimitReached`; committed chunks stay.
    """
    written = RunTotals()
    with ThreadPoolExecutor(_AT_A_TIME, thread_name_prefix="chunk") as threads:
        begun = time.perf_counter()
        rows = _compare_with_stored(job, threads)
        written.seconds.update({"compare": time.perf_counter() - begun})
        for outcomes, grades, seconds in _in_order(job, rows, chunk_rows, proceed, threads):
            written.outcomes.update(outcomes)
            written.ungraded += grades.pop(None, 0)
            written.grades.update({str(grade): number for grade, number in grades.items()})
            written.seconds.update(seconds)
            written.chunks += 1
    return written


def _compare_with_stored(job: Job, threads: ThreadPoolExecutor) -> Rows:
    """Return the rows that no run has committed yet, compared with the stored SKUs."""
    start = job.work.position
    with job.pool.company(job.work.company_id) as conn:
        rules = job.rulesets.active(conn)
        typed = from_typed(job.typed.values[start:], job.typed.presence[start:], rules)
        if is_short := typed.values.height <= merge.SAMPLE_ROWS:
            unchanged = merge.find(conn, typed, rules)
        elif not merge.likely(conn, typed, rules):
            return Rows(start, typed, merge.no_grades(typed))
    if not is_short:
        height = typed.values.height
        parts = [typed.part(*ends) for ends in pairwise(height * at // _AT_A_TIME for at in range(_AT_A_TIME + 1))]
        unchanged = pl.concat(threads.map(partial(_find_unchanged, job), parts))
    if "articles" in job.typed.values.columns:  # they are kept beside the records, whose parts the write path reads
        unchanged = unchanged.set(job.typed.values["articles"][start:].is_not_null(), None)
    return Rows(start, typed, unchanged)


def _find_unchanged(job: Job, typed: TypedPatch) -> pl.Series:
    with job.pool.company(job.work.company_id) as conn:
        return merge.find(conn, typed, job.rulesets.active(conn))


def _in_order(
    job: Job, rows: Rows, size: int, proceed: Callable[[], None], threads: ThreadPoolExecutor
) -> Iterator[CommittedChunk]:
    """Yield each chunk when it is committed, with the next one already started."""
    before: Future[CommittedChunk] | None = None
    for chunk in chunks(job.upload, job.typed, job.work, rows.end(size)):
        turn = partial(_await_turn, before, proceed)
        context = copy_context()  # the thread's spans belong to the run's
        write = partial(_write_chunk, job, rows, chunk, turn)
        begun = threads.submit(context.run, job.pool.retrying, job.work.company_id, write)
        if before is not None:
            yield before.result()
        before = begun
    if before is not None:
        yield before.result()


def _await_turn(before: Future[CommittedChunk] | None, proceed: Callable[[], None]) -> None:
    """Wait until the chunk before is committed. Raises its exception, or what `proceed` raises."""
    if before is not None:
        before.result()
    proceed()


def chunks(upload: Upload, typed: TypedRows, work: Work, end: Callable[[int], int]) -> Iterator[Chunk]:
    """Yield the rest of the file in chunks; there is a last one even where every row is committed or rejected.

    `end` returns the end of a chunk by its first row. Rows that the reader rejected belong to the chunk whose lines
    surround them. The last chunk takes the rest, and so brings the count to the reader's own number.
    """
    faults = report.reader_faults(typed, work)
    row_keys, fault_keys = _keys(report.with_sheet(typed.values, work)), _keys(faults)
    line_keys = upload.table["line"]
    # A SKU of several lines is rejected once; elsewhere each line is a row of its own.
    rejected = faults["sku_code"] if work.source["layout"] == "long" else faults["line"]

    def until(position: int) -> tuple[int, int, int]:
        """Count faults, rejected rows and lines of the file up to the typed row before `position`."""
        if position == 0:
            return 0, 0, 0
        seen = int((fault_keys <= row_keys[position - 1]).sum())
        rows = min(rejected.head(seen).n_unique(), typed.rejected)
        return seen, rows, int((line_keys <= row_keys[position - 1]).sum())

    start = work.position
    while True:
        stop = min(end(start), typed.values.height)
        last = stop == typed.values.height
        (faults_from, rejected_from, _), (faults_to, rejected_to, lines) = until(start), until(stop)
        if last:
            faults_to, rejected_to, lines = faults.height, typed.rejected, work.rows_total
        yield Chunk(start, stop, lines, faults[faults_from:faults_to], rejected_to - rejected_from, last)
        if last:
            return
        start = stop


def _keys(placed: pl.DataFrame) -> pl.Series:
    """Return the places in the file as ascending numbers: lines of the SKUs' sheets, then those of the components."""
    return placed["sheet_position"] * LINES_OF_SHEET + placed["line"]


def _prepare_ahead(conn: Connection, job: Job, patch: Patch, source: pl.DataFrame) -> Prepared | None:
    """Return the patch prepared before its turn; None where what it refers to, or may not touch, is not known yet."""
    if job.work.answers is not None or job.work.makes_records:
        return None
    rules = job.rulesets.active(conn)
    ahead = prepare(conn, patch, now=job.clock.now(), rules=rules, whole_rows=job.work.dry_run, locking=False)
    return ahead if job.work.dry_run else stage_rows(conn, ahead, source)


def _write_chunk(job: Job, rows: Rows, chunk: Chunk, turn: Callable[[], None]) -> CommittedChunk:
    """Write one chunk in one transaction, which locks nothing before its turn; the last one completes the import."""
    work = job.work
    patch, unfit, unchanged = rows.part(chunk)
    values = job.typed.values[chunk.start : chunk.stop]
    source = values.select("row", import_sheet="sheet", import_line="line")
    with job.pool.company(work.company_id) as conn:
        with job.preparing, tracing.span("import.grade"):
            ahead = _prepare_ahead(conn, job, patch, source)
            told_ahead = [] if ahead is None else list(warnings_of(ahead))
        turn()
        if work.answers is not None:  # few rows, and what is theirs has to be locked before it is judged
            patch, conflicts = _without_changed(conn, patch, work.answers)
            unfit += conflicts
        now = job.clock.now()
        writer = Actor(work.company_id, work.origin, now)
        with tracing.span("import.store"):
            outcome, counts, unkept = beside.write_rows(
                conn, work, writer, patch, values, rule_set=job.rulesets.active(conn), unfit=unfit, ahead=ahead
            )
        faults = report.writer_faults([*unfit, *outcome.errors], values, job.upload, work)
        unnamed = report.missing_names(conn, job.typed, chunk.faults)
        report.store(conn, work, pl.concat([chunk.faults.select(faults.columns), unnamed, faults]))
        told = told_ahead if ahead is not None and outcome.merged is ahead.merged else warnings_of(outcome)
        report.add(conn, work, [*told, *unkept], values, job.upload, first=chunk.start == 0)
        if work.dry_run:
            _store_preview(conn, job, chunk, outcome, unchanged)
        counts["unchanged"] += unchanged.total()
        counts["rejected"] = values.height - unchanged.total() - len(outcome.merged) + chunk.rejected
        claims.advance(
            conn,
            job.claim,
            start=chunk.start,
            stop=chunk.stop,
            rows_done=chunk.rows_done,
            counts=counts,
            at=job.clock.now(),
        )
        if chunk.last:
            complete(conn, job.claim, work, now)
    job.pool.stamp(work.company_id)
    grades: Counter[str | None] = Counter(outcome.merged["recyclability_grade"])
    grades.update(unchanged)
    return CommittedChunk(counts, grades, outcome.seconds)


def _store_preview(conn: Connection, job: Job, chunk: Chunk, outcome: Prepared, unchanged: Mapping[str, int]) -> None:
    """Store what a dry run foresees so far, and with its last chunk the figures.

    These stay away where an earlier run was lost with its process: what its chunks would write is known no more.
    """
    work = job.work
    seen = report.add_grades(queries.stored_preview(conn, work.id), report.foreseen_grades(outcome, unchanged))
    job.foreseen[chunk.start] = report.portfolio_of(outcome.merged)
    if chunk.last and not work.position:
        snapshot = snapshots.current(job.data_dir, work.company_id)
        written = list(job.foreseen.values())
        figures = report.foreseen_figures(conn, snapshot, written, job.rulesets.active(conn), job.clock.today())
        seen = {**seen, **figures}
    queries.store_preview(conn, work.id, seen)


_CHANGED: Final = Message(
    "Somebody has changed this SKU since the file was imported, and an answer overwrites nothing of theirs. Compare "
    "the line with the SKU, and write what is right there, or send the file again."
)
_OF_ONE_SUBSTANCE: Final = tuple(
    {LEGACY[substance], *(name for name in COLUMNS if name.startswith(f"{substance}_"))} for substance in SUBSTANCES
)
"""Columns that are read together: half of an entry would be judged without the other half."""


def rows_due(
    pool: Pool, objects: Objects, work: Work, typed: TypedRows, read: Callable[[Callable[[], BinaryIO]], TypedRows]
) -> TypedRows:
    """Return the rows that an import writes: of an answer those that were held back, of any other all that are typed.

    `read` types the rows of a packed table.
    """
    if work.answers is None:
        return typed
    before = read(partial(objects.file, work.before_key))
    with pool.company(work.company_id) as conn:
        rejected = queries.rejected_codes(conn, work.id)
    return held_back(typed, before, rejected)


def held_back(typed: TypedRows, before: TypedRows, rejected: Collection[str]) -> TypedRows:
    """Return the rows as the answer writes them: the fields that `before` did not give, or gave otherwise.

    `before` are the rows that the import has written, except those of the codes `rejected`.
    """
    codes = typed.values.select("sku_code")
    written = before.values.filter(~pl.col("sku_code").is_in(list(rejected)))
    flags = before.presence.filter(~before.values["sku_code"].is_in(list(rejected)))
    names = [name for name in typed.presence.columns if name != "sku_code"]
    written_names = [name for name in names if name in written.columns]
    was = codes.join(written.select("sku_code", *written_names), on="sku_code", how="left", maintain_order="left")
    was_given = codes.join(
        flags.with_columns(written["sku_code"]).select("sku_code", *written_names),
        on="sku_code",
        how="left",
        maintain_order="left",
    )
    values, presence = typed.values, typed.presence
    fresh: dict[str, pl.Series] = {}
    for name in names:
        if name not in written_names:
            fresh[name] = presence[name]
            continue
        old = was[name].cast(values[name].dtype, strict=False)
        stored = was_given[name].fill_null(value=False)
        if name == "volumes":
            values = values.with_columns(volumes=_new_units(values[name], old))
            fresh[name] = presence[name] & values[name].is_not_null()
        else:
            fresh[name] = presence[name] & ~(stored & values[name].eq_missing(old))
    fresh |= _whole_substances(fresh, presence)
    due = pl.DataFrame(fresh).select(pl.any_horizontal(pl.all())).to_series() if fresh else presence["sku_code"] & False
    values = values.with_columns(pl.when(flag).then(values[name]).alias(name) for name, flag in fresh.items())
    values = values.filter(due).with_columns(row=pl.int_range(pl.len(), dtype=pl.Int64))
    presence = presence.with_columns(flag.alias(name) for name, flag in fresh.items()).filter(due)
    return TypedRows(values, presence, typed.errors, typed.rejected, typed.unnamed)


def _whole_substances(fresh: Mapping[str, pl.Series], presence: pl.DataFrame) -> dict[str, pl.Series]:
    """Return the columns of each substance, given where any of them is."""
    whole: dict[str, pl.Series] = {}
    for columns in _OF_ONE_SUBSTANCE:
        if of_one := [name for name in fresh if name in columns]:
            some = pl.DataFrame([fresh[name] for name in of_one]).select(pl.any_horizontal(pl.all())).to_series()
            whole |= {name: presence[name] & some for name in of_one}
    if (source := "substances_source") in fresh and whole:
        any_of = pl.DataFrame([flag.alias(name) for name, flag in whole.items()])
        whole[source] = presence[source] & any_of.select(pl.any_horizontal(pl.all())).to_series()
    return whole


def _new_units(texts: pl.Series, before: pl.Series) -> pl.Series:
    """Return the units by market and period that were not read before; null where there are none."""
    units = [_other_units(text, old) for text, old in zip(texts, before, strict=True)]
    return pl.Series(texts.name, units, dtype=pl.String)


def _other_units(text: str | None, before: str | None) -> str | None:
    if text is None or before is None or text == before:
        return None if text == before else text
    units_before = loads(before)
    new = {key: units for key, units in loads(text).items() if key not in units_before or units_before[key] != units}
    return dumps(new, sort_keys=True, separators=(",", ":")) if new else None


def _without_changed(conn: Connection, patch: Patch, import_id: UUID) -> tuple[Patch, list[RowIssue]]:
    """Return an answer's patch without the SKUs that somebody has changed since the import, and their rows' faults."""
    changed = queries.changed_since(conn, patch.values["sku_code"], import_id)
    codes = zip(patch.values["row"], patch.values["sku_code"], strict=True)
    rows = [row for row, code in codes if code in changed]
    return patch.without(rows), [RowIssue(row, Issue("version_conflict", _CHANGED, "sku_code")) for row in rows]
