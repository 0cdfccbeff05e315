"""The chain holds over everything that writes, and every way to tamper with it is found at the right entry."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from services.audit import verify
from warehouse.audit.chain import CURRENT
from warehouse.audit.ledger import audit_entries, audit_transactions
from warehouse.operate.measures import anonymise
from warehouse.skus.tables import sku_versions, skus

CAP = {"component_type": "cap", "material_family": "plastic", "weight_g": 2}


@pytest.fixture
def chain(write, enter, company, owner):
    """Eight entries in five links: two SKUs created, one changed, a brand, three SKUs changed, one more changed.

    Whatever was done to it, it can be added to afterwards: a catalogue that another test refreshes is entered into the
    ledger of every company.
    """
    write({"sku_code": "A"}, {"sku_code": "B", "components": [CAP]})
    write({"sku_code": "A", "weight_grams": 2.5})
    enter(company, "brand.created", "b-1", after={"name": "Été"})
    write(*({"sku_code": code, "name": "new"} for code in "ABC"))
    write({"sku_code": "C", "markets": ["FR"]})
    yield company
    owner.execute(
        "UPDATE company_counters SET links = greatest(links, 5), audit_entries = greatest(audit_entries, 9) "
        "WHERE company_id = %s",
        [company],
    )


@pytest.fixture
def verdict(pool, chain):
    def verdict():
        with pool.company(chain) as conn:
            found = verify(conn)
        return found.entries, found.first_bad

    return verdict


def test_an_untouched_ledger_holds_and_so_does_an_empty_one(verdict, pool, new_company):
    assert verdict() == (8, None)
    with pool.company(new_company("enterprise")) as conn:
        assert (verify(conn).entries, verify(conn).ok) == (0, True)


TAMPERED = {
    "action": ("UPDATE audit_entries SET action = 'sku.created' WHERE id = 3 AND company_id = %s", "3"),
    "resource": ("UPDATE audit_entries SET resource_id = 'x' WHERE id = 3 AND company_id = %s", "3"),
    "after": ("""UPDATE audit_entries SET after = '{"name": "Ete"}' WHERE id = 4 AND company_id = %s""", "4"),
    "before": ("UPDATE audit_entries SET before = '{}' WHERE id = 4 AND company_id = %s", "4"),
    "digest": ("UPDATE audit_entries SET digest = sha256('') WHERE id = 6 AND company_id = %s", "5"),
    "entry removed": ("DELETE FROM audit_entries WHERE id = 6 AND company_id = %s", "6"),
    "last entry removed": ("DELETE FROM audit_entries WHERE id = 8 AND company_id = %s", "8"),
    "first entry removed": ("DELETE FROM audit_entries WHERE id = 1 AND company_id = %s", "1"),
    "actor": ("UPDATE audit_transactions SET actor_name = 'Else' WHERE number = 2 AND company_id = %s", "3"),
    "reason": ("UPDATE audit_transactions SET reason = 'why not' WHERE number = 4 AND company_id = %s", "5"),
    "instant": ("UPDATE audit_transactions SET at = at + interval '1 s' WHERE number = 1 AND company_id = %s", "1"),
    "correlation": ("UPDATE audit_transactions SET correlation_id = '' WHERE number = 5 AND company_id = %s", "8"),
    "count": ("UPDATE audit_transactions SET entries = 4 WHERE number = 4 AND company_id = %s", "5"),
    "digest version": ("UPDATE audit_transactions SET digest_version = 9 WHERE number = 5 AND company_id = %s", "8"),
    "link removed": ("DELETE FROM audit_transactions WHERE number = 3 AND company_id = %s", "4"),
    "last link removed": ("DELETE FROM audit_transactions WHERE number = 5 AND company_id = %s", "8"),
    "held version": ("UPDATE skus SET weight_grams = 3 WHERE sku_code = 'A' AND company_id = %s", "5"),
    "held grade": ("UPDATE skus SET recyclability_grade = 'A' WHERE sku_code = 'C' AND company_id = %s", "8"),
    "line of the file": ("UPDATE skus SET import_line = 2 WHERE sku_code = 'C' AND company_id = %s", "8"),
    "former version": ("UPDATE sku_versions SET name = 'o' WHERE sku_code = 'B' AND company_id = %s", "2"),
    "former graph": ("UPDATE sku_versions SET components = '[]' WHERE sku_code = 'B' AND company_id = %s", "2"),
    "former version removed": (
        "DELETE FROM sku_versions WHERE version = 2 AND sku_code = 'A' AND company_id = %s",
        "3",
    ),
    "counters set back": ("UPDATE company_counters SET audit_entries = 7, links = 4 WHERE company_id = %s", "8"),
    "head": ("UPDATE company_counters SET chain_hash = sha256('') WHERE company_id = %s", "8"),
    "forged": (
        """INSERT INTO audit_entries (company_id, id, transaction_id, action, resource_id, digest)
        SELECT company_id, 9, transaction_id, 'brand.created', 'b-2', digest FROM audit_entries
        WHERE id = 8 AND company_id = %s""",
        "8",
    ),
}


@pytest.mark.parametrize(("statement", "first_bad"), TAMPERED.values(), ids=TAMPERED)
def test_what_the_owner_changes_is_found(verdict, owner, chain, statement, first_bad):
    assert owner.execute(statement, [chain]).rowcount == 1
    assert verdict()[1] == first_bad


def test_a_transaction_removed_with_its_entries_is_found_also_at_the_end(verdict, owner, chain):
    for number, first in ((5, "8"), (2, "3")):
        owner.execute(
            "WITH gone AS (DELETE FROM audit_transactions WHERE number = %s AND company_id = %s RETURNING id) "
            "DELETE FROM audit_entries USING gone WHERE transaction_id = gone.id",
            [number, chain],
        )
        assert verdict()[1] == first


def test_a_row_version_that_nobody_entered_is_found(verdict, owner, chain):
    (sku_id,) = owner.execute(
        "INSERT INTO sku_versions SELECT (jsonb_populate_record(v, '{\"version\": 7}')).* FROM sku_versions v "
        "WHERE sku_code = 'B' AND company_id = %s RETURNING id",
        [chain],
    ).fetchone()
    assert verdict() == (8, str(sku_id))


def test_two_entries_that_change_places_are_found(verdict, owner, chain):
    with owner.transaction():
        for old, new in ((5, 0), (6, 5), (0, 6)):
            owner.execute("UPDATE audit_entries SET id = %s WHERE id = %s AND company_id = %s", [new, old, chain])
    assert verdict()[1] == "5"


def test_one_companys_ledger_says_nothing_of_anothers(verdict, owner, enter, pool, new_company):
    other = new_company("enterprise")
    enter(other, "company.created", str(other), after={})
    owner.execute("DELETE FROM audit_entries WHERE company_id = %s", [other])
    assert verdict() == (8, None)
    with pool.company(other) as conn:
        assert verify(conn).first_bad == "1"


def test_writers_at_once_make_one_chain(write, pool, company):
    def one(number: int) -> None:
        for weight in range(3):
            write({"sku_code": f"S{number % 4}", "weight_grams": number + weight / 4}, {"sku_code": f"T{number}"})

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(one, range(16)))
    with pool.company(company) as conn:
        found = verify(conn)
        entered = "SELECT sum(entries), count(*), max(number) FROM audit_transactions"
        total, links, last = conn.execute(entered).fetchone()
    assert (found.first_bad, found.entries, links) == (None, total, last)


def test_forgetting_addresses_breaks_nothing(verdict, pool, chain, clock):
    with pool.company(chain) as conn:
        assert anonymise(conn, clock.now().replace(year=2028)) == 5
    assert verdict() == (8, None)


def test_the_digest_covers_every_column_that_is_stored():
    """A column added later goes into a new version of the digest; see warehouse/audit/chain.py.

    One that Postgres computes from the others needs no digest of its own.
    """
    stored = {column.name for column in skus.columns if column.computed is None}
    assert set(CURRENT.row) == stored == {c.name for c in sku_versions.columns}
    assert set(CURRENT.entry) == {column.name for column in audit_entries.columns} - {
        "id",
        "company_id",
        "transaction_id",
        "digest",
    }
    assert set(CURRENT.link) == {column.name for column in audit_transactions.columns} - {
        "ip",
        "user_agent",
        "digest_version",
        "hash",
        "visible_at",
        "of_figures",  # follows from the actions of its entries, and starts a publication at most
    }
