"""Adds and activates rule-sets for operators: stored for good, and used for grading everywhere once activated.

An activation is one transaction: the active version, a regrade request for each company, and an entry in each ledger.
Processes learn of it through `warehouse.rules`.
"""

from datetime import datetime
from pathlib import Path

from compliance import ruleset
from compliance.tables import TableError
from schemas.actors import Origin
from warehouse import rules as rulesets
from warehouse.audit import ledger
from warehouse.companies import queries as companies
from warehouse.operate.sessions import Connection, become
from warehouse.rules import Rulesets


def add(conn: Connection, folder: Path, now: datetime) -> dict[str, object]:
    """Store the tables of a folder, whose name is the version, and return its published record, as the owner.

    The same tables once more change nothing. Raises `TableError` where the tables contradict each other, the name is no
    day, or the version exists with other tables.
    """
    version, tables = folder.name, ruleset.texts(folder)
    if not ruleset.VERSION.fullmatch(version):
        raise TableError(f"{version}: name the folder by the day of its tables, such as 2027-01-31.")
    rules = ruleset.parse(version, tables)
    rulesets.lock(conn)
    added = rulesets.find_added(conn, version)
    of_release = ruleset.texts(ruleset.RULES / version) if version in ruleset.versions() else None
    if (of_release if added is None else added.tables) not in (None, tables):
        raise TableError(
            f"There is a rule-set {version} already, with other tables. A version never changes: name the folder by "
            "another day."
        )
    if added is None:
        rulesets.add(conn, version, tables, rules=len(rules.rules), at=now)
    return _record(conn, version, len(rules.rules))


def activate(conn: Connection, version: str, origin: Origin, now: datetime) -> dict[str, object]:
    """Make a version grade every write from the commit on, request the regrade of stored SKUs, and return its record.

    The connection is the owner's. A version that is already active changes nothing. Raises `TableError` where there is
    no such version.
    """
    ruleset_cache = Rulesets()
    rules = ruleset_cache.load(conn, version)
    rulesets.lock_activations(conn)
    before = ruleset_cache.active(conn).version
    if before != version:
        if rulesets.find_added(conn, version) is None:  # so that processes of another release find it, too
            tables = ruleset.texts(ruleset.RULES / version)
            rulesets.add(conn, version, tables, rules=len(rules.rules), at=now)
        rulesets.activate(conn, version, now)
        company_ids = companies.ids(conn)
        for company_id in company_ids:
            become(conn, company_id)
            rulesets.request(conn, company_id, version, now)
        ledger.enter_for_each(
            conn,
            company_ids,
            "ruleset.activated",
            version,
            origin=origin,
            now=now,
            before={"version": before},
            after={"version": version},
        )
    return {"version": version, "active": True, "rules": len(rules.rules)}


def list_versions(conn: Connection) -> list[dict[str, object]]:
    """Return every version's record, the release's and the added ones, the oldest first."""
    added = rulesets.sizes(conn)
    sizes = {version: len(ruleset.load(version).rules) for version in ruleset.versions()} | added
    return [_record(conn, version, sizes[version]) for version in sorted(sizes)]


def _record(conn: Connection, version: str, rules: int) -> dict[str, object]:
    active = rulesets.active(conn) or ruleset.versions()[-1]
    return {"version": version, "active": version == active, "rules": rules}
