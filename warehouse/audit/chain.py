"""Defines what the audit chain is computed over: digests of row versions and entries, and the hash of a link, as SQL.

A ledger transaction, which is one request's or one chunk's, is a link. Its hash covers the hash before it, its own
fields and the digests of its entries; the digest of an entry about a SKU also covers the row version that it names.
Address and user agent are not covered, so that they can be anonymised (decisions §3).

What belongs here: the expressions that writing, verifying and the migration share. Each link names the version of these
expressions that it was made with. A version is final: a column that is added to a table goes into a new version, and
older links stay valid. What does not belong here: the statements (`pipelines.writing`).

Values go into a digest as `record_send` writes them, each with its type and length: two different records never have
the same form, and the session's time zone and date style have no effect. Text is in the client's encoding, which
`warehouse.operate.sessions` sets to UTF-8. Row versions use SHA-512, which is faster over hundreds of bytes on a server
without instructions for either hash.
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple
from uuid import UUID

import orjson
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from psycopg.rows import class_row

from warehouse.companies.queries import ids
from warehouse.operate import keys
from warehouse.operate.sessions import Connection, Pool
from warehouse.operate.settings import Settings


@dataclass(frozen=True, slots=True)
class Digest:
    """One version of the expressions: the columns of a row version, and the typed fields of an entry and a link."""

    version: int
    row: tuple[str, ...]
    entry: Mapping[str, str]
    link: Mapping[str, str]

    def of_row(self, table: str) -> str:
        """Return the digest of a row of `skus` or `sku_versions`, which have the same columns."""
        return f"sha512(record_send(ROW({', '.join(f'{table}.{name}' for name in self.row)})))"

    def of_entry(self, entry: Mapping[str, str], row: str = "NULL") -> str:
        """Return the digest of an entry from an expression for each of its fields and its row version's digest."""
        fields = ", ".join(f"({entry.get(name, 'NULL')})::{kind}" for name, kind in self.entry.items())
        return f"sha256(record_send(ROW({fields}, ({row})::bytea)))"

    def of_link(self, previous: str, link: Mapping[str, str], entries: str) -> str:
        """Return the hash of a link over the one before it, which is null before the first."""
        return f"sha256(coalesce({previous}, ''::bytea) || {self.content(link, entries)})"

    def content(self, link: Mapping[str, str], entries: str) -> str:
        """Return what a link adds to the hash before it: its fields, and the digests of its entries in order."""
        fields = ", ".join(f"({link[name]})::{kind}" for name, kind in self.link.items())
        return f"record_send(ROW({self.version:d}, {fields}, ({entries})::bytea))"


_FIRST: Final = Digest(
    version=1,
    row=(
        "id",
        "company_id",
        "sku_code",
        "name",
        "description",
        "material",
        "material_subtype",
        "weight_grams",
        "recycled_content_percent",
        "food_contact",
        "pfas",
        "svhc",
        "bpa",
        "heavy_metals",
        "product_category",
        "markets",
        "gtin",
        "ppwr_role",
        "packaging_level",
        "packaging_format",
        "brand_id",
        "manufacturing_site_id",
        "packing_site_id",
        "empty_space_ratio",
        "reusable",
        "reuse_system_type",
        "reuse_cycles_target",
        "reuse_pool_owner",
        "reuse_deposit_system",
        "reuse_return_mechanism",
        "reuse_reconditioning",
        "reuse_asset_identifier",
        "use_contexts",
        "minimisation_assessed",
        "sorting_label_scheme",
        "material_marking_applied",
        "components",
        "volumes",
        "components_weight_g",
        "recyclability_grade",
        "recyclability_score",
        "grade_provisional",
        "ruleset_version",
        "version",
        "transaction_id",
        "import_id",
        "import_sheet",
        "import_line",
        "created_at",
        "updated_at",
    ),
    entry={"action": "text", "resource_id": "text", "version": "integer", "before": "json", "after": "json"},
    link={
        "number": "bigint",
        "first_entry": "bigint",
        "entries": "integer",
        "id": "uuid",
        "company_id": "uuid",
        "at": "timestamptz",
        "actor_type": "text",
        "actor_id": "text",
        "actor_name": "text",
        "reason": "text",
        "correlation_id": "text",
    },
)

CURRENT: Final = replace(_FIRST, version=2, row=(*_FIRST.row, "flag_facts"))
"""The version of new links. A test compares its columns with the tables'."""

VERSIONS: Final = {version.version: version for version in (_FIRST, CURRENT)}
"""Every version that a link may have been made with; each is final."""


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
        row = cursor.execute(_VERIFY).fetchone()
    assert row is not None, "a company has its counters from the beginning"
    return row


_HEAD_LINK: Final = "SELECT hash FROM audit_transactions WHERE number = %s"
_KEPT: Final = "SELECT hash FROM removed_links WHERE company = %s AND number = %s"


class Head(NamedTuple):
    """The last link of a company's chain: its number and hash, and how many entries lead to it."""

    company_id: str
    links: int
    entries: int
    hash: str | None


def every(pool: Pool) -> list[Head]:
    """Return the head of each company that has a chain, in the order of their ids."""
    with pool.system() as connection:
        companies = sorted(ids(connection))
    return [head for company_id in companies if (head := of_company(pool, company_id)) is not None]


def of_company(pool: Pool, company_id: UUID) -> Head | None:
    """Return the head of a company; None where it was removed meanwhile."""
    with pool.company(company_id) as connection:
        row = connection.execute("SELECT links, audit_entries, chain_hash FROM company_counters").fetchone()
    if row is None:
        return None
    links, entries, hashed = row
    return Head(str(company_id), links, entries, bytes(hashed).hex() if hashed else None)


def still_stands(connection: Connection, head: Head) -> bool:
    """Return whether the chain of the session's company has this head among its links."""
    return _is(head, connection.execute(_HEAD_LINK, [head.links]).fetchone())


def stayed(owner: Connection, head: Head) -> bool:
    """Return whether the hashes that stayed of a removed company have this head among them."""
    return _is(head, owner.execute(_KEPT, [head.company_id, head.links]).fetchone())


def _is(head: Head, row: tuple[bytes, ...] | None) -> bool:
    if head.links == 0:
        return head.hash is None
    return row is not None and bytes(row[0]).hex() == head.hash


def sign(settings: Settings, statement: Mapping[str, object]) -> dict[str, object]:
    """Return the statement with its signature and the public key, both in base64."""
    key = Ed25519PrivateKey.from_private_bytes(keys.read(settings, keys.AUDIT))
    return {
        "statement": dict(statement),
        "signature": base64.b64encode(key.sign(_bytes(statement))).decode(),
        "public_key": public_key(settings),
    }


def public_key(settings: Settings) -> str:
    """Return the key by which others check signatures of this deployment, in base64."""
    key = Ed25519PrivateKey.from_private_bytes(keys.read(settings, keys.AUDIT))
    return base64.b64encode(key.public_key().public_bytes_raw()).decode()


def is_signed(signed: Mapping[str, object], public: str) -> bool:
    """Return whether the statement was signed with the private key of this public one."""
    match signed:
        case {"statement": dict(statement), "signature": str(signature)}:
            try:
                key = Ed25519PublicKey.from_public_bytes(base64.b64decode(public, validate=True))
                key.verify(base64.b64decode(signature, validate=True), _bytes(statement))
            except (ValueError, InvalidSignature):
                return False
            return True
    return False


def _bytes(statement: Mapping[str, object]) -> bytes:
    return orjson.dumps(statement, option=orjson.OPT_SORT_KEYS)
