"""Regrades a company in blocks, one transaction each, which stores all changes and ledger entries or none.

Any run may do the next block: the row in `regrades` says which it is. An interrupted block leaves nothing behind.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Final
from uuid import UUID
from weakref import WeakKeyDictionary

from compliance.grading import GRADED_INPUTS, Answer, regrade_many
from compliance.ruleset import RuleSet
from compliance.tables import TableError
from schemas.actors import Actor, Origin
from warehouse import rules
from warehouse.operate.clock import Clock
from warehouse.operate.sessions import Connection, Pool
from warehouse.rules import FRESH_SECONDS, Regraded, Rulesets
from warehouse.skus import portfolio
from warehouse.skus.portfolio import lock_versions
from warehouse.skus.store import stage, store
from warehouse.skus.tables import Table

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
    rule_sets = {name: _load_ruleset(conn, rulesets, name) for name in set(rows["ruleset_version"])}
    graded_by = [rule_sets[name] for name in rows["ruleset_version"]]
    return regrade_many(
        list(rows.rows(GRADED_INPUTS)), list(rows.rows(_GRADE)), graded_by, rulesets.load(conn, version)
    )


def _load_ruleset(conn: Connection, rulesets: Rulesets, version: str) -> RuleSet | None:
    try:
        return rulesets.load(conn, version)
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


_POLL_SECONDS: Final = 0.1
_LAST_WAITED_FOR: Final = WeakKeyDictionary[Pool, tuple[str, datetime]]()
"""What this process last waited for: a version, and when its regrade was requested."""


@dataclass(frozen=True, slots=True)
class Services:
    """The services and settings of a regrade.

    `block_rows` are the SKUs of one transaction, the most that a crash can cost; `run_id` names the run in the ledger,
    as the entries' correlation id.
    """

    pool: Pool
    clock: Clock
    rulesets: Rulesets
    block_rows: int
    run_id: str


def wait_for_older_writers(pool: Pool, proceed: Callable[[], None]) -> None:
    """Return when no write is under way that may use the older rules; called before the first block.

    A transaction that begins `FRESH_SECONDS` after an activation grades with the new set. This waits for earlier ones.
    """
    time.sleep(FRESH_SECONDS)
    with pool.system() as conn:
        began = rules.database_now(conn)
    while True:
        proceed()
        with pool.system() as conn:
            if not rules.writes_since_before(conn, began):
                return
        time.sleep(_POLL_SECONDS)


def wait_once(pool: Pool, company_id: UUID, proceed: Callable[[], None]) -> None:
    """Wait for older writers before the first company of an activation; its other companies need not wait again.

    It does not wait where no regrade is requested.
    """
    with pool.company(company_id) as conn:
        request = rules.open_request(conn)
    if request is not None and _LAST_WAITED_FOR.get(pool) != request:
        wait_for_older_writers(pool, proceed)
        _LAST_WAITED_FOR[pool] = request


def regrade_company(services: Services, company_id: UUID, proceed: Callable[[], None]) -> None:
    """Do the rest of a company's regrade; `proceed` is called before each block and raises where the run has to end."""
    more = True
    while more:
        proceed()
        more = services.pool.run(company_id, partial(_regrade_block, services, company_id), repeatable=True)


def _regrade_block(services: Services, company_id: UUID, conn: Connection) -> bool:
    """Do one block in the caller's transaction; return whether there is another one."""
    claimed = rules.take(conn)
    if claimed is None:
        return False
    position, done = claimed
    rows = read(conn, position, services.block_rows)
    last = len(rows) < services.block_rows
    if len(rows):
        position = rows["sku_code"][-1]
        changed = lock_changed_rows(conn, rows, services.rulesets, done)
        if len(changed):
            origin = Origin("system", None, "regrade", services.run_id, reason=f"Regraded by rule-set {done.version}.")
            stage(conn, changed, ("sku_code",))
            actor = Actor(company_id, origin, services.clock.now())
            store(conn, actor, changed, ("sku_code",), import_id=None, resource="sku")
    rules.advance(conn, position, done, services.clock.now() if last else None)
    return not last
