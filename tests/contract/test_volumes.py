"""PUT /skus/{id}/volumes: the units placed on each market in each period."""

from datetime import UTC, datetime
from uuid import uuid4

import pytest

from tests.contract.outside import codes, good, refused
from tests.contract.shapes import faults


def row(market: str = "FR", year: int = 2026, units: int | None = 1000, **more: object) -> dict[str, object]:
    return {"market": market, "year": year, "units_placed": units, **more}


@pytest.fixture
def sku(shop):
    return shop.made(markets=["FR", "GB", "DE"])


@pytest.fixture
def put(shop, sku):
    """Sends rows for the SKU."""
    return lambda rows, **params: shop.put(f"/skus/{sku['id']}/volumes", rows, params=params)


@pytest.fixture
def held(shop, sku):
    """The rows that the SKU holds, without regard to order."""

    def read():
        rows = shop.data(f"/skus/{sku['id']}")["volumes"]
        return {(r["market"], r["year"], r["half"]): r["units_placed"] for r in rows}

    return read


@pytest.mark.promise("VOL-01", "VOL-05", "VOL-08", "VOL-09", "VOL-03")
def test_rows_are_upserted_one_per_market_year_and_half(put, held):
    first = good(put([row(), row("GB", half=1), row("GB", half=2, units=0)]))
    assert (first["dry_run"], first["warnings"]) == (False, [])
    assert [fault for read in first["data"] for fault in faults("VolumeRow", read)] == []
    assert first["data"] == [row(half=0), row("GB", half=1), row("GB", half=2, units=0)]
    good(put([row(units=7), row("DE", 2025)]))
    assert held() == {("FR", 2026, 0): 7, ("GB", 2026, 1): 1000, ("GB", 2026, 2): 0, ("DE", 2025, 0): 1000}


@pytest.mark.promise("VOL-04")
def test_null_clears_a_row_and_says_so(put, held):
    good(put([row(), row("DE")]))
    cleared = good(put([row(units=None)]))
    assert cleared["data"] == [row(units=None, half=0)]
    assert held() == {("DE", 2026, 0): 1000}


@pytest.mark.promise("VOL-02")
def test_a_market_is_any_code_of_the_catalogue_in_any_spelling(shop, put):
    assert [r["market"] for r in good(put([row("uk"), row("us_ca"), row("fr-idf"), row("ca qc")]))["data"]] == [
        "GB",
        "US-CA",
        "FR",
        "CA-QC",
    ]
    catalogue = [entry["code"] for entry in shop.data("/jurisdictions", limit=200)]
    assert len(good(put([row(code) for code in catalogue]))["data"]) == len(catalogue)
    for unserved in ("JP", "ZZ", "Europe"):
        assert unserved in catalogue or codes(put([row(unserved)])) == ["unknown_market"]


@pytest.mark.promise("VOL-10", "ERR-02")
def test_a_refused_row_refuses_all_and_is_named_by_its_index(put, held):
    good(put([row()]))
    issues = refused(put([row(units=5), row("ZZ"), row(units=-1, year=1999)]), 400, "invalid_body")
    assert {(issue["row"], issue["code"]) for issue in issues} == {(1, "unknown_market"), (2, "out_of_range")}
    twice = refused(put([row("gb"), row(units=5), row("UK")]), 400, "invalid_body")
    assert {issue["code"] for issue in twice} == {"duplicate_row"}
    assert {issue["row"] for issue in twice} <= {0, 2}
    assert held() == {("FR", 2026, 0): 1000}


@pytest.mark.promise("VOL-01", "VOL-03", "END-04")
@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"year": 1999}, "out_of_range"), ({"year": 2101}, "out_of_range"), ({"year": "2026"}, "invalid_type"),
        ({"year": 2026.5}, "invalid_type"), ({"half": 3}, None), ({"half": 1}, "out_of_range"),
        ({"units_placed": -1}, "out_of_range"), ({"units_placed": 1.5}, "invalid_type"),
        ({"units_placed": "9"}, "invalid_type"), ({"market": None}, None), ({"market": 7}, "invalid_type"),
        ({"note": "x"}, "unknown_field"),
    ],
)  # fmt: skip
def test_a_row_is_held_to_its_types_and_bounds(put, held, change, code):
    found = codes(put([{**row(), **change}]))
    assert len(found) == 1
    assert code in (None, *found), found
    assert held() == {}


@pytest.mark.promise("VOL-01")
def test_the_ends_of_the_bounds_are_taken_and_what_is_required_is_asked_for(put):
    assert good(put([row(year=2000), row(year=2100, units=10**9)]))["data"]
    for missing in ("market", "year", "units_placed"):
        found = put([{name: value for name, value in row().items() if name != missing}])
        assert codes(found) == ["required"]
    assert codes(put({"rows": []})) == ["invalid_type"]
    assert codes(put("rows")) == ["invalid_type"]


@pytest.mark.promise("VOL-11", "VOL-09", "PAR-03")
def test_an_unknown_sku_is_not_found_and_a_dry_run_keeps_nothing(shop, put, held):
    refused(shop.put(f"/skus/{uuid4()}/volumes", [row()]), 404, "not_found")
    dry = good(put([row()], dry_run="true"))
    assert (dry["dry_run"], dry["data"]) == (True, [row(half=0)])
    assert held() == {}
    large = b"[]".ljust(2 * 2**20 + 1)
    refused(shop.request("PUT", f"/skus/{uuid4()}/volumes", content=large), 413, "payload_too_large")


@pytest.mark.promise("VOL-12")
def test_a_market_that_the_sku_does_not_name_is_a_warning(shop, put, sku):
    answer = good(put([row("FR"), row("IT"), row("ES", units=None)]))
    assert [(warning["code"], warning["row"]) for warning in answer["warnings"]] == [("market_not_named", 1)]
    anywhere = shop.made()
    assert good(shop.put(f"/skus/{anywhere['id']}/volumes", [row("IT")]))["warnings"] == []


@pytest.mark.promise("VOL-07")
def test_an_import_column_and_this_endpoint_write_the_same_datum(shop, sku, put, held):
    year = datetime.now(UTC).year
    header = f"sku_code;name;annual_volume_fr;annual_volume_de_2025;annual_volume_gb_{year}_h1"
    report = shop.imported(f"{header}\n{sku['sku_code']};Bottle;10;20;30\n".encode())
    assert report["counts"]["updated"] == 1, report
    expected = {("FR", year, 0): 10, ("DE", 2025, 0): 20, ("GB", year, 1): 30}
    assert held() == expected
    stored = shop.data(f"/skus/{sku['id']}")
    rows = [row(market, at, units, half=half) for (market, at, half), units in expected.items()]
    assert good(put(rows))["data"] == rows
    assert shop.data(f"/skus/{sku['id']}") == stored
