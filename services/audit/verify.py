"""Verifying the audit chain: every digest and link of a company computed anew from the rows as they are stored.

Found are entries and transactions that were removed, added or altered, also the last ones, and row versions that were.
Each statement goes through the rows once, in the database's bounded memory. What a verification cannot see: somebody
who may write every table and computes the whole chain anew from where they changed it.
"""

from dataclasses import dataclass
from typing import Any, Final

import psycopg
from psycopg.rows import dict_row

from warehouse.audit.chain import VERSIONS


@dataclass(frozen=True, slots=True)
class Verdict:
    """How many entries there are, and the first from which on they are not what was entered; None where all are.

    An entry that was removed is named by the id that it had; a row version that no entry names, by its SKU's id.
    """

    entries: int
    first_bad: str | None

    @property
    def ok(self) -> bool:
        """Whether everything is as it was entered."""
        return self.first_bad is None


def _by_version(expressions: dict[int, str]) -> str:
    """The expression of the digest version that a row's transaction `t` names; null for one that there never was."""
    whens = " ".join(f"WHEN {version} THEN {expression}" for version, expression in expressions.items())
    return f"CASE t.digest_version {whens} END"


_ROW_DIGEST: Final = {
    table: _by_version({number: version.of_row("held") for number, version in VERSIONS.items()})
    for table in ("skus", "sku_versions")
}  # fmt: skip
_VERSIONS: Final = " UNION ALL ".join(
    f"SELECT held.id, held.version, {digest} AS digest "
    f"FROM {table} AS held LEFT JOIN audit_transactions t ON t.id = held.transaction_id"
    for table, digest in _ROW_DIGEST.items()
)
_ENTRY: Final = _by_version({
    number: version.of_entry({name: f"entry.{name}" for name in version.entry}, "held.digest")
    for number, version in VERSIONS.items()
})  # fmt: skip
_ALTERED: Final = f"""
SELECT min(entry.id) AS altered, min(held.id::text) FILTER (WHERE entry.id IS NULL) AS unnamed
FROM (audit_entries AS entry LEFT JOIN audit_transactions AS t ON t.id = entry.transaction_id)
FULL JOIN ({_VERSIONS}) AS held ON held.id::text = entry.resource_id AND held.version = entry.version
WHERE entry.id IS NULL OR entry.digest IS DISTINCT FROM {_ENTRY}
"""
_MISSING: Final = """
SELECT min(place) AS missing
FROM (SELECT id, row_number() OVER (ORDER BY id) AS place FROM audit_entries) AS numbered
WHERE id <> place
"""

_LINK: Final = _by_version({
    number: version.of_link("t.previous", {name: f"t.{name}" for name in version.link}, "t.digests")
    for number, version in VERSIONS.items()
})  # fmt: skip
_BROKEN: Final = f"""
SELECT min(t.due) AS broken, (array_agg(t.first_entry + t.entries ORDER BY t.place))[1] AS broken_until
FROM (
    SELECT links.*, held.*, row_number() OVER chain AS place, lag(links.hash) OVER chain AS previous,
           1 + coalesce(sum(held.count) OVER (chain ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0)::bigint AS due
    FROM audit_transactions AS links
    FULL JOIN (
        SELECT transaction_id, count(*) AS count, min(audit_entries.id) AS least, max(audit_entries.id) AS most,
               string_agg(digest, ''::bytea ORDER BY audit_entries.id) AS digests
        FROM audit_entries GROUP BY transaction_id
    ) AS held ON held.transaction_id = links.id
    WINDOW chain AS (ORDER BY links.number)
) AS t
WHERE (t.number, t.first_entry, t.entries, t.least, t.most, t.hash)
    IS DISTINCT FROM (t.place, t.due, t.count, t.due, t.due + t.count - 1, {_LINK})
"""
_HEAD: Final = """
SELECT (SELECT count(*) FROM audit_entries) AS held, audit_entries AS counted,
       links = (SELECT count(*) FROM audit_transactions)
       AND chain_hash IS NOT DISTINCT FROM
           (SELECT hash FROM audit_transactions ORDER BY number DESC LIMIT 1) AS whole
FROM company_counters
"""
_VERIFY: Final = f"""
SELECT * FROM ({_ALTERED}) AS altered, ({_MISSING}) AS missing, ({_BROKEN}) AS broken, ({_HEAD}) AS head
"""


def verify(conn: psycopg.Connection[Any]) -> Verdict:
    """Verify the ledger of the session's company, in one statement and so in one snapshot.

    About ten seconds of one core for each million entries; the limit on the time of a statement is lifted for this
    transaction.
    """
    conn.execute("SET LOCAL statement_timeout = 0")
    with conn.cursor(row_factory=dict_row) as cursor:
        found = cursor.execute(_VERIFY).fetchone()
    assert found is not None, "a company has its counters from the beginning"
    bad = [found["altered"], found["missing"], _broken(found), _end(found)]
    first = min((number for number in bad if number is not None), default=found["unnamed"])
    return Verdict(found["held"], None if first is None else str(first))


def _broken(found: dict[str, Any]) -> int | None:
    """The first entry of the first link that does not hold, unless it breaks by a later one that is missing."""
    first: int | None = found["broken"]
    until: int | None = found["broken_until"]
    missing: int | None = found["missing"]
    return missing if missing and first and until and first <= missing < until else first


def _end(found: dict[str, Any]) -> int | None:
    """Where the ledger and the company's counters part: behind the last entry that both have, or at the last one."""
    held, counted = found["held"], found["counted"]
    if held != counted:
        return int(min(held, counted)) + 1
    return None if found["whole"] else int(held)
