"""Regrades a block of SKUs: reads and grades them without locks, then locks and compares those that change.

An older grade never overwrites a concurrent write: a row that has changed since it was read is graded again under its
lock. Locks are taken in the order of codes, as by every writer (decision 0004).
"""

from typing import Final

from compliance.grading import GRADED_INPUTS, Answer, regrade_many
from compliance.ruleset import RuleSet
from compliance.tables import TableError
from warehouse.rulesets.registry import Rulesets
from warehouse.rulesets.regrades import Regraded
from warehouse.sessions import Connection
from warehouse.skus import portfolio
from warehouse.skus.by_code import lock_versions
from warehouse.skus.columns import Table

_GRADE: Final = ("recyclability_grade", "recyclability_score", "grade_provisional")
_COLUMNS: Final = ("id", "sku_code", "version", "components_weight_g", "ruleset_version", *_GRADE, *GRADED_INPUTS)


def read(conn: Connection, after: str | None, rows: int) -> Table:
    """Return the company's next SKUs after a code, or its first ones, with the columns that grading reads and sets."""
    return portfolio.block(conn, _COLUMNS, after=after, rows=rows)


def lock_changed_rows(conn: Connection, rows: Table, rulesets: Rulesets, done: Regraded) -> Table:
    """Return the rows that change by the version of `done`, locked, as `store` takes them; `done` counts all rows."""
    answers = _answers(conn, rows, rulesets, done.version)
    changed_codes = [code for code, answer in zip(rows["sku_code"], answers, strict=True) if answer is not None]
    versions = lock_versions(conn, changed_codes) if changed_codes else {}
    as_read = [versions.get(code, version) == version for code, version in rows.rows(("sku_code", "version"))]
    if not all(as_read):
        written_meanwhile = rows.where([not same for same in as_read])["sku_code"]
        answers = [answer for answer, same in zip(answers, as_read, strict=True) if same]
        read_again = portfolio.skus_of_codes(conn, _COLUMNS, written_meanwhile)
        answers += _answers(conn, read_again, rulesets, done.version)
        rows = rows.where(as_read)
        rows = Table({name: [*rows[name], *read_again[name]] for name in _COLUMNS})
    for code, before, answer in zip(rows["sku_code"], rows["recyclability_grade"], answers, strict=True):
        done.count(code, before, answer and answer[0])
    return _as_stored(rows, answers, done.version)


def _answers(conn: Connection, rows: Table, rulesets: Rulesets, version: str) -> list[Answer | None]:
    known = {name: _load_ruleset(conn, rulesets, name) for name in set(rows["ruleset_version"])}
    graded_by = [known[name] for name in rows["ruleset_version"]]
    return regrade_many(list(rows.rows(GRADED_INPUTS)), list(rows.rows(_GRADE)), graded_by, rulesets.of(conn, version))


def _load_ruleset(conn: Connection, rulesets: Rulesets, version: str) -> RuleSet | None:
    try:
        return rulesets.of(conn, version)
    except TableError:
        return None


def _as_stored(rows: Table, answers: list[Answer | None], version: str) -> Table:
    changed = rows.where([answer is not None for answer in answers])
    grades = zip(*(answer for answer in answers if answer is not None), strict=True)
    nulls: list[object] = [None] * len(changed)
    return changed.with_columns(
        {
            **{name: list(values) for name, values in zip(_GRADE, grades, strict=False)},
            "ruleset_version": [version] * len(changed),
            "version": [stored_version + 1 for stored_version in changed["version"]],
            "import_sheet": nulls,
            "import_line": nulls,
        }
    )
