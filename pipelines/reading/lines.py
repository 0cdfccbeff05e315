"""Finds the lines below a header that are no data, and asks about those that may be none; finds further headers.

Examples, help, totals, notes, a repeated header are left out of the table and its counts, and listed in
`source.skipped` with the reason: only where a word identifies them (`words.csv`, vocabulary `line`), or where a line is
directly below the header, is written like help, and every typed cell of it would be refused. A total is known by its
word, or in any language by its figures: each is the sum of those above. A word alone is not enough where a line has
code and name: Total makes oil.

After an empty line, a block of lines that fill only the code and the name says nothing of a packaging, in a table whose
other lines do: legends, versions, lists of codes are asked about (decisions §13); a code such as `n/a` or the mark of a
footnote is none wherever it stands. Anything else that is odd about a line is a fault of its row.

A further header, as of files that were put one below the other, that means the same columns is only left out. One that
means others, or the same ones in another order or unit, begins another table: its lines are rejected, since read by the
first header they would say something false. Where the first header comes again, its lines are read again.
"""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache, reduce
from itertools import groupby, pairwise
from operator import or_
from typing import Final

import polars as pl

from pipelines.reading.column_values import codes_in, of_several
from pipelines.reading.columns import recognise
from pipelines.reading.grammar import word_roles
from pipelines.reading.grid import (
    LINES_OF_SHEET,
    Cells,
    Column,
    Grid,
    LineFault,
    Sums,
    Table,
    own_line,
    repeated,
    sheet_starts,
)
from pipelines.reading.header import REQUIRED_FIELDS, Header, recognised_fields
from pipelines.reading.mapping import MappedLines
from pipelines.reading.questions import question
from pipelines.reading.values import read_numbers, read_values
from schemas.imports.types import Asked
from schemas.messages import Message, message_of
from schemas.words import code_of, fold, headers, pattern_of, words

HELP_ROWS = 5
"""Lines below the header that are searched for help: flags, formats and field ids rarely fill more than three."""
_HELP_CELLS = 40
"""Cells of a line that decide whether it is help; further cells are not examined."""
MOST_LISTED = 200
_TYPED = ("number", "integer", "ppm", "truth", "code", "codes", "markets", "gtin", "uuid")
_READABLE = ("ambiguous_number", "value_range", "digits_lost", "out_of_range", "cell_error")
"""Faults of cells that were meant as a value."""

_FORMAT = re.compile(r"(?:[MKOCRP]\s*+[-/,;]?+\s*+)?(?:an|a|n)\s?(?:\.\.)?\s?\d{1,4}(?:[.,]\d{1,2})?", re.IGNORECASE)
"""A format as EDI guides write it, behind a flag or not: `an35`, `n..6`, `n6,2`, `M an..17`."""

NOTHING_READ = Message("no recognised column has a value")
EXAMPLE = Message("an example, by its word")
TOTAL = Message("a total or an average, by its word")
SUM = Message("a total: each of its figures is the sum of those above")
NOTE = Message("a note: nothing but a remark")
HELP = Message("help for the columns, below the header")
REPEATED = Message("the header once more")
SAME_PART = Message("the same part once more, of another nation or period")
STRUCK = Message("crossed out: every cell of the line is")
HEADING = Message("one text alone, as a heading of the lines below")
OTHER_HEADER = Message("another header: the lines below it are rejected")


def find_skipped(
    cells: pl.DataFrame, columns: Sequence[Column], label: pl.Series | None, *, titled: bool, starts: Sequence[int] = ()
) -> dict[str, pl.Series]:
    """Return for each reason a boolean for each row of `cells`, which has a column under each column's name.

    `label` is the first column of the sheet where no field is read from it: people write `Total` there. Where it is
    `titled` its cells may be values, so they are searched only for words such as `Total` and `Example`. `starts` are
    the rows at which a further sheet begins: it has help below its header and totals of its own.
    """
    code = cells["sku_code"]
    nothing = repeated(None, len(code), pl.String)
    name, label = cells.get_column("name", default=nothing), nothing if label is None else label
    others = cells.select(pl.any_horizontal(False, pl.exclude("sku_code", "name").is_not_null())).to_series()
    only_code, only_name = code.set(others, None), name.set(others, None)  # a note gives no more
    no_code, no_name = code.is_null(), name.is_null()
    example = _has_word(code, *_EXAMPLES) | _has_word(label, *_EXAMPLES) | _has_word(name, "example")
    sign = _has_word(only_code, "signature")
    note = (_has_word(only_code, "note") & no_name) | (_has_word(only_name, "note") & no_code)
    title = _has_word(code.set(~no_name, None), "title")
    is_total, named_total = _has_word(code, "total"), _has_word(name, "total")
    letters = _has_word(name.set(~is_total, None), "letter")
    neither = no_code & no_name
    # A total's word is in place of the code, or is the name or label of a line without code.
    totals = (is_total & (~letters | named_total)) | (no_code & (named_total | _has_word(label, "total")))
    wordy = _wordy_lines(cells, columns)
    if (unnamed := wordy & no_name).any():
        totals |= _has_word(code.set(~unnamed, None), "total_of")
    return {
        NOTHING_READ: neither & ~others,
        EXAMPLE: _with_lines_below(example, neither),
        TOTAL: totals | _find_sums(cells, columns, is_total & ~totals, totals, starts),
        SUM: _find_sums(cells, columns, wordy & ~totals, totals, starts),
        REPEATED: _repeated_headers(cells, columns),
        HELP: pl.concat(
            help_lines(cells[start:end], columns, (nothing if titled else label)[start:end])
            for start, end in pairwise([0, *starts, len(code)])
        ),
        NOTE: _note_lines(note | sign, sign, others) | title,
    }


def skipped_lines(
    lines: pl.Series, reasons: dict[str, pl.Series], further: Sequence[tuple[int, str]] = ()
) -> tuple[tuple[int, str], ...]:
    """Return the lines left out, in their order, each with its first reason; the last entry counts any more lines.

    `further` are lines that were left out before.
    """
    by_line: dict[int, str] = dict(further)
    for reason, where in reasons.items():
        for line in lines.filter(where):
            by_line.setdefault(int(line), reason)
    ordered = sorted(by_line.items())
    if len(ordered) > MOST_LISTED:
        more = len(ordered) - MOST_LISTED - 1
        ordered = [
            *ordered[:MOST_LISTED],
            (ordered[MOST_LISTED][0], Message("and {count} more lines below that are no data", count=more)),
        ]
    return tuple(ordered)


def _with_lines_below(is_example: pl.Series, is_nothing: pl.Series) -> pl.Series:
    """Return the lines of examples, and the lines of their parts below them, which have no code and no name."""
    if not is_example.any():
        return is_example
    return is_example.set(is_nothing & ~is_example, None).forward_fill().fill_null(value=False)


def _note_lines(notes: pl.Series, signs: pl.Series, others: pl.Series) -> pl.Series:
    """Return the lines that are a remark alone, a note's word, a colon, a sentence: `notes`, and answers to `signs`.

    Lines below a signature's titles count as well, where only such lines follow: only in a table that gives `others`
    than codes and names, since in another table such a line may as well be a row.
    """
    rows = others.arg_true()
    if not len(rows) or not signs.any():
        return notes
    first = next((at for at in signs.arg_true() if at > rows[-1]), len(notes))
    return notes | (pl.int_range(len(notes), eager=True) >= first)


def _repeated_headers(cells: pl.DataFrame, columns: Sequence[Column]) -> pl.Series:
    """Find lines whose key cells repeat the headers; the table must have at least two key columns.

    Only headers of two lines come here: the others are found by `pipelines.reading.header`.
    """
    nothing = repeated(value=False, height=cells.height)
    own = [column for column in columns if column.name in ("sku_code", "name", "component_type")]
    if len(own) < 2:
        return nothing
    return reduce(lambda all_of, column: all_of & (cells[column.name] == column.header), own, ~nothing).fill_null(False)


def help_lines(cells: pl.DataFrame, columns: Sequence[Column], label: pl.Series) -> pl.Series:
    """Find the lines directly below the header, up to the first data line, that describe the columns."""
    top = list(cells.head(HELP_ROWS).select(column.name for column in columns).iter_rows())
    flags = []
    for row, first in zip(top, label.head(HELP_ROWS), strict=True):
        filled = [(column, cell) for column, cell in zip(columns, row, strict=True) if cell is not None]
        filled = filled[:_HELP_CELLS]
        helps = _is_help_line(filled) or (first is not None and _is_help_text(first))
        if not helps and not any(text and example_word().search(text) for text in (*row[:2], first)):
            break
        flags.append(helps)
    return pl.Series([*flags, *[False] * (cells.height - len(flags))], dtype=pl.Boolean)


def _is_help_line(filled: list[tuple[Column, str]]) -> bool:
    texts = [cell for _, cell in filled]
    if not texts:
        return False
    if all(map(_is_help_text, texts)) and (len(texts) > 2 or any(len(_without_digits(text)) > 1 for text in texts)):
        return True  # the condition excludes two single letters, which may be a code and a name
    triples = [(column, cell, recognise(cell, 0, column.table)) for column, cell in filled]
    if len(filled) > 1 and all(
        fold(cell) == fold(column.header) or (own is not None and own.name == column.name)
        for column, cell, own in triples
    ):
        return True  # the headers of the columns once more, in any language
    typed = [(column, cell) for column, cell in filled if column.field.kind in _TYPED]
    faults = (read_values(pl.Series([cell]), column, None, None).faults for column, cell in typed)
    if not typed or any(not of_cell.height or of_cell["code"][0] in _READABLE for of_cell in faults):
        return False  # a cell is a value of its column, or was meant to be one
    shapes = {"".join("0" if c.isdigit() else c for c in cell) for cell in texts}
    mostly_help = sum(map(_is_help_text, texts)) * 2 >= len(texts)
    return mostly_help or (len(texts) > 2 and len(shapes) == 1) or len(texts[0].split()) > 3


def _is_help_text(cell: str) -> bool:
    """Return whether a cell is a word of help, alone, beside digits (`Text (255)`), or followed by an explanation.

    A word for no answer is no help: `k.A.` is no `K` for optional.
    """
    if code_of(cell, "no_answer") is not None:
        return False
    if _FORMAT.fullmatch(cell.strip()):
        return True
    start = fold(cell.replace("\n", ".").split(".")[0].split(":")[0])
    return code_of(_without_digits(cell), "line") == "help" or (
        start != fold(cell) and code_of(start, "line") == "help"
    )


def _without_digits(cell: str) -> str:
    """Return a cell folded, without digits."""
    return "".join(c for c in fold(cell) if not c.isdigit()).strip()


def _has_word(texts: pl.Series, *kinds: str) -> pl.Series:
    """Return which texts have a word of one of the kinds; its long pattern is made only where there is a text.

    It is made in this thread alone, since each thread would keep its own tables of it.
    """
    if texts.null_count() == len(texts):
        return repeated(value=False, height=len(texts))
    found = pl.any_horizontal(pl.first().str.contains(_pattern(kind)) for kind in kinds)
    return texts.to_frame().select_seq(found.fill_null(value=False)).to_series()


@cache
def example_word() -> re.Pattern[str]:
    """Return the pattern of a word for an example."""
    return re.compile(_pattern("example"))


_PATTERNS: Final = {
    # `EXAMPLE-001`, `Exemple :`, `Beispiel: Flasche`, `Bottle (example)`; not `Example Street bottle`.
    "example": r"(?i)^[\W_]*(?:WORD)(?:[\W_\d]*$|\s*:)|[(\[](?:WORD)[)\]]\W*$",
    # `Ex. : 12345`, `e.g. 12345`, `z. B. 12345`; not `EX-001`.
    "short_example": r"(?i)^\W*(?:WORD)\s*(?::|\.(?:\s|$|:))",
    # `Total`, `Summe:`, `Total 2026`, `Total (g)`; not `Total Quartz oil`.
    # So are the signs of a sum and of an average alone, `Σ`, `Ø`; `Ø63` is a diameter.
    "total": r"(?i)^[\W_]*(?:WORD)(?:[\W_\d]*$|\s*[:=(])|^\s*[Σ∑⌀Ø∅][\W_]*$",
    "total_of": r"(?i)^[\W_]*(?:WORD)\b",  # `Zwischensumme Glas` in place of a code
    # A note's word, a colon, a sentence.
    "note": r"(?i)^[\W_]*(?:WORD)\b|:(?:\s|$)|(?:\S+\s+){5,}\S",
    # `Prepared by`, `Place, date`, `Ort / Datum:`, `Date: 1 February`; not `Date-01`, which may be a code. It is a
    # note's word, or several with a comma, a stroke or a word for `and` between them.
    "signature": r"(?i)^[\W_]*(?:WORD)(?:[\W_]+(?:(?:and|et|und|y|e|en)\s+)?(?:WORD)){0,3}(?:[\W_]*$|\s*:\s)",
    # `Visa fournisseur :`, which has its answer or the next title beside it.
    "title": r"\p{L}\s*:\s*$",
    "letter": r"\p{L}",
}
"""Texts with a word of each kind, `WORD`, or with what their pattern says."""
_EXAMPLES: Final = ("example", "short_example")


@cache
def _pattern(kind: str) -> str:
    """Return the pattern of a kind with its words, which are folded: they also match with accents."""
    code = {"signature": "note", "total_of": "total"}.get(kind, kind)
    listed = sorted((word for word, of in words("line").items() if of == code), key=len, reverse=True)
    return _PATTERNS[kind].replace("WORD", "|".join(map(pattern_of, listed)))


BY_MAPPING: Final = Message("left out by the mapping")
OPEN: Final = Message("asked about: it may be no row")
_KEYS: Final = ("sku_code", "name")
NO_CODE: Final = re.compile(r"\A[*†‡¹²³⁰-⁹]|\A[(\[]?\w{1,2}[)\]](?:\Z|\s)|:\s*\Z")
"""Finds what is no code beside nothing but a name: the mark of a footnote (`*`, `1)`), a title (`Source:`)."""
_LONGEST_TEXT: Final = 200


def with_answered_lines(
    reasons: dict[str, pl.Series],
    body: Grid,
    cells: pl.DataFrame,
    answers: Sequence[MappedLines],
    *,
    columns: Sequence[Column],
    sheets: Sequence[str | None],
    table: Table,
) -> tuple[dict[str, pl.Series], list[Asked], dict[int, LineFault]]:
    """Return the lines that are left out by reason, those of the mapping and those asked about too, and the questions.

    Rows that are asked about are faults, by their place: a graph without one would be too light. `reasons` are those of
    `find_skipped`; `cells` has the `columns` of the lines of `body`, on these `sheets`.
    """
    answered = repeated(value=False, height=len(body.lines))
    if table == "sku":
        reasons = {**reasons, HEADING: _headings(cells, reduce(or_, reasons.values()), body.cells_given)}
    if body.struck:
        reasons = {STRUCK: body.lines.is_in(list(body.struck)), **reasons}
    for answer in answers:
        told = (body.lines % LINES_OF_SHEET).is_between(answer.first, answer.last)
        if answer.sheet is not None:
            told &= (body.lines // LINES_OF_SHEET).is_in([at for at, name in enumerate(sheets) if name == answer.sheet])
        answered |= told
        reasons = {reason: lines & ~told for reason, lines in reasons.items()}
        reasons[BY_MAPPING] = reasons.get(BY_MAPPING, told & False) | (told & (not answer.read))
    out = reduce(or_, reasons.values())
    blocks = _blocks(body, cells, out, answered) if table == "sku" else ()
    legends = [[*range(start, end)] for start, end in blocks]
    reasons[OPEN] = (answered & False).scatter([row for rows in legends for row in rows], values=True)
    questions = [_question(body, rows, _LEGEND, sheets, table) for rows in legends]
    struck = {line for line, at in body.struck_cells if any(column.position == at for column in columns)}
    faults: dict[int, LineFault] = {}
    for lines, why in ((body.lines.is_in(list(struck)), _STRUCK_CELLS), (of_several(cells["sku_code"]), _CODES)):
        if rows := (lines & ~out & ~answered).arg_true().to_list():
            questions.append(_question(body, rows, why, sheets, table))
            for row, code in zip(rows, cells["sku_code"].gather(rows).str.strip_chars(), strict=True):
                about = message_of(questions[-1]["message"])
                faults[row] = LineFault(int(body.lines[row]), "invalid_format", about, code, code, codes_in(code))
    return reasons, questions, faults


def _headings(cells: pl.DataFrame, skipped: pl.Series, given: Callable[[], pl.Series]) -> pl.Series:
    """Return the lines above others that have one text alone: a name, or a code that has no digit, or a space.

    Such a line says of which group those below are, whose codes are not so, or which all have a name. A text that fills
    three cells or more is such a heading, too. `given` counts cells.
    """
    code = cells["sku_code"]
    name = cells.get_column("name", default=repeated(None, len(code), pl.String))
    if cells.width <= len(_KEYS):
        return skipped & False
    filled = skipped & False
    if (repeats := (code == name) & ~skipped).any():
        others = cells.select(pl.all_horizontal(pl.all().is_null() | (pl.all() == code))).to_series()
        count = cells.select(pl.sum_horizontal(pl.all().is_not_null())).to_series()
        filled = (repeats & others & (count >= _SPREAD) & ~code.str.contains(r"\d")).fill_null(value=False)
    if not ((code.is_null() | name.is_null()) & ~skipped).any():
        return filled
    alone = (given() == 1) & ~skipped & (code.is_not_null() | name.is_not_null())
    has_digit, has_space = code.str.contains(r"\d"), code.str.strip_chars().str.contains(r"\s")
    others = code.is_not_null() & ~alone & ~filled & ~skipped
    wordy = ~has_digit & (has_digit.filter(others).all() or not name.filter(others).null_count())
    unlike = wordy | (has_space & (not has_space.filter(others).any()))
    above = (~alone & ~skipped).reverse().cum_sum().reverse() > 0
    few = 2 * int((alone & above).sum()) <= len(alone) or bool(others.any() and has_digit.filter(others).all())
    return filled | (alone & above & few & others.any() & (name.is_not_null() | unlike.fill_null(value=False)))


_GROUP_NUMBER: Final = r"^\s*\p{L}+\s+\d+\s*$"
"""The number of a group of lines, `WG 10`, above codes that begin with no letter."""
_LETTER_FIRST: Final = r"^\s*\p{L}"
_SPREAD: Final = 3
"""Fewest cells that one text fills as a heading: fewer may be a code that is its name."""


def _blocks(body: Grid, cells: pl.DataFrame, skipped: pl.Series, answered: pl.Series) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each run of lines that may be no rows."""
    keys = [name for name in _KEYS if name in cells.columns]
    if any(not cells[name].null_count() for name in cells.columns if name not in keys):
        return  # no line has only the keys
    of_keys = cells.select(pl.sum_horizontal(pl.col(keys).is_not_null())).to_series()
    bare = (body.cells_given() == of_keys) & ~skipped
    if not bare.any() or not (~bare & ~skipped).any():
        return
    codes = cells["sku_code"].set(~bare, None)
    words = {code for code in codes.drop_nulls().unique() if NO_CODE.search(code) or code_of(code, "no_answer")}
    bounds = [0, *_starts(body), len(bare)]
    others = cells["sku_code"].set(bare | skipped, None)
    above = others.is_not_null().reverse().cum_sum().reverse() > 0
    numbered = codes.str.contains(_GROUP_NUMBER) & above & (2 * bare.sum() < len(bare))
    numbered &= not others.str.contains(_LETTER_FIRST).any()
    odd = codes.is_in(list(words)) | numbered | _wordy_end(cells["sku_code"], bare, skipped)
    odd = odd.fill_null(value=False)
    rows = list(zip(bare.to_list(), skipped.to_list(), answered.to_list(), odd.to_list(), strict=True))
    alone = [
        start > 0
        and all((no_more or out) and not told for no_more, out, told, _ in rows[start:end])
        and any(no_more for no_more, *_ in rows[start:end])
        for start, end in pairwise(bounds)
    ]
    for (start, end), block in zip(pairwise(bounds), alone, strict=True):
        if not block:
            yield from _runs([bool(none) and not told for *_, told, none in rows[start:end]], start)
    further = sheet_starts(body.lines)
    for first, last in _runs(alone, 0):
        start, end = bounds[first], bounds[last]
        yield from pairwise([start, *(row for row in further if start < row < end), end])


def _wordy_end(codes: pl.Series, bare: pl.Series, skipped: pl.Series) -> pl.Series:
    """Return the bare lines at the end whose codes have no digit, below lines that all give more, codes with digits."""
    wordy = bare & ~codes.str.contains(r"\d").fill_null(value=True)
    others = codes.filter(~wordy & ~skipped).drop_nulls()
    regular = others.len() >= _FEWEST and others.str.contains(r"\d").all() and not (bare & ~wordy & ~skipped).any()
    end = (~(wordy | skipped)).reverse().cum_sum().reverse() == 0
    return wordy & ~skipped & end & regular


def _runs(marked: Sequence[bool], start: int) -> Iterator[tuple[int, int]]:
    """Yield the runs of marked lines."""
    for mark, run in groupby(marked):
        end = start + len(list(run))
        if mark:
            yield start, end
        start = end


def _starts(body: Grid) -> list[int]:
    """Return the rows before which a line is empty; a line break within a cell of the row above is none."""
    faults, starts = {fault.line for fault in body.faults}, []
    for row in (body.lines.diff() > 1).fill_null(value=False).arg_true():
        breaks = sum(max(cell.count("\n"), cell.count("\r")) for cell in body.cells.row(row - 1) if cell is not None)
        between = range(int(body.lines[row - 1]) + 1 + breaks, int(body.lines[row]))
        if any(line not in faults for line in between):
            starts.append(row)
    return starts


_LEGEND: Final = Message("no more than a code and a name, as in a legend")
_STRUCK_CELLS: Final = Message("a cell that is crossed out, beside others that are not")
_CODES: Final = Message("several codes in one cell, where each needs a line of its own")


def _question(body: Grid, rows: Sequence[int], why: Message, sheets: Sequence[str | None], table: Table) -> Asked:
    of_run = [(row - at, body.lines[row] // LINES_OF_SHEET) for at, row in enumerate(rows)]
    runs = [[*run] for _, run in groupby(zip(of_run, rows, strict=True), lambda pair: pair[0])]
    places = {}
    for (_, start), *_, (_, end) in (run * 2 for run in runs):
        first, last = own_line(body.lines[start]), own_line(body.lines[end])
        lines = str(first) if first == last else f"{first}-{last}"
        places[lines if len(sheets) < 2 else f"{sheets[body.lines[start] // LINES_OF_SHEET]}!{lines}"] = lines
    text = " | ".join(cell for cell in body.cells.row(rows[0]) if cell is not None)[:_LONGEST_TEXT]
    said = Message(
        "Not read, line {lines}: {why}. Correct the file, or say whether these lines are rows as they stand: "
        "mapping={mapping}, or read.",
        lines=", ".join(places)[:_LONGEST_TEXT],
        why=why,
        mapping={"lines": dict.fromkeys(places, "skip")},
    )
    about = {"sheet": sheets[of_run[0][1]], "lines": ", ".join(places.values())[:_LONGEST_TEXT], "text": text}
    return question("lines", said, could_be=("skip", "read"), of_components=table == "component", **about)


_FEWEST: Final = 2
"""Fewest lines with a code that show how the codes of a table are written."""
_MOST: Final = 100
"""Most totals that a table has."""
_KINDS: Final = ("number", "integer")


def _find_sums(
    cells: pl.DataFrame, columns: Sequence[Column], likely: pl.Series, totals: pl.Series, starts: Sequence[int]
) -> pl.Series:
    """Return the `likely` lines whose every figure is the sum of its column, from the top or from the last total.

    `totals` are lines that are known to be totals, `starts` rows at which sums begin anew, as a further sheet does. A
    line without a figure, or with more than figures, is no total, and such a line that is likely by its code alone
    counts among those that are summed up.
    """
    numbers = [column for column in columns if column.field.kind in _KINDS]
    nothing = repeated(value=False, height=len(likely))
    if not likely.any() or not numbers:
        return nothing
    figures = {
        (column.name, mark): read_numbers(cells[column.name], column, mark, None).values.cast(pl.Float64)
        for column in numbers
        for mark in ".,"
    }
    sums = {key: Sums(values.set(totals, None)) for key, values in figures.items()}
    sums_at, begun = [], list(starts)
    for at in (likely | totals).arg_true():
        while begun and begun[0] <= at:
            start = begun.pop(0)
            for of_column in sums.values():
                of_column.begin(start - 1)
        names = [column.name for column in numbers if cells[column.name][at] is not None]
        fits = all(any(sums[name, mark].fit(at, figures[name, mark][at]) for mark in ".,") for name in names)
        if totals[at] or (names and fits):
            sums_at += [] if totals[at] else [at]
            for key, of_column in sums.items():
                of_column.leave_out(at, 0.0 if totals[at] else figures[key][at])
    return nothing.scatter(sums_at, values=True)


def _wordy_lines(cells: pl.DataFrame, columns: Sequence[Column]) -> pl.Series:
    """Return the lines that give figures under a code without a digit, below lines whose codes all have one."""
    bare = ~cells["sku_code"].str.contains(r"\d").fill_null(value=True)
    first = bare.arg_max()
    if not 0 < bare.sum() <= _MOST or first is None or cells["sku_code"].head(first).drop_nulls().len() < _FEWEST:
        return bare & False
    texts = [c.name for c in columns if c.name not in _KEYS and c.field.kind not in _KINDS]
    return bare & cells.select(~pl.any_horizontal(pl.lit(value=False), pl.col(texts).is_not_null())).to_series()


_UNIT: Final = r"\((?:k?g|mg|%)\)"
_YEAR: Final = re.compile(r"\b(?:19|20)\d\d\b(?!\s*$)|(?<=\w)\s(?:19|20)\d\d$|\b[HQS][1-4]\b")


def of_one_table(
    body: Grid, header: Header, table: Table, helping: Collection[int]
) -> tuple[Grid, tuple[tuple[int, str], ...]]:
    """Return the lines that the header describes, and the lines of further headers with the reason they are left out.

    Lines below another header are faults. Rows that help, directly below the header, stay: they name its columns once
    more.
    """
    if header.line == 0 or header.line != header.last_line:  # no header, or one of two lines, of which each is a part
        return body, ()
    rows = {at: body.row(at) for at in _candidates(body, header, table) if at not in helping}
    code_at = next((column.position for column in header.columns if column.name == "sku_code"), None)
    headers_at = {at: row for at, row in rows.items() if _is_header(row, code_at, table)}
    if not headers_at:
        return body, ()
    same = {at: _is_same(row, header, table) for at, row in headers_at.items()}
    left_out = set(headers_at)
    faults: list[LineFault] = []
    starts = sorted(headers_at)
    for at, end in zip(starts, [*starts[1:], body.cells.height], strict=True):
        if not same[at]:
            faults += _faults(body, range(at + 1, end), headers_at[at], int(body.lines[at]), table)
            left_out.update(range(at + 1, end))
    kept = repeated(value=True, height=body.cells.height).scatter(sorted(left_out), values=False)
    further = tuple((int(body.lines[at]), REPEATED if same[at] else OTHER_HEADER) for at in starts)
    return body.where(kept, faults), further


def _candidates(body: Grid, header: Header, table: Table) -> list[int]:
    """Return the rows whose code or name could be a header, by a comparison of whole columns.

    Most people write the known headers in lower case, with spaces or underscores or neither.
    """
    titles = [column.header.strip().casefold() for column in header.columns]
    keys = [column for column in header.columns if column.name in REQUIRED_FIELDS[table]]
    names = {name for column in keys if (name := f"c{column.position}") in body.cells.columns}
    texts = body.cells.select(pl.col(names).str.strip_chars().str.to_lowercase())
    likely = pl.all().is_in(titles) | _known_title(table)
    return texts.select_seq(pl.any_horizontal(likely)).to_series().arg_true().to_list() if names else []


@cache
def _known_title(table: Table) -> pl.Expr:
    things = {word for word, code in words("header_word").items() if code == "thing"}
    titles = {*headers(table), *things}
    ways = {way for name in titles for way in (name, name.replace(" ", "_"), name.replace(" ", ""))}
    return pl.all().is_in(sorted(ways)) | pl.all().str.contains(_UNIT)


def _is_header(row: Cells, code_at: int | None, table: Table) -> bool:
    """Return whether a row has the needed headers, or that of the code in its column, another one, and no number.

    A year in a header is no number: `Units 2025`.
    """
    fields = _fields(row, table)
    if fields.issuperset(REQUIRED_FIELDS[table]):
        return True
    code = row[code_at] if code_at is not None and code_at < len(row) else None
    is_code = code is not None and (_fields([code], table) == {"sku_code"} or word_roles(code) == {"thing"})
    others = fields - {"sku_code"}
    return is_code and bool(others) and not any(c.isdigit() for cell in row if cell for c in _YEAR.sub("", cell))


def _fields(row: Cells, table: Table) -> set[str]:
    return recognised_fields((cell for cell in row if cell is not None), table)


def _is_same(row: Cells, header: Header, table: Table) -> bool:
    """Return whether a header means the same columns, in the same units, at the same places; an empty cell is none."""

    def meaning(column: Column | None) -> object:
        if column is None:
            return None
        return column.field.name, column.factor, column.market, column.year, column.half, column.group

    own = {column.position: column for column in header.columns}
    texts = {**dict(header.ignored), **{at: column.header for at, column in own.items()}}
    return all(
        cell is None
        or fold(cell) == fold(texts.get(at, ""))
        or meaning(recognise(cell, at, table)) == meaning(own.get(at))
        for at, cell in enumerate(row)
    )


def _faults(body: Grid, rows: range, row: Cells, line: int, table: Table) -> list[LineFault]:
    """Return a fault for each row below another header; its code is read by that header."""
    message = Message(
        "Line {line} is another header, with other columns or in another order than the first: this line cannot be "
        "read by the first. Send the lines below it as a file of their own.",
        line=line,
    )
    key = next((at for at, cell in enumerate(row) if cell and _fields([cell], table) == {"sku_code"}), None)
    faults = []
    for at in rows:
        cells = body.row(at)
        code = None if key is None else cells[key]
        text = " | ".join(cell or "" for cell in cells)[:_LONGEST_TEXT]
        faults.append(LineFault(int(body.lines[at]), "ambiguous_column", message, text, code and code.strip()))
    return faults
