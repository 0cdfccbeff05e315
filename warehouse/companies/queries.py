"""Adds, changes and lists companies and their plans, for operators."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    JSON,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    Table,
    Text,
    Uuid,
    text,
)

from warehouse.base import company as company_base
from warehouse.base import identity, instant, metadata
from warehouse.operate.sessions import Connection, Pool

_ADD: Final = "INSERT INTO companies (id, name, plan, created_at, sandbox_of) VALUES (%s, %s, %s, %s, %s)"
_COUNTER: Final = "INSERT INTO company_counters (company_id) VALUES (%s)"
_COUNTED: Final = "SELECT skus, links, links - unrelated_links FROM company_counters"
FIGURE_WRITES: Final = "SELECT links - unrelated_links FROM company_counters"
"""How many writes of the session's company changed what figures are made from, for a read of one statement."""
_OF: Final = "SELECT name, plan FROM companies WHERE id = %s"


class Counted(NamedTuple):
    """A company's SKUs, and the links of its audit chain, one for each transaction that wrote.

    `figure_writes` are those of them that changed what figures are made from (`FIGURES_ARE_OF`).
    """

    skus: int
    links: int
    figure_writes: int


def plans(connection: Connection) -> list[str]:
    """Return all plans, the smallest first."""
    rows = connection.execute("SELECT plan FROM plans ORDER BY sku_limit NULLS LAST").fetchall()
    return [row[0] for row in rows]


def allows_keys(connection: Connection, plan: str) -> bool:
    """Return whether a plan includes API keys (decisions §5)."""
    row = connection.execute("SELECT api_keys FROM plans WHERE plan = %s", [plan]).fetchone()
    return bool(row and row[0])


def add(
    connection: Connection, company_id: UUID, *, name: str, plan: str, at: datetime, sandbox_of: UUID | None = None
) -> None:
    """Add a company with its counter, in a transaction of the owner that has the company set."""
    connection.execute(_ADD, [company_id, name, plan, at, sandbox_of])
    connection.execute(_COUNTER, [company_id])


def find_company(connection: Connection, company_id: UUID) -> tuple[str, str] | None:
    """Return name and plan of the session's company; None for any other."""
    return connection.execute(_OF, [company_id]).fetchone()


def counters(connection: Connection) -> Counted:
    """Return the counters of the session's company; zeros where there is none."""
    return Counted(*(connection.execute(_COUNTED).fetchone() or (0, 0, 0)))


def set_plan(connection: Connection, company_id: UUID, plan: str) -> None:
    """Move a company to a plan, in a transaction of the owner; its records stay, whatever the new limit."""
    connection.execute("UPDATE companies SET plan = %s WHERE id = %s", [plan, company_id])


def every(connection: Connection) -> list[tuple[UUID, str, str]]:
    """Return id, name and plan of all companies, oldest first; only the owner sees more than one."""
    return connection.execute("SELECT id, name, plan FROM companies ORDER BY created_at, id").fetchall()


def ids(connection: Connection) -> list[UUID]:
    """Return the ids of all companies, oldest first; a session of no company may call it."""
    return [row[0] for row in connection.execute("SELECT pcds_company_ids()")]


def every_company(pool: Pool) -> list[UUID]:
    """Return the ids of all companies, oldest first, in a session of its own."""
    with pool.system() as connection:
        return ids(connection)


def account_of(connection: Connection, company_id: UUID) -> UUID | None:
    """Return the company whose sandbox the session's company is; None for a company of its own."""
    row = connection.execute("SELECT sandbox_of FROM companies WHERE id = %s", [company_id]).fetchone()
    return row[0] if row else None


_COMPANY: Final = "SELECT pcds_company_of_slug(%s)"
_SLUG: Final = "SELECT id, slug FROM pcds_slugs(%s)"
_OWN: Final = "SELECT slug FROM companies WHERE id = %s"


def own(connection: Connection, company_id: UUID) -> str:
    """Return the slug of the session's company."""
    row = connection.execute(_OWN, [company_id]).fetchone()
    assert row is not None, "a session sees its company"
    return str(row[0])


def slug_of(connection: Connection, company_ids: Sequence[UUID] | None = None) -> dict[UUID, str]:
    """Return the slugs of companies, or of all, oldest company first."""
    wanted = None if company_ids is None else list(company_ids)
    return dict(connection.execute(_SLUG, [wanted]).fetchall())


def company(connection: Connection, slug: str) -> UUID | None:
    """Return the company of a slug; None where no company has it."""
    row = connection.execute(_COMPANY, [slug]).fetchone()
    return None if row is None else row[0]


_OF_PLAN: Final = (
    "FROM companies JOIN plans USING (plan) "
    "JOIN company_counters AS counters ON counters.company_id = companies.id WHERE companies.id = %s"
)
_LOCKING: Final = "FOR UPDATE OF counters"
_ARCHIVED: Final = "EXISTS (SELECT FROM archived_skus WHERE returned_at IS NULL)"
_FORMER: Final = "EXISTS (SELECT FROM former_codes)"
_SKUS: Final = f"SELECT plans.sku_limit, counters.skus, {_ARCHIVED}, {_FORMER} {_OF_PLAN}"
_STORAGE: Final = f"SELECT plans.storage_bytes {_OF_PLAN} {_LOCKING}"
_STORED: Final = """
SELECT (SELECT coalesce(sum(size_bytes), 0) FROM imports WHERE upload_removed_at IS NULL)
     + (SELECT coalesce(sum(size_bytes), 0) FROM exports)
     + (SELECT coalesce(sum(size_bytes), 0)
        FROM (SELECT id, size_bytes FROM technical_files UNION SELECT id, size_bytes FROM review_files) AS files)
"""
"""A document that a review accepted is in both tables of files, under one id and once on the disk."""
_REPLACEABLE: Final = """
SELECT id, object_key, size_bytes, 'export' AS kind, created_at FROM exports WHERE status = 'completed'
UNION ALL SELECT id, upload_key, size_bytes, 'upload', created_at FROM imports
WHERE dry_run AND upload_removed_at IS NULL AND status IN ('completed', 'failed') ORDER BY kind, created_at, id
"""
_UPLOADS_REMOVED: Final = "UPDATE imports SET upload_removed_at = %s WHERE id = ANY(%s)"
_EXPORTS_REMOVED: Final = "DELETE FROM exports WHERE id = ANY(%s)"


class Skus(NamedTuple):
    """The plan's limit of SKUs, null for no limit, and the number of SKUs that the company has.

    `has_archived` says whether it also has archived SKUs, which the number leaves out, `has_former` whether some SKU
    was renamed and its former code not freed.
    """

    limit: int | None
    held: int
    has_archived: bool
    has_former: bool


class Replaceable(NamedTuple):
    """A stored file that can be had again: its key in the object store, and its size.

    `kind` is upload, of the import of the id, or export.
    """

    id: UUID
    key: str
    size_bytes: int
    kind: str


def skus(connection: Connection, company_id: UUID) -> Skus | None:
    """Return the session's company's SKUs and their limit; None for any other company."""
    row = connection.execute(_SKUS, [company_id]).fetchone()
    return None if row is None else Skus(*row)


def skus_locked(connection: Connection, company_id: UUID) -> Skus | None:
    """Return the same, and lock the counters until the transaction ends."""
    row = connection.execute(f"{_SKUS} {_LOCKING}", [company_id]).fetchone()
    return None if row is None else Skus(*row)


def storage_locked(connection: Connection, company_id: UUID) -> int | None:
    """Return the plan's limit of bytes for the session's company, null for no limit; locks the counters."""
    row = connection.execute(_STORAGE, [company_id]).fetchone()
    assert row is not None, "a session's company has a row and a counter"
    limit: int | None = row[0]
    return limit


def stored_bytes(connection: Connection) -> int:
    """Return the bytes of the company's technical files, uploads and exports; other derived files are not counted."""
    (total,) = connection.execute(_STORED).fetchone() or (0,)
    return int(total)


class Used(NamedTuple):
    """A company with the limits of its plan, null for none, and what is used of them; bytes and counts."""

    id: UUID
    name: str
    plan: str
    is_sandbox: bool
    sku_limit: int | None
    skus: int
    storage_limit: int | None
    stored: int
    open_exports: int
    webhooks: int
    audit_log: bool


_USED: Final = f"""
SELECT companies.id, companies.name, plan, sandbox_of IS NOT NULL, plans.sku_limit, counters.skus, plans.storage_bytes,
       ({_STORED})::bigint, (SELECT count(*) FROM exports WHERE status IN ('queued', 'processing')),
       (SELECT count(*) FROM webhooks), plans.audit_log {_OF_PLAN}"""


def used(connection: Connection, company_id: UUID) -> Used:
    """Return the session's company with its limits, and what is used of them."""
    row = connection.execute(_USED, [company_id]).fetchone()
    assert row is not None, "a session's company has a row and a counter"
    return Used(*row)


def replaceable(connection: Connection) -> list[Replaceable]:
    """Return the company's exports, then the uploads of its dry runs that have ended, each the oldest first."""
    return [Replaceable(*row[:4]) for row in connection.execute(_REPLACEABLE).fetchall()]


def removed(connection: Connection, files: Sequence[Replaceable], at: datetime) -> None:
    """Record that these files have been removed."""
    connection.execute(_UPLOADS_REMOVED, [at, [file.id for file in files if file.kind == "upload"]])
    connection.execute(_EXPORTS_REMOVED, [[file.id for file in files if file.kind == "export"]])


plans_table = Table(
    "plans",
    metadata,
    Column("plan", Text, primary_key=True),
    Column("sku_limit", Integer, comment="SKUs that the plan holds; null is no limit"),
    Column("connector_calls_per_minute", Integer, nullable=False),
    Column("audit_log", Boolean, nullable=False),
    Column("api_keys", Boolean, nullable=False, comment="keys without the operator's override"),
    Column("storage_bytes", BigInteger, comment="technical files and uploads that the plan stores; null is no limit"),
)

companies = Table(
    "companies",
    metadata,
    identity(),
    Column("name", Text, nullable=False),
    Column("plan", Text, ForeignKey("plans.plan"), nullable=False),
    instant("created_at"),
    Column(
        "slug",
        Text,
        nullable=False,
        unique=True,
        comment="names the company's partition in Dagster; made from its first name, never changed",
    ),
    Column("sandbox_of", Uuid, comment="the company whose test keys reach this one; null for a company of its own"),
    Column(
        "left_at",
        DateTime(timezone=True),
        comment="when a reset took its keys to a new sandbox; it is erased after that",
    ),
    Index("uq_companies_sandbox_of", "sandbox_of", unique=True, postgresql_where=text("left_at IS NULL")),
)

company_counters = Table(
    "company_counters",
    metadata,
    Column("company_id", Uuid, ForeignKey("companies.id"), primary_key=True),
    Column("skus", BigInteger, nullable=False, server_default="0", comment="held against the plan's limit"),
    Column("links", BigInteger, nullable=False, server_default="0", comment="of the audit chain"),
    Column("audit_entries", BigInteger, nullable=False, server_default="0"),
    Column("chain_hash", LargeBinary, comment="of the last link; null before the first"),
    Column(
        "unrelated_links",
        BigInteger,
        nullable=False,
        server_default="0",
        comment="links that changed nothing that figures are made from",
    ),
)

removed_companies = Table(
    "removed_companies",
    metadata,
    Column("company", Uuid, primary_key=True),
    Column("slug", Text, comment="names its runs in Dagster; null once the removal has ended"),
    Column("sandbox_of", Uuid, comment="the company whose test keys reached this one; null for a company of its own"),
    instant("begun_at"),
    Column(
        "ended_at",
        DateTime(timezone=True),
        comment="null where the removal was cut off and goes on when it is asked again",
    ),
    Column("rows", JSON, nullable=False, comment="how many were removed, by table"),
    Column("links", BigInteger, nullable=False),
    Column("entries", BigInteger, nullable=False),
    Column("chain_hash", LargeBinary, comment="of the last link"),
    Column("hashes", LargeBinary, nullable=False, comment="SHA-256 over the hashes of all links in their order"),
    Column("certificate", JSON),
)

removed_links = Table(
    "removed_links",
    metadata,
    Column("company", Uuid, primary_key=True),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("entries", Integer, nullable=False),
    Column("hash", LargeBinary, nullable=False),
)

api_keys = Table(
    "api_keys",
    metadata,
    identity(),
    company_base(),
    Column("name", Text, nullable=False),
    Column("key_hash", LargeBinary, nullable=False, unique=True, comment="SHA-256 of the key"),
    Column("scopes", ARRAY(Text), nullable=False),
    instant("created_at"),
    instant("revoked_at", nullable=True),
    Column("last_used_at", DateTime(timezone=True), comment="of a request with the key or a token of it, to the hour"),
)
