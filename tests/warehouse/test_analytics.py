"""Overview, readiness and missing data against what the same SKUs come to by hand and by plain Python."""

from collections import Counter
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import polars as pl
import pytest

from compliance import catalogue, ruleset
from compliance.readiness import findings
from compliance.weights import weight_mismatch
from schemas.normalise import Unfit
from schemas.vocabularies import VOCABULARIES
from warehouse import conformity
from warehouse.figures.gaps import missing
from warehouse.figures.market import readiness
from warehouse.figures.overview import overview
from warehouse.figures.reader import CONDITIONS, Now
from warehouse.figures.snapshots import Snapshot
from warehouse.operate.clock import StoppedClock
from warehouse.operate.sessions import Pool
from warehouse.rules import Rulesets

Write = Callable[..., None]
Publish = Callable[[], Snapshot]
PET = {"component_type": "body", "material_family": "plastic", "polymer_or_grade": "PET", "weight_g": 25}
DECLARED = {"pfas": {"status": "absent"}, "heavy_metals": {"status": "below_limit"}}
METALS = {"pfas": {"status": "absent"}, "heavy_metals": {"status": "above_limit"}}
WHOLE = {
    "name": "whole",
    "components": [PET],
    "packaging_format": "bottle",
    "packaging_level": "sales",
    "markets": ["FR"],
    "food_contact": True,
    "substances": DECLARED,
    "use_contexts": ["household"],
}


CUP = {
    **WHOLE,
    "packaging_format": "cup",
    "use_contexts": ["beverage"],
    "components": [{**PET, "polymer_or_grade": "XPS", "weight_g": 5}],
}


@pytest.fixture
def now(pool: Pool, company: UUID, clock: StoppedClock) -> Callable[[], Now]:
    def read() -> Now:
        with pool.company(company) as conn:
            return Now.read(conn, clock)

    return read


@pytest.fixture
def covered(pool: Pool, company: UUID, clock: StoppedClock) -> Callable[[str], None]:
    """Gives a SKU a valid DoC."""

    def cover(sku_code: str) -> None:
        with pool.company(company) as conn:
            sku = conn.execute("SELECT id FROM skus WHERE sku_code = %s", (sku_code,)).fetchone()[0]
            conformity.add(
                conn,
                company,
                uuid4(),
                at=clock.now(),
                values={
                    "sku_id": sku,
                    "reference": "R",
                    "supplier_name": None,
                    "status": "valid",
                    "issued_on": None,
                    "expires_on": None,
                },
            )

    return cover


@pytest.fixture
def change(pool: Pool, company: UUID) -> Callable[[str], None]:
    """Changes columns behind the back of the write path, which would grade anew."""

    def changed(columns: str) -> None:
        with pool.company(company) as conn:
            conn.execute(f"UPDATE skus SET {columns}")

    return changed


def by_code(told: list[dict[str, Any]]) -> dict[str, int]:
    return {finding["code"]: finding["skus"] for finding in told}


def test_every_finding_has_a_condition_and_every_condition_a_finding() -> None:
    assert list(CONDITIONS) == [finding.key for finding in findings()]


def test_an_overview_counts_the_portfolio(
    write: Write, published: Publish, now: Callable[[], Now], covered: Callable[[str], None]
) -> None:
    write(
        {**WHOLE, "sku_code": "A"},
        {"sku_code": "B", "markets": ["FR", "GB", "MN"]},
        {"sku_code": "C", "markets": []},
        {**WHOLE, "sku_code": "D", "packaging_format": "bag", "use_contexts": ["food"], "packaging_level": "transport"},
    )
    covered("A")
    answer = overview(published(), now())
    assert (answer["skus"], answer["components"], answer["newer_writes"], answer["indicative"]) == (4, 2, 0, True)
    assert answer["doc_status"] == {"missing": 3, "draft": 0, "valid": 1, "expired": 0}
    assert answer["packaging_levels"] == {"sales": 1, "grouped": 0, "transport": 1, "e_commerce": 0, "unknown": 2}
    assert sum(answer["grades"].values()) == 4
    assert list(answer["grades"]) == list(VOCABULARIES["recyclability_grade"])
    assert answer["markets"] == [
        {"market": "FR", "skus": 3},
        {"market": "GB", "skus": 1},
        {"market": "MN", "skus": 1},
    ]
    assert answer["skus_without_market"] == 1
    scope = {entry["code"]: entry for entry in answer["jurisdictions"]}
    france = next(entry for entry in catalogue.pinned() if entry.code == "FR")
    assert scope["FR"]["system"] == france.system
    assert scope["FR"]["depth"] == france.depth(date(2026, 11, 21))
    assert scope["FR"]["verified_on"] == france.verified_on.isoformat()
    assert (scope["MN"]["name"], scope["MN"]["depth"]) == (None, None), "kept, and not in the catalogue"


def test_an_overview_of_nothing_names_every_code(published: Publish, now: Callable[[], Now]) -> None:
    answer = overview(published(), now())
    assert set(answer["grades"].values()) == {0}
    assert (answer["jurisdictions"], answer["annex_v_flags"], answer["tonnes"]) == ([], [], None)
    nowhere = readiness(published(), "FR", now())
    assert (nowhere["skus"], nowhere["ready"], nowhere["missing"]) == (0, 0, [])
    assert missing(published(), now())["items"] == []


def test_answers_say_how_many_writes_came_since(write: Write, published: Publish, now: Callable[[], Now]) -> None:
    write({"sku_code": "A"})
    snapshot = published()
    write({"sku_code": "B"})
    write({"sku_code": "C"})
    for answer in (overview(snapshot, now()), readiness(snapshot, "FR", now()), missing(snapshot, now())):
        assert answer["newer_writes"] == 2
        assert answer["as_of"] == datetime(2026, 11, 21, 9, 30, tzinfo=UTC)


@pytest.fixture
def shelf(write: Write, covered: Callable[[str], None], change: Callable[[str], None]) -> None:
    """Eight SKUs of which each stands in another way to the market FR."""
    write(
        {**WHOLE, "sku_code": "ready"},
        {**WHOLE, "sku_code": "no DoC"},
        {**WHOLE, "substances": METALS, "sku_code": "metals"},
        {**WHOLE, "sku_code": "part", "components": [{**PET, "substances": METALS}]},
        {**WHOLE, "sku_code": "elsewhere", "markets": ["DE"]},
        {**WHOLE, "sku_code": "placed", "markets": ["DE"]},
        {**CUP, "sku_code": "cup"},
        {**WHOLE, "sku_code": "bag", "packaging_format": "bag", "use_contexts": ["food"]},
        {**WHOLE, "sku_code": "bpa", "substances": {**DECLARED, "bpa": {"status": "above_limit"}}},
    )
    for code in ("ready", "bag", "cup"):
        covered(code)
    change("grade_provisional = false")
    change("""volumes = '{"FR/2026/0": 7}' WHERE sku_code IN ('ready', 'placed', 'bag', 'cup')""")


def test_readiness_puts_each_sku_in_one_place(shelf: None, published: Publish, now: Callable[[], Now]) -> None:
    answer = readiness(published(), "fr", now())
    assert (answer["market"], answer["in_european_union"], answer["jurisdiction"]["code"]) == ("FR", True, "FR")
    standing = {name: answer[name] for name in ("skus", "blocked", "to_decide", "incomplete", "ready")}
    assert standing == {"skus": 8, "blocked": 2, "to_decide": 1, "incomplete": 2, "ready": 3}
    assert by_code(answer["blocks"]) == {"heavy_metals": 2}
    assert by_code(answer["decide"]) == {"bpa_food_contact": 1}
    missing_facts = by_code(answer["missing"])
    assert (missing_facts["doc_missing"], missing_facts["volume_missing"]) == (5, 4)
    [metal] = answer["blocks"]
    assert sorted(metal["examples"]) == ["metals", "part"]
    assert (metal["reference"], metal["applies_from"]) == ("Art. 5(4) of Regulation (EU) 2025/40", "2026-08-12")
    later = by_code(answer["upcoming"])
    assert (later["banned_format_later"], later["format_may_be_banned_later"]) == (1, 2), (
        "the cup may be for dine-in, too"
    )


def test_a_format_ban_counts_from_its_own_day(
    shelf: None, published: Publish, now: Callable[[], Now], clock: StoppedClock
) -> None:
    snapshot = published()
    for day, blocked, decide in (("2029-02-11", 0, 0), ("2029-02-12", 1, 0), ("2030-01-01", 1, 2)):
        clock.advance(datetime.fromisoformat(f"{day}T12:00:00Z") - clock.now())
        answer = readiness(snapshot, "FR", now())
        assert by_code(answer["blocks"]).get("banned_format", 0) == blocked, day
        assert by_code(answer["decide"]).get("format_may_be_banned", 0) == decide, day


def test_outside_the_union_its_law_stops_nothing_and_a_country_counts_its_parts(
    write: Write, published: Publish, now: Callable[[], Now], change: Callable[[str], None]
) -> None:
    bad = {**WHOLE, "substances": METALS}
    write({**bad, "sku_code": "A"}, {**bad, "sku_code": "B", "markets": ["US"]})
    change("markets = '{US-CA,FR}' WHERE sku_code = 'A'")  # without a loaded catalogue a write would make it US
    snapshot = published()
    assert readiness(snapshot, "FR", now())["blocked"] == 1
    states, california = readiness(snapshot, "US", now()), readiness(snapshot, "US-CA", now())
    assert (states["skus"], states["blocked"], california["skus"]) == (2, 0, 1)
    assert not {"doc_missing", "pfas_undeclared"} & by_code(states["missing"]).keys()


def test_before_a_rule_applies_it_is_upcoming(
    write: Write, published: Publish, now: Callable[[], Now], clock: StoppedClock
) -> None:
    clock.advance(timedelta(days=-200))
    write({**WHOLE, "sku_code": "A", "substances": {"heavy_metals": {"status": "above_limit"}}})
    answer = readiness(published(), "FR", now())
    assert answer["blocked"] == 0
    assert by_code(answer["upcoming"])["heavy_metals"] == 1


@pytest.mark.parametrize("market", ["", "XX", "FR' OR '1'='1", "../..", "FR'; COPY skus TO 'x.csv'; --", "$market"])
def test_what_is_no_market_is_refused(write: Write, published: Publish, now: Callable[[], Now], market: str) -> None:
    write({"sku_code": "A"})
    with pytest.raises(Unfit) as refused:
        readiness(published(), market, now())
    assert refused.value.code == "unknown_market"


def test_the_worst_gaps_come_first(write: Write, published: Publish, now: Callable[[], Now]) -> None:
    write(
        {**WHOLE, "sku_code": "little", "components": [{**PET, "weight_g": None}]},
        {"sku_code": "nothing"},
        {**WHOLE, "sku_code": "some", "food_contact": None, "packaging_level": None},
        {"sku_code": "everything, too", "material": "plastic"},
    )
    answer = missing(published(), now())
    weights = [item["weight"] for item in answer["items"]]
    assert weights == sorted(weights, reverse=True)
    assert answer["items"][0]["sku_code"] == "nothing"
    assert answer["pagination"]["total"] == 4
    scale = {finding.key: finding.weight for finding in findings()}
    for item in answer["items"]:
        assert item["weight"] == sum(scale[gap["code"]] for gap in item["gaps"])
    counted = Counter(gap["code"] for item in answer["items"] for gap in item["gaps"])
    assert by_code(answer["gaps"]) == counted
    worst = [scale[gap["code"]] * gap["skus"] for gap in answer["gaps"]]
    assert worst == sorted(worst, reverse=True)
    pages = [missing(published(), now(), limit=1, offset=offset)["items"][0]["sku_code"] for offset in range(4)]
    assert pages == [item["sku_code"] for item in answer["items"]]
    behind = missing(published(), now(), offset=4)
    assert (behind["items"], behind["pagination"]["total"]) == ([], 4)


def test_one_sku_is_told_with_its_gaps_or_none(
    write: Write,
    published: Publish,
    now: Callable[[], Now],
    covered: Callable[[str], None],
    change: Callable[[str], None],
) -> None:
    write({**WHOLE, "sku_code": "it's"}, {"sku_code": "other"})
    covered("it's")
    change("""volumes = '{"FR/2026/0": 7}', grade_provisional = false""")
    told = missing(published(), now(), sku_code="it's")
    [item] = told["items"]
    assert (item["gaps"], item["weight"], item["units"]) == ([], 0, 7)
    assert (told["gaps"], told["pagination"]["total"]) == ([], 1)
    assert missing(published(), now(), sku_code="unknown")["items"] == []
    [other] = missing(published(), now(), sku_code="other")["items"]
    gaps = {gap["code"] for gap in other["gaps"]}
    assert "composition_missing" in gaps
    assert "markets_missing" not in gaps, "units of 2026 make a market (decisions §13)"


def test_a_reader_of_one_instant_is_not_moved_by_the_next(
    write: Write, published: Publish, now: Callable[[], Now], tmp_path: Path
) -> None:
    write({"sku_code": "A"})
    first = published()
    write({"sku_code": "B"})
    assert published().rows["skus"] == 2
    assert overview(first, now())["skus"] == pl.read_parquet(first.skus).height == 1


def test_a_substance_that_each_part_declares_is_no_gap(
    write: Write, published: Publish, now: Callable[[], Now]
) -> None:
    by_part = {**WHOLE, "substances": None, "components": [{**PET, "substances": DECLARED}]}
    write({**by_part, "sku_code": "said"}, {**by_part, "sku_code": "half", "components": [*by_part["components"], PET]})
    gaps = {item["sku_code"]: {gap["code"] for gap in item["gaps"]} for item in missing(published(), now())["items"]}
    undeclared = {"pfas_undeclared", "heavy_metals_undeclared"}
    assert (gaps["said"] & undeclared, gaps["half"] & undeclared) == (set(), undeclared)


def test_what_was_not_understood_or_not_asked_is_a_gap(
    write: Write, published: Publish, now: Callable[[], Now]
) -> None:
    unasked = {name: value for name, value in WHOLE.items() if name != "use_contexts"}
    write(
        {**unasked, "sku_code": "unasked"},
        {**unasked, "sku_code": "unbanned", "packaging_format": "drum"},
        {**WHOLE, "sku_code": "unread", "components": [{**PET, "polymer_or_grade": "Qwertz 7"}]},
        {"sku_code": "bare", "name": "bare"},
    )
    gaps = {item["sku_code"]: {gap["code"] for gap in item["gaps"]} for item in missing(published(), now())["items"]}
    new = {"use_missing", "text_not_understood", "not_assessed"}
    assert gaps["unasked"] & new == {"use_missing"}
    assert gaps["unbanned"] & new == set()
    assert "text_not_understood" in gaps["unread"]
    assert "not_assessed" in gaps["bare"]
    [item] = missing(published(), now(), sku_code="unread")["items"]
    [text] = item["not_understood"]
    assert (text["field"], text["text"], len(text["nearest"])) == ("components[0].polymer_or_grade", "Qwertz 7", 3)


def test_a_pack_that_article_6_exempts_lacks_no_grade_and_can_be_ready(
    write: Write, published: Publish, now: Callable[[], Now]
) -> None:
    """Article 6(11) and 9(1): no fact that a record holds would give it one, so that it stayed incomplete for ever."""
    wood = [{"component_type": "body", "material_family": "wood", "weight_g": 9}]
    exempt = (
        {"use_contexts": ["pharmaceutical"]},
        {"use_contexts": ["dangerous_goods"], "packaging_level": "transport"},
        {"packaging_format": "tea bag"},
        {"components": wood, "packaging_level": "sales"},
    )
    write(*({**WHOLE, "sku_code": f"E{place}", **change} for place, change in enumerate(exempt)))
    write({**WHOLE, "sku_code": "rare", "material": "other", "components": []})
    snapshot = published()
    gaps = {item["sku_code"]: {gap["code"] for gap in item["gaps"]} for item in missing(snapshot, now())["items"]}
    assert {code for code, of in gaps.items() if "not_assessed" in of} == {"rare"}
    [exempt_row] = [row for row in readiness(snapshot, "FR", now())["upcoming"] if row["code"] == "exempt_from_grades"]
    assert (exempt_row["skus"], exempt_row["applies_from"]) == (4, "2030-01-01")


def test_a_stated_weight_that_is_not_that_of_the_parts_is_a_gap_where_a_write_warns(
    write: Write, published: Publish, now: Callable[[], Now]
) -> None:
    part = float(PET["weight_g"])
    stated = {f"W{at}": part * share for at, share in enumerate((1.2, 1.04, 0.96, 0.9, 1.06))}
    write(*({**WHOLE, "sku_code": code, "weight_grams": grams, "components": [PET]} for code, grams in stated.items()))
    found = {
        item["sku_code"]
        for item in missing(published(), now())["items"]
        if "weight_mismatch" in {gap["code"] for gap in item["gaps"]}
    }
    assert found == {code for code, grams in stated.items() if weight_mismatch(grams, part)}
    assert found == {"W0", "W3", "W4"}


def test_a_text_is_read_by_the_rules_in_force_as_the_grade_is(
    write: Write, published: Publish, now: Callable[[], Now], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`Tritan` is known from 2026-11-26 on: with the rules before, the gaps said that it was understood."""
    part = {"component_type": "body", "material_family": "plastic", "polymer_or_grade": "Tritan", "weight_g": 9}
    write({"sku_code": "PART", "components": [part]}, {"sku_code": "OWN", "material_subtype": "Tritan"})
    told = {}
    for version in ("2026-11-22", "2026-11-26"):
        rules = ruleset.load(version)
        monkeypatch.setattr(Rulesets, "active", lambda _, __, rules=rules: rules)
        answer = missing(published(), now())
        gaps = {gap["code"]: gap["skus"] for gap in answer["gaps"]}
        texts = {item["sku_code"]: [text["text"] for text in item["not_understood"]] for item in answer["items"]}
        told[version] = gaps.get("text_not_understood", 0), texts
    assert told["2026-11-22"] == (2, {"PART": ["Tritan"], "OWN": ["Tritan"]})
    assert told["2026-11-26"] == (0, {"PART": [], "OWN": []})
