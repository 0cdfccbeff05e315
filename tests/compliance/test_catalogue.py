"""The catalogue of jurisdictions: the pinned file is right, and a wrong one is refused with its fault."""

import csv
from datetime import date

import pytest

from compliance import catalogue
from compliance.tables import TableError

TODAY = date(2026, 11, 21)


def _write(path, change):
    with catalogue.PINNED.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    change(rows)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    return path


def _row(rows, code):
    return next(row for row in rows if row["code"] == code)


def test_the_pinned_catalogue_serves_the_union_the_kingdom_and_sorts_by_code():
    served = catalogue.served(catalogue.pinned())
    codes = [entry.code for entry in served]
    assert len(codes) == 49
    assert codes == sorted(codes)
    assert {"GB", "US", "CA", "US-CA", "FR"} <= set(codes)
    assert sum(entry.region == "eu" for entry in served) == 27


def test_the_union_is_known_by_its_states_and_their_regions():
    assert {"FR", "BE", "BE-VLG"} <= catalogue.eu_codes()
    assert catalogue.eu_codes().isdisjoint({"GB", "CH", "NO", "US"})


def test_an_entry_is_published_with_what_the_list_promises():
    france = next(entry for entry in catalogue.pinned() if entry.code == "FR").as_dict(TODAY)
    assert {"code", "name", "system", "depth", "verified_on"} <= set(france)
    assert france["depth"] == 2


def test_coverage_counts_each_served_entry_once_in_every_breakdown():
    served = catalogue.served(catalogue.pinned())
    coverage = catalogue.coverage(served, TODAY)
    assert coverage["guided"] + coverage["sourced"] + coverage["signalled"] == len(served)
    assert [sum(counts.values()) for counts in coverage["breakdown"].values()] == [len(served)] * 2
    assert date.fromisoformat(coverage["newest_verified_on"]) <= TODAY


@pytest.mark.parametrize(
    ("today", "depth"),
    [(date(2026, 2, 28), 3), (date(2026, 3, 1), 2), (date(2025, 1, 1), 3)],
)
def test_a_lawyers_review_holds_eighteen_months_and_not_a_day_longer(tmp_path, today, depth):
    path = _write(tmp_path / "j.csv", lambda rows: _row(rows, "FR").update(reviewed_on="2024-08-31", depth="3"))
    france = next(entry for entry in catalogue.load(path) if entry.code == "FR")
    assert france.depth(today) == depth


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda rows: rows.remove(_row(rows, "GB")), "GB is missing"),
        (lambda rows: rows.remove(_row(rows, "MT")), "26 Member States"),
        (lambda rows: rows.append(_row(rows, "FR")), "FR stands 2 times"),
        (lambda rows: _row(rows, "FR").update(code="XX"), "XX: no ISO 3166 code"),
        (lambda rows: _row(rows, "US-CA").update(parent_code=""), "US-CA: parent_code"),
        (lambda rows: _row(rows, "FR").update(source_note="A unit costs €0.02"), "amount of money"),
        (lambda rows: _row(rows, "FR").update(system="minimum 80 EUR a year"), "amount of money"),
        (lambda rows: _row(rows, "FR").update(source_url="", source_note=""), "FR: no source"),
        (lambda rows: _row(rows, "FR").update(verified_on="2026-08"), "verified_on must be a full date"),
        (lambda rows: _row(rows, "FR").update(composite_rule="main"), "FR: composite_rule is one of"),
        (lambda rows: _row(rows, "FR").update(composite_threshold_percent="few"), "FR: composite_threshold_percent"),
        (lambda rows: _row(rows, "FR").update(depth="3"), "3 only with reviewed_on"),
        (lambda rows: [row.pop("law_date") for row in rows], "column law_date is missing"),
    ],
)
def test_a_catalogue_with_a_fault_is_refused_and_the_fault_named(tmp_path, change, fault):
    with pytest.raises(TableError, match=fault):
        catalogue.load(_write(tmp_path / "j.csv", change))


def test_each_row_of_the_catalogue_says_how_old_and_how_sure_it_is():
    listed = catalogue.listed_rows()
    assert set(listed) == set(catalogue.ROW_NAMES)
    assert all(row.sure and row.since for rows in listed.values() for row in rows)
    by_name = {(row.code, row.name): row for row in listed["thresholds.csv"]}
    maine = by_name["US-ME", "small_producer_exemption all"]
    assert (maine.since, maine.sure) == ("2026-11-26", "third_party")
    assert maine.what.startswith("changed: turnover")
    assert by_name["DE", "register all"].since == "2026-11-22"
    [denmark] = [row for row in listed["jurisdictions.csv"] if row.code == "DK"]
    assert (denmark.what, denmark.sure) == ("changed: system, source_note", "depth 2, verified on 2024-05-03")


def test_the_pinned_table_is_one_that_can_be_loaded():
    """Processes take its rows without looking for faults, so that they need not load all subdivisions of ISO 3166."""
    assert catalogue.load() == catalogue.pinned()
