"""Figures over REST: a company's tonnes, what they leave out and why, and its duties, after a rollup."""

import pytest

from tests.contract.outside import codes, good, refused

CUP = [{"component_type": "body", "material_family": "glass", "polymer_or_grade": "glass", "weight_g": 100}]
LISTS = ("tonnes", "uncounted", "undecided", "obligations")


def placed(caller, components, units):
    sku = caller.made(packaging_level="sales", components=components)
    rows = [{"market": "DE", "year": 2025, "units_placed": units}]
    good(caller.put(f"/skus/{sku['id']}/volumes", rows))
    return sku["sku_code"]


@pytest.mark.long  # the command that computes figures starts Dagster
@pytest.mark.promise("FIG-01", "FIG-02", "FIG-04")
def test_figures_are_read_with_their_instant_and_what_they_leave_out(caller):
    empty = good(caller.get("/figures/tonnes"))
    assert (empty["data"], empty["as_of"]) == ([], None)
    cup = placed(caller, CUP, 1_000)
    bare = placed(caller, [{**CUP[0], "weight_g": None}], 5)
    caller.server.place.pcds("rollup", "--company", caller.company)
    tonnes = good(caller.get("/figures/tonnes", params={"market": "DE", "year": 2025}))
    assert [(row["category_code"], row["tonnes"], row["skus"]) for row in tonnes["data"]] == [("glass", 0.1, 1)]
    assert (tonnes["newer_writes"], tonnes["pagination"]["total"]) == (0, 1)
    assert {name for name in ("as_of", "snapshot", "ruleset_version", "catalogue_hash") if not tonnes[name]} == set()
    [left_out] = caller.data("/figures/uncounted")
    assert (left_out["sku_code"], left_out["reason"], left_out["fields"]) == (
        bare,
        "weight_missing",
        ["components[0].weight_g"],
    )
    assert cup in {row["sku_code"] for row in caller.data("/figures/undecided")}
    duties = caller.data("/figures/obligations", market="DE")
    assert {row["verdict"] for row in duties} <= {"above", "near", "below", "undecidable"}
    assert all(row["source_url"] and row["confidence"] for row in duties)
    caller.made()
    assert good(caller.get("/figures/tonnes"))["newer_writes"] == 1


@pytest.mark.promise("FIG-03")
@pytest.mark.parametrize("name", LISTS)
def test_a_filter_that_cannot_be_is_refused_and_the_scope_is_read(shop, name):
    assert codes(shop.get(f"/figures/{name}", params={"market": "Germany"})) == ["unknown_market"]
    assert codes(shop.get(f"/figures/{name}", params={"year": "last"})) == ["out_of_range"]
    writer = shop.server.keyed(shop.company, scopes="write")
    refused(writer.get(f"/figures/{name}"), 403, "insufficient_scope")
