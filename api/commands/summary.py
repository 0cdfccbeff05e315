"""Describes a finished import in words: its counts, the rejected rows by reason, and how to correct each reason."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import Final

from schemas.issues import ISSUE_CODES
from schemas.messages import Message, translate
from schemas.report import ImportReport, ImportRowError

_FIRST_LINES: Final = 5
_WIDTH: Final = 100


def summary(done: ImportReport, faults: Sequence[ImportRowError], lang: str) -> str:
    """Return the summary. `done` is the import's status, `faults` its whole report in `lang`.

    A dry run says the same of the same file.
    """
    counts = done["counts"]
    skipped = len(done["source"]["skipped"])
    parts = [
        Message(
            "Completed, {total} SKUs: {created} created, {updated} updated, {unchanged} unchanged, "
            "{rejected} rejected.",
            total=counts["total"],
            created=counts["created"],
            updated=counts["updated"],
            unchanged=counts["unchanged"],
            rejected=counts["rejected"],
        )
    ]
    if skipped:
        parts.append(
            Message(
                "{skipped} lines are no data and were left out (examples, help, totals, empty lines).", skipped=skipped
            )
        )
    if done["dry_run"]:
        parts.append(Message("This was a dry run: nothing was written."))
    questions = done["source"].get("asked") or ()
    asked = [textwrap.fill(f"{each['column']}: {each['message']}", _WIDTH) for each in questions]
    reasons = (_reason(code, of, lang) for code, of in _by_code(done, faults).items())
    return "\n".join([*(translate(part, lang) for part in parts), *asked, *reasons])


def _by_code(done: ImportReport, faults: Sequence[ImportRowError]) -> dict[str, dict[str, str]]:
    """Return, by code, the lines that have it, each once, with the first sentence of it; most lines first."""
    main = done["source"]["sheet"]
    found: dict[str, dict[str, str]] = {}
    for fault in faults:
        line = str(fault["line"]) if fault["sheet"] == main else f"{fault['sheet']} {fault['line']}"
        found.setdefault(fault["code"], {}).setdefault(line, fault["message"])
    return dict(sorted(found.items(), key=lambda entry: -len(entry[1])))


def _reason(code: str, lines: Mapping[str, str], lang: str) -> str:
    first = ", ".join(list(lines)[:_FIRST_LINES]) + (", …" if len(lines) > _FIRST_LINES else "")
    # A service newer than this program may have more codes; its own sentence then names the remedy.
    known = ISSUE_CODES.get(code)
    do = next(iter(lines.values())) if known is None else translate(known.remedy, lang)
    if len(lines) == 1:
        head = translate(Message("{code}: {count} row, line {lines}", code=code, count=1, lines=first), lang)
    else:
        head = translate(Message("{code}: {count} rows, line {lines}", code=code, count=len(lines), lines=first), lang)
    return "\n".join([f"\n{head}", *textwrap.wrap(do, _WIDTH, initial_indent="    ", subsequent_indent="    ")])
