"""The lists: pages, clamps, orders, and the records of the library and of declarations."""

import pytest

from tests.contract.outside import good, refused
from tests.contract.samples import PDF
from tests.contract.shapes import faults

LISTS = ["/skus", "/components", "/sites", "/brands", "/docs", "/audit-log", "/jurisdictions"]


@pytest.mark.promise("PAR-01", "PAR-02", "PAR-05", "CNV-11", "ERR-15")
@pytest.mark.parametrize("path", [*LISTS, "files", "import"])
def test_every_list_and_report_clamps_its_page(shop, path):
    if path == "files":
        path = f"/skus/{shop.made()['id']}/files"
    elif path == "import":
        done = shop.imported(b"sku_code;name;gtin\nPAGE-1;Page;123\n")
        path = f"/imports/{done['id']}"
    for sent, limit, offset in (
        ({}, 50, 0),
        ({"limit": 0, "offset": -5}, 1, 0),
        ({"limit": 201}, 200, 0),
        ({"limit": -1}, 1, 0),
        ({"limit": 7, "offset": 3}, 7, 3),
        ({"limit": 10**12, "sort": "name"}, 200, 0),
    ):
        page = good(shop.get(path, params=sent))["pagination"]
        assert (page["limit"], page["offset"]) == (limit, offset)
        assert page["total"] >= 0
    for wrong in ({"limit": "ten"}, {"offset": "1.5"}, {"limit": ""}):
        [issue] = refused(shop.get(path, params=wrong), 400, "invalid_body")
        assert (issue["field"], issue["code"]) == (*wrong, "invalid_type")


@pytest.mark.promise("LST-02", "LST-06", "CNV-01", "CNV-11")
def test_the_library_is_listed_in_order_with_every_field(caller):
    supplier = caller.added("supplier", name="Caps Ltd")
    for name in ("Beta", "Alpha", "Gamma"):
        caller.added("brand", name=name, owner_name=f"{name} Holding")
        caller.added("site", name=name, roles="packing", country="fr", city="Lyon")
        caller.added(
            "component",
            code=f"C-{name}",
            name=name[::-1],
            component_type="cap",
            material_family="plastic",
            polymer_or_grade="HDPE",
            weight_g=1.5,
            supplier_id=supplier["id"],
            colour="light",
        )
    caller.added("brand", name="Delta")
    for path, kind, key, order in (
        ("/brands", "Brand", "name", ["Alpha", "Beta", "Delta", "Gamma"]),
        ("/sites", "Site", "name", ["Alpha", "Beta", "Gamma"]),
        ("/components", "LibraryComponent", "code", ["C-Alpha", "C-Beta", "C-Gamma"]),
    ):
        page = good(caller.get(path))
        assert [record[key] for record in page["data"]] == order
        assert [fault for record in page["data"] for fault in faults(kind, record)] == []
        assert page["pagination"] == {"limit": 50, "offset": 0, "total": len(order)}
        assert good(caller.get(path, params={"limit": 1, "offset": 1}))["data"] == page["data"][1:2]
    site = caller.data("/sites")[0]
    assert (site["roles"], site["country"], site["city"]) == (["packing"], "FR", "Lyon")
    assert caller.data("/components")[0]["weight_g"] == 1.5


@pytest.mark.promise("LST-07", "CNV-08")
@pytest.mark.parametrize("path", ["/components", "/sites", "/brands", "/docs", "/audit-log", "/jurisdictions"])
def test_what_is_read_only_takes_get_alone(caller, path):
    """What is listed is changed or removed by nobody; our own POST beside the contract adds to the library."""
    added_to = path in ("/components", "/sites", "/brands")
    for method in ("PUT", "DELETE", "PATCH") if added_to else ("POST", "PUT", "DELETE", "PATCH"):
        answer = caller.request(method, path, json={})
        refused(answer, 405, "not_found")
        assert "GET" in answer.headers["Allow"]


@pytest.mark.promise("LST-08", "DLI-01", "DLI-02", "DLI-03")
def test_docs_are_listed_newest_first_as_metadata(caller):
    sku = caller.made()
    statuses = ("draft", "pending", "valid", "expired", "rejected")
    for status in statuses:
        caller.added(
            "doc",
            sku=sku["sku_code"],
            reference=f"R-{status}",
            status=status,
            issued_on="2026-01-01",
            expires_on="2099-01-01",
            supplier_name="Caps Ltd",
        )
    page = good(caller.get("/docs"))
    assert [doc["status"] for doc in page["data"]] == list(reversed(statuses))
    assert [fault for doc in page["data"] for fault in faults("DocListItem", doc)] == []
    assert all(doc["sku_id"] == sku["id"] and doc["supplier_name"] == "Caps Ltd" for doc in page["data"])
    names = {
        "id",
        "sku_id",
        "reference",
        "supplier_name",
        "status",
        "issued_on",
        "expires_on",
        "created_at",
        "updated_at",
    }
    assert all(set(doc) == names for doc in page["data"])
    assert good(caller.get("/docs?limit=2&offset=3"))["data"] == page["data"][3:]


@pytest.mark.promise("FIL-02")
def test_no_list_gives_out_the_bytes_of_a_file(caller):
    sku = caller.made()
    marker = b"unmistakable bytes of a file"
    good(
        caller.request(
            "POST",
            f"/skus/{sku['id']}/files",
            data={"type": "packaging_photo"},
            files={"file": ("a.pdf", PDF + marker, "application/pdf")},
        )
    )
    for path in (*LISTS, f"/skus/{sku['id']}", f"/skus/{sku['id']}/files"):
        assert marker not in caller.get(path).content
