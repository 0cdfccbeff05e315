"""Recomputes every digest and link of a company's audit chain in one statement, and finds where they differ.

The statement reads the rows once, in the database's bounded memory. `services.audit.verify` interprets its findings;
`warehouse.audit.chain` defines the digests.
"""

from dataclasses import dataclass
from typing import Final

from psycopg.rows import class_row

from warehouse.audit.chain import VERSIONS
from warehouse.sessions import Connection


@dataclass(frozen=True, slots=True)
class Findings:
    """The differences, None where there is none: numbers of entries, and for `unnamed` the id of a SKU.

    `altered` is the first entry whose digest differs, `unnamed` a row version that no entry names, `missing` the first
    number without an entry. `broken` is the first entry of the first link that differs, `broken_until` the number after
    that link's last entry. `held` counts the stored entries, `counted` is the number in the company's counters, and
    `whole` says whether the counters agree with the links.
    """

    altered: int | None
    unnamed: str | None
    missing: int | None
    broken: int | None
    broken_until: int | None
    held: int
    counted: int
    whole: bool


def _by_version(expressions: dict[int, str]) -> str:
    """Return the expression of the digest version that a row's transaction `t` names; null for an unknown version."""
    whens = " ".join(f"WHEN {version} THEN {expression}" for version, expression in expressions.items())
    return f"CASE t.digest_version {whens} END"


_ROW_DIGEST: Final = {
    table: _by_version({number: version.of_row("held") for number, version in VERSIONS.items()})
    for table in ("skus", "sku_versions")
}
_VERSIONS: Final = " UNION ALL ".join(
    f"SELECT held.id, held.version, {digest} AS digest "
    f"FROM {table} AS held LEFT JOIN audit_transactions t ON t.id = held.transaction_id"
    for table, digest in _ROW_DIGEST.items()
)
_ENTRY: Final = _by_version(
    {
        number: version.of_entry({name: f"entry.{name}" for name in version.entry}, "held.digest")
        for number, version in VERSIONS.items()
    }
)
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

_LINK: Final = _by_version(
    {
        number: version.of_link("t.previous", {name: f"t.{name}" for name in version.link}, "t.digests")
        for number, version in VERSIONS.items()
    }
)
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


def examine(connection: Connection) -> Findings:
    """Examine the ledger of the session's company, in one statement and so in one database snapshot.

    Takes about ten seconds of one core for each million entries; the limit on the time of a statement is lifted for
    this transaction.
    """
    connection.execute("SET LOCAL statement_timeout = 0")
    with connection.cursor(row_factory=class_row(Findings)) as cursor:
        found = cursor.execute(_VERIFY).fetchone()
    assert found is not None, "a company has its counters from the beginning"
    return found
