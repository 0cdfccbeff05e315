"""Finds the lines below a header that are no data: examples, help texts, totals, notes, a repeated header.

They are left out of the table and its counts, and listed in `source.skipped` with the reason. A line is left out only
where a word identifies it (`words.csv`, vocabulary `line`), or where it is directly below the header, is written like
help, and every typed cell of it would be refused. Anything else that is odd about a line is a fault of its row.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache, reduce
from itertools import pairwise
from operator import or_

import polars as pl

from pipelines.reading.columns import recognise
from pipelines.reading.fields import Column
from pipelines.reading.sums import find_sums, wordy
from pipelines.reading.values import read_values
from schemas.messages import Message
from schemas.words import code_of, fold, words

HELP_ROWS = 5
"""Lines below the header that are searched for help: flags, formats and field ids rarely fill more than three."""
_HELP_CELLS = 40
"""Cells of a line that decide whether it is help; further cells are not examined."""
MOST_LISTED = 200
_TYPED = ("number", "integer", "ppm", "truth", "code", "codes", "markets", "gtin", "uuid")
_READABLE = ("ambiguous_number", "value_range", "digits_lost", "out_of_range", "cell_error")
"""Faults of cells that were meant as a value."""
_ACCENTED = {
    "a": "[aàáâä]",
    "c": "[cç]",
    "e": "[eèéêë]",
    "i": "[iìíîï]",
    "n": "[nñ]",
    "o": "[oòóôö]",
    "u": "[uùúûü]",
    " ": r"[\W_]+",
}

_FORMAT = re.compile(r"(?:[MKOCRP]\s*+[-/,;]?+\s*+)?(?:an|a|n)\s?(?:\.\.)?\s?\d{1,4}(?:[.,]\d{1,2})?", re.IGNORECASE)
"""A format as EDI guides write it, behind a flag or not: `an35`, `n..6`, `n6,2`, `M an..17`."""

NOTHING_READ = Message("no recognised column has a value")
EXAMPLE = Message("an example, by its word")
TOTAL = Message("a total, by its word")
SUM = Message("a total: each of its figures is the sum of those above")
NOTE = Message("a note: nothing but a remark")
HELP = Message("help for the columns, below the header")
REPEATED = Message("the header once more")
SAME_PART = Message("the same part once more, of another nation or period")
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
    name = cells["name"] if "name" in cells.columns else pl.repeat(None, len(code), dtype=pl.String, eager=True)
    nothing = pl.repeat(None, len(code), dtype=pl.String, eager=True)
    label = nothing if label is None else label
    others = cells.select(pl.any_horizontal(False, pl.exclude("sku_code", "name").is_not_null())).to_series()
    is_total = _matches(code, _total_pattern())
    totals = _total_lines(is_total, code, name, label)
    alone = (code.set(others, None), name.set(others, None))  # no line that gives more is a note
    return {
        NOTHING_READ: code.is_null() & name.is_null() & ~others,
        EXAMPLE: _example_lines(code, name, label),
        TOTAL: totals | find_sums(cells, columns, is_total & ~totals, totals, starts),
        SUM: find_sums(cells, columns, wordy(cells, columns) & ~totals, totals, starts),
        REPEATED: _repeated_headers(cells, columns),
        HELP: pl.concat(
            help_lines(cells[start:end], columns, (nothing if titled else label)[start:end])
            for start, end in pairwise([0, *starts, len(code)])
        ),
        NOTE: _note_lines(*alone, others) | _matches(code.set(name.is_not_null(), None), _TITLE),
    }


def skipped_lines(
    lines: pl.Series, reasons: dict[str, pl.Series], further: Sequence[tuple[int, str]] = ()
) -> tuple[tuple[int, str], ...]:
    """Return the lines left out, in their order, each with its first reason; the last entry counts any more lines.

    `further` are lines that were left out before.
    """
    found: dict[int, str] = dict(further)
    for reason, where in reasons.items():
        for line in lines.filter(where):
            found.setdefault(int(line), reason)
    ordered = sorted(found.items())
    if len(ordered) > MOST_LISTED:
        more = len(ordered) - MOST_LISTED - 1
        ordered = [
            *ordered[:MOST_LISTED],
            (ordered[MOST_LISTED][0], Message("and {count} more lines below that are no data", count=more)),
        ]
    return tuple(ordered)


def _example_lines(code: pl.Series, name: pl.Series, label: pl.Series) -> pl.Series:
    """Find lines with an example's word in the code, the name or the label, and the lines of its parts below it."""
    is_example = reduce(or_, (_matches(texts, _example_pattern()) for texts in (code, name, label)))
    is_example |= _matches(code, _short_example_pattern()) | _matches(label, _short_example_pattern())
    if not is_example.any():
        return is_example
    parts = code.is_null() & name.is_null() & ~is_example
    return is_example.set(parts, None).forward_fill().fill_null(value=False)


def _total_lines(of_code: pl.Series, code: pl.Series, name: pl.Series, label: pl.Series) -> pl.Series:
    """Find lines with a total's word in place of the code, or as the name or label of a line without code."""
    of_name, of_label = (_matches(texts, _total_pattern()) for texts in (name, label))
    nameless = ~name.str.contains(r"\p{L}").fill_null(value=False)
    return (of_code & (nameless | of_name)) | (code.is_null() & (of_name | of_label))


def _note_lines(code: pl.Series, name: pl.Series, others: pl.Series) -> pl.Series:
    """Find lines with only a remark as code or name: a note's word, a colon, a sentence; or notes' words and answers.

    Lines below a signature's titles count as well, where only such lines follow: only in a table that gives `others`
    than codes and names, since in another table such a line may as well be a row.
    """
    signs = _matches(code, _signature_pattern())
    notes = (
        (_matches(code, _note_pattern()) & name.is_null()) | (_matches(name, _note_pattern()) & code.is_null()) | signs
    )
    rows = others.arg_true()
    if not len(rows):
        return notes
    first = next((at for at in signs.arg_true() if at > rows[-1]), len(notes))
    return notes | (pl.int_range(len(notes), eager=True) >= first)


def _repeated_headers(cells: pl.DataFrame, columns: Sequence[Column]) -> pl.Series:
    """Find lines whose key cells repeat the headers; the table must have at least two key columns.

    Only headers of two lines come here: the others are found by `pipelines.reading.other_headers`.
    """
    nothing = pl.repeat(value=False, n=cells.height, eager=True)
    own = [column for column in columns if column.name in ("sku_code", "name", "component_type")]
    if len(own) < 2:
        return nothing
    return reduce(lambda all_of, column: all_of & (cells[column.name] == column.header), own, ~nothing).fill_null(False)


def help_lines(cells: pl.DataFrame, columns: Sequence[Column], label: pl.Series) -> pl.Series:
    """Find the lines directly below the header, up to the first data line, that describe the columns."""
    top = list(cells.head(HELP_ROWS).select(column.name for column in columns).iter_rows())
    found = []
    for row, first in zip(top, label.head(HELP_ROWS), strict=True):
        filled = [(column, cell) for column, cell in zip(columns, row, strict=True) if cell is not None]
        filled = filled[:_HELP_CELLS]
        helps = _is_help_line(filled) or (first is not None and _is_help_text(first))
        if not helps and not any(_is_example(cell) for cell in (*row[:2], first) if cell is not None):
            break
        found.append(helps)
    return pl.Series([*found, *[False] * (cells.height - len(found))], dtype=pl.Boolean)


def _is_help_line(filled: list[tuple[Column, str]]) -> bool:
    texts = [cell for _, cell in filled]
    if not texts:
        return False
    if all(map(_is_help_text, texts)) and (len(texts) > 2 or any(len(_without_digits(text)) > 1 for text in texts)):
        return True  # the condition excludes two single letters, which may be a code and a name
    if len(filled) > 1 and all(_is_own_header(column, cell) for column, cell in filled):
        return True
    typed = [(column, cell) for column, cell in filled if column.field.kind in _TYPED]
    if not typed or any(_is_value(column, cell) for column, cell in typed):
        return False
    shapes = {"".join("0" if c.isdigit() else c for c in cell) for cell in texts}
    mostly_help = sum(map(_is_help_text, texts)) * 2 >= len(texts)
    return mostly_help or (len(texts) > 2 and len(shapes) == 1) or len(texts[0].split()) > 3


def _is_own_header(column: Column, cell: str) -> bool:
    """Return whether a cell is a header of its own column, in any language."""
    named = recognise(cell, 0, column.table)
    return fold(cell) == fold(column.header) or (named is not None and named.name == column.name)


def _is_value(column: Column, cell: str) -> bool:
    """Return whether a cell is a value of its column, or was meant to be one."""
    faults = read_values(pl.Series([cell]), column, None, None).faults
    return not faults.height or faults["code"][0] in _READABLE


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


def _is_example(cell: str) -> bool:
    return bool(_matches(pl.Series([cell]), _example_pattern())[0])


def _matches(texts: pl.Series, pattern: str) -> pl.Series:
    return texts.str.contains(pattern).fill_null(value=False)


@cache
def _example_pattern() -> str:
    """Match `EXAMPLE-001`, `Exemple :`, `Beispiel: Flasche`, `Bottle (example)`; not `Example Street bottle`."""
    word = _any_word_of("example")
    return rf"(?i)^[\W_]*(?:{word})[\W_\d]*$|^\W*(?:{word})\s*:|[(\[](?:{word})[)\]]\W*$"


@cache
def _short_example_pattern() -> str:
    """Match `Ex. : 12345`, `e.g. 12345`, `z. B. 12345`; not `EX-001`."""
    return rf"(?i)^\W*(?:{_any_word_of('short_example')})\s*(?::|\.(?:\s|$|:))"


@cache
def _total_pattern() -> str:
    """Match `Total`, `Summe:`, `Total 2026`, `Total (g)`; not `Total Quartz oil`."""
    word = _any_word_of("total")
    return rf"(?i)^[\W_]*(?:{word})(?:[\W_\d]*$|\s*[:=(])"


@cache
def _note_pattern() -> str:
    word = _any_word_of("note")
    return rf"(?i)^[\W_]*(?:{word})\b|:(?:\s|$)|(?:\S+\s+){{5,}}\S"


_TITLE = r"\p{L}\s*:\s*$"
"""Matches `Visa fournisseur :`, which has its answer or the next title beside it."""


@cache
def _signature_pattern() -> str:
    """Match `Prepared by`, `Place, date`, `Ort / Datum:`, `Date: 1 February`; not `Date-01`, which may be a code."""
    return rf"(?i)^[\W_]*{_notes_pattern()}(?:[\W_]*$|\s*:\s)"


def _notes_pattern() -> str:
    """Match a note's word, or several with a comma, a stroke or a word for `and` between them."""
    word = rf"(?:{_any_word_of('note')})"
    return rf"{word}(?:[\W_]+(?:(?:and|et|und|y|e|en)\s+)?{word}){{0,3}}"


def _any_word_of(code: str) -> str:
    return "|".join(sorted(map(_with_accents, _words_of(code)), key=len, reverse=True))


def _words_of(code: str) -> Iterator[str]:
    return (word for word, of in words("line").items() if of == code)


def _with_accents(word: str) -> str:
    """Return a folded word as a pattern that also matches it with accents."""
    return "".join(_ACCENTED.get(character, character) for character in word)
