"""What an import leaves in the ledger: its submission, one entry per SKU it changed, its end, linked chunk by chunk."""

import psycopg

from services import audit
from services.audit import verify
from warehouse.audit import ledger

FILE = "sku_code;name;weight_grams\n" + "".join(f"S{n};Bottle {n};{n},5\n" for n in range(1, 9))


def entries(desk, **filters):
    with desk.pool.company(desk.company) as conn:
        return audit.page_of(ledger.page(50, 0, filters).read(conn))["data"]


def test_an_imports_entries_name_the_import_and_the_request_that_sent_the_file(desk):
    import_id = desk.send(FILE, filename="stock.csv")
    assert desk.finish(import_id)
    shown = entries(desk)
    assert [e["action"] for e in shown] == ["import.completed", *["sku.created"] * 8, "import.submitted"]
    by_import = {"type": "import", "id": str(import_id), "name": "stock.csv"}
    assert [e["actor"] for e in shown[:-1]] == [by_import] * 9
    assert (shown[-1]["actor"]["type"], shown[-1]["actor"]["name"]) == ("api_key", "ERP")
    assert {e["correlation_id"] for e in shown} == {"correlation-1"}
    assert [e["after"]["weight_grams"] for e in shown[1:9]] == [n + 0.5 for n in range(8, 0, -1)]
    assert shown[0]["after"]["counts"]["created"] == 8


def test_filters_find_entries_inside_the_chunks_that_hold_them(desk):
    assert desk.finish(desk.send(FILE))
    assert desk.finish(desk.send(FILE.replace("S2;Bottle 2;2,5", "S2;Flask;2,5")))
    [updated] = entries(desk, actions=["sku.updated"])
    assert (updated["before"], updated["after"]) == ({"name": "Bottle 2"}, {"name": "Flask"})
    assert len(entries(desk, actor="import")) == 8 + 1 + 2


def test_the_chain_holds_over_chunks_and_finds_a_line_that_was_altered(desk):
    assert desk.finish(desk.send(FILE))
    with desk.pool.company(desk.company) as conn:
        assert verify(conn).first_bad is None
    with psycopg.connect(desk.database.owner_url) as owner:
        owner.execute("UPDATE skus SET import_line = 9 WHERE sku_code = 'S5' AND company_id = %s", [desk.company])
    with desk.pool.company(desk.company) as conn:
        assert verify(conn).first_bad == "6"
