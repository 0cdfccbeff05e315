"""Describes a finished import in words: its counts, the rejected rows by reason, and how to correct each reason."""

import shlex
import textwrap
from collections.abc import Mapping, Sequence
from typing import Final

import orjson

from pipelines.reading.questions import answer_with
from schemas.imports.types import Asked, Foreseen, ImportRowError, ImportStatusResponse
from schemas.issues import ISSUE_CODES
from schemas.messages import Message, translate
from schemas.normalise import quote

_NAMED: Final = 5
"""Lines, or codes of SKUs, that a sentence names."""
_WIDTH: Final = 100


def summary(finished: ImportStatusResponse, faults: Sequence[ImportRowError], lang: str) -> str:
    """Return the summary. `finished` is the import's status, `faults` its whole report in `lang`.

    A dry run says the same of the same file, and what would become of the grades.
    """
    counts = finished["counts"]
    skipped = len(finished["source"]["skipped"])
    outcomes = Message(
        "{created} created, {updated} updated, {unchanged} unchanged, {rejected} rejected.",
        created=counts["created"],
        updated=counts["updated"],
        unchanged=counts["unchanged"],
        rejected=counts["rejected"],
    )
    parts = [Message("Completed, {total} SKUs: {outcomes}", total=counts["total"], outcomes=outcomes)]
    if counts["total"] == 1:
        parts = [Message("Completed, 1 SKU: {outcomes}", outcomes=outcomes)]
    if skipped == 1:
        parts.append(Message("1 line is no data and was left out (an example, help, a total or an empty line)."))
    elif skipped:
        parts.append(
            Message(
                "{skipped} lines are no data and were left out (examples, help, totals, empty lines).", skipped=skipped
            )
        )
    if finished["dry_run"]:
        parts.append(Message("This was a dry run: nothing was written."))
    warned = [
        translate(Message("Warning {code}: {count}. {meaning}", code=code, count=count, meaning=_meaning(code)), lang)
        for code, count in finished.get("warning_counts", {}).items()  # a service of before has none
    ]
    questions = _describe_questions(finished, lang)
    reasons = (_describe_reason(code, lines, lang) for code, lines in _lines_by_code(finished, faults).items())
    grades = _describe_grades(finished["preview"], lang) if "preview" in finished else []
    readings = _describe_readings(finished, lang)
    return "\n".join([*(translate(part, lang) for part in parts), *grades, *questions, *readings, *warned, *reasons])


def _describe_questions(finished: ImportStatusResponse, lang: str) -> list[str]:
    """Return how many questions are open, each with the options that settle it, and the command that answers them."""
    questions = finished["source"].get("asked") or ()
    if not questions:
        return []
    heading = Message("Completed, {count} questions open: this was not stored.", count=len(questions))
    if len(questions) == 1:
        heading = Message("Completed, 1 question open: this was not stored.")
    lines = [translate(heading, lang)]
    for question in questions:
        place = question["column"] or question.get("lines") or question.get("sheet")
        lines.append(textwrap.fill(f"{place}: {question['message']}" if place else question["message"], _WIDTH))
        lines += [f"    {option}" for option in options_of(question)]
    if finished["dry_run"]:
        return [*lines, translate(Message("Send the file again with the options that are right."), lang)]
    command = f"pcds import --answer {finished['id']} --mapping …"
    return [*lines, translate(Message("Answer with the options that are right: {command}", command=command), lang)]


def _describe_readings(finished: ImportStatusResponse, lang: str) -> list[str]:
    """Return a paragraph for each column: what its first texts became, those that lose something before the others."""
    by_column: dict[tuple[str, str], list[str]] = {}
    for reading in finished["source"].get("readings") or ():  # a service of before has none
        became = f"{quote(reading['text'])} → {reading['value']} ({reading['rows']})"
        by_column.setdefault((reading["column"], reading["field"]), []).append(became)
    if not by_column:
        return []
    paragraphs = [
        textwrap.fill(f"{column} {field}: {_first(texts)}", _WIDTH, initial_indent="    ", subsequent_indent="        ")
        for (column, field), texts in by_column.items()
    ]
    return [translate(Message("What the texts of each column became, with their numbers of lines:"), lang), *paragraphs]


def options_of(question: Asked) -> list[str]:
    """Return the options of `pcds import` that settle a question, one for each possibility."""
    if not question.get("answer"):  # a service of before
        return []
    pieces = [answer_with(question, choice) for choice in question["could_be"][:_NAMED]] or [question["answer"]]
    return [f"--mapping {shlex.quote(orjson.dumps(piece).decode())}" for piece in pieces]


def _meaning(code: str) -> Message | str:
    """Return what a warning's code means; nothing where the service is newer than this program."""
    code_row = ISSUE_CODES.get(code)
    return "" if code_row is None else code_row.meaning


def _describe_grades(foreseen: Foreseen, lang: str) -> list[str]:
    """Return a line for each change of grade with its number of SKUs, and the first SKUs whose grade would change."""
    if not foreseen["grades"]:
        return []
    new = translate(Message("new"), lang)
    lines = [f"    {change['before'] or new} → {change['after']}: {change['skus']}" for change in foreseen["grades"]]
    changed = [sku["sku_code"] for sku in foreseen["changed"]]
    heading = Message("SKUs by grade, now and afterwards:")
    if not changed:
        return [translate(heading, lang), *lines]
    sentence = Message("The grade of these would change: {codes}", codes=_first(changed))
    return [translate(heading, lang), *lines, translate(sentence, lang)]


def _first(names: Sequence[str]) -> str:
    return ", ".join(names[:_NAMED]) + (", …" if len(names) > _NAMED else "")


def _lines_by_code(finished: ImportStatusResponse, faults: Sequence[ImportRowError]) -> dict[str, dict[str, str]]:
    """Return, by code, the lines that have it, each once, with the first sentence of it; most lines first."""
    main = finished["source"]["sheet"] if "sheets" not in finished["source"] else None
    lines: dict[str, dict[str, str]] = {}
    for fault in faults:
        line = str(fault["line"]) if fault["sheet"] in (None, main) else f"{fault['sheet']} {fault['line']}"
        lines.setdefault(fault["code"], {}).setdefault(line, fault["message"])
    return dict(sorted(lines.items(), key=lambda entry: -len(entry[1])))


def _describe_reason(code: str, lines: Mapping[str, str], lang: str) -> str:
    first = _first(list(lines))
    # A service newer than this program may have more codes; its own sentence then names the remedy.
    issue_code = ISSUE_CODES.get(code)
    remedy = next(iter(lines.values())) if issue_code is None else translate(issue_code.remedy, lang)
    if len(lines) == 1:
        heading = translate(Message("{code}: {count} row, line {lines}", code=code, count=1, lines=first), lang)
    else:
        heading = translate(
            Message("{code}: {count} rows, line {lines}", code=code, count=len(lines), lines=first), lang
        )
    return "\n".join([f"\n{heading}", *textwrap.wrap(remedy, _WIDTH, initial_indent="    ", subsequent_indent="    ")])
