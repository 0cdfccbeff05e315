"""Adds the chain of hashes over the audit ledger.

Existing entries are numbered by time and linked as they are: the chain shows later changes of them, not earlier ones.
The tables' row-level security binds their owner too, so it is not forced while they are linked.
"""

from alembic import op

from warehouse.audit.chain import VERSIONS

revision = "0006"
down_revision = "0005"

_DIGEST = VERSIONS[1]
_READ = ("audit_entries", "audit_transactions", "company_counters", "sku_versions", "skus")

_COLUMNS = """
ALTER TABLE company_counters
    ADD links BIGINT DEFAULT '0' NOT NULL, ADD audit_entries BIGINT DEFAULT '0' NOT NULL, ADD chain_hash BYTEA;
ALTER TABLE audit_transactions
    ADD number BIGINT, ADD first_entry BIGINT, ADD entries INTEGER, ADD digest_version INTEGER, ADD hash BYTEA;
ALTER TABLE audit_entries ADD digest BYTEA, ALTER id DROP IDENTITY, DROP CONSTRAINT pk_audit_entries
"""
_NUMBER_TRANSACTIONS = """
UPDATE audit_transactions AS t
SET number = n.number, first_entry = n.last_entry - n.entries + 1, entries = n.entries, digest_version = 1
FROM (
    SELECT id, entries, row_number() OVER company AS number, sum(entries) OVER company AS last_entry
    FROM (SELECT id, company_id, at, (SELECT count(*) FROM audit_entries e WHERE e.transaction_id = a.id) AS entries
          FROM audit_transactions a) AS counted
    WINDOW company AS (PARTITION BY company_id ORDER BY at, id)
) AS n
WHERE n.id = t.id
"""
_NUMBER_ENTRIES = f"""
WITH versions AS (
    SELECT id, version, {_DIGEST.of_row("skus")} AS digest FROM skus
    UNION ALL SELECT id, version, {_DIGEST.of_row("sku_versions")} FROM sku_versions
), numbered AS (
    SELECT e.company_id, e.id, t.first_entry - 1 + row_number() OVER (PARTITION BY t.id ORDER BY e.id) AS number
    FROM audit_entries e JOIN audit_transactions t ON t.id = e.transaction_id
)
UPDATE audit_entries AS e
SET id = numbered.number, digest = {_DIGEST.of_entry({name: f"e.{name}" for name in _DIGEST.entry}, "versions.digest")}
FROM numbered JOIN audit_entries AS same USING (company_id, id)
LEFT JOIN versions ON versions.id::text = same.resource_id AND versions.version = same.version
WHERE e.company_id = same.company_id AND e.id = same.id
"""
_CHAIN = "CREATE AGGREGATE pg_temp.chained(bytea) (SFUNC = pg_temp.link, STYPE = bytea, INITCOND = '')"
_LINK = """
CREATE FUNCTION pg_temp.link(previous bytea, content bytea) RETURNS bytea LANGUAGE sql IMMUTABLE
RETURN sha256(previous || content)
"""
_ENTRIES = "(SELECT string_agg(e.digest, ''::bytea ORDER BY e.id) FROM audit_entries e WHERE e.transaction_id = t.id)"
_HASH = f"""
UPDATE audit_transactions AS t SET hash = chain.hash
FROM (SELECT t.id, pg_temp.chained({_DIGEST.content({name: f"t.{name}" for name in _DIGEST.link}, _ENTRIES)})
                   OVER (PARTITION BY t.company_id ORDER BY t.number) AS hash
      FROM audit_transactions AS t) AS chain
WHERE chain.id = t.id
"""
_COUNT = """
UPDATE company_counters AS c
SET links = last.number, audit_entries = last.first_entry + last.entries - 1, chain_hash = last.hash
FROM (SELECT DISTINCT ON (company_id) * FROM audit_transactions ORDER BY company_id, number DESC) AS last
WHERE last.company_id = c.company_id
"""
_KEYS = """
ALTER TABLE audit_transactions
    ALTER number SET NOT NULL, ALTER first_entry SET NOT NULL, ALTER entries SET NOT NULL,
    ALTER digest_version SET NOT NULL, ALTER hash SET NOT NULL,
    ADD CONSTRAINT uq_audit_transactions_company_id_number UNIQUE (company_id, number);
CREATE INDEX ix_audit_transactions_company_id_at ON audit_transactions (company_id, at);
ALTER TABLE audit_entries ALTER digest SET NOT NULL, ADD CONSTRAINT pk_audit_entries PRIMARY KEY (company_id, id)
"""
_COMMENTS = """
COMMENT ON COLUMN company_counters.skus IS 'held against the plan''s limit';
COMMENT ON COLUMN company_counters.links IS 'of the audit chain';
COMMENT ON COLUMN company_counters.chain_hash IS 'of the last link; null before the first';
COMMENT ON COLUMN audit_transactions.number IS 'of the link in the company''s chain, from 1';
COMMENT ON COLUMN audit_transactions.first_entry IS 'the lowest id of its entries, which follow each other';
COMMENT ON COLUMN audit_transactions.entries IS 'how many they are';
COMMENT ON COLUMN audit_transactions.digest_version IS 'what the hash is made of (warehouse.audit.chain)';
COMMENT ON COLUMN audit_transactions.hash IS 'over the hash of the link before and all of this one';
COMMENT ON COLUMN audit_entries.id IS 'number in the company''s ledger, from 1';
COMMENT ON COLUMN audit_entries.digest IS 'over the entry and the row version that it names'
"""
_ANONYMISE = """
CREATE FUNCTION pcds_anonymise(before timestamptz) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    WITH ours AS (SELECT nullif(current_setting('app.company_id', true), '')::uuid AS id),
    transactions AS (
        UPDATE audit_transactions SET ip = NULL, user_agent = NULL FROM ours
        WHERE company_id = ours.id AND at <= before AND (ip IS NOT NULL OR user_agent IS NOT NULL)
        RETURNING 1
    ),
    submissions AS (
        UPDATE imports SET ip = NULL, user_agent = NULL FROM ours
        WHERE company_id = ours.id AND created_at <= before AND (ip IS NOT NULL OR user_agent IS NOT NULL)
        RETURNING 1
    )
    SELECT (SELECT count(*) FROM transactions) + (SELECT count(*) FROM submissions)
$$
"""


def upgrade() -> None:
    """Add the columns, link existing entries, and grant one narrow way to remove addresses and agents."""
    _each(_COLUMNS)
    for table in _READ:
        op.execute(f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY")
    op.execute("SET LOCAL client_encoding = 'UTF8'")
    op.execute("SET LOCAL statement_timeout = 0")  # the tables are locked: a ledger of millions takes minutes, once
    for statement in (_NUMBER_TRANSACTIONS, _NUMBER_ENTRIES, _LINK, _CHAIN, _HASH, _COUNT):
        op.get_bind().exec_driver_sql(statement)
    for table in _READ:
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
    _each(_KEYS)
    _each(_COMMENTS)
    op.execute(_ANONYMISE)
    op.execute("REVOKE ALL ON FUNCTION pcds_anonymise(timestamptz) FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION pcds_anonymise(timestamptz) TO pcds_app")


def _each(statements: str) -> None:
    for statement in statements.split(";\n"):
        op.execute(statement)
