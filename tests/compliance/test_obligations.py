"""Where tonnes stand against thresholds: verdicts, what a turnover leaves open, duties of several rows, the table."""

import csv
from decimal import Decimal

import pytest

from compliance import obligations as table
from compliance.obligations import GROUP_ORDER, Quantities, obligations, quantities
from compliance.scopes import Standing
from compliance.tables import TableError, rows, years_of
from tests.compliance.portfolios import rolled_up

FOOD = Standing.from_code("sales|no|no|yes|no")
REUSED = Standing.from_code("sales|yes|no|yes|no")


def held(*, uncounted=False, reused=(), unknown=(), missing_half=None, **by_category):
    """Tonnes of food packs by category; then pairs of those of reusable ones, and of ones with an unknown answer."""
    tonnes = {(code, FOOD): Decimal(each) for code, each in by_category.items()}
    tonnes |= {(code, REUSED): Decimal(each) for code, each in reused}
    tonnes |= {(code, Standing.from_code(standing)): Decimal(each) for code, standing, each in unknown}
    return Quantities(tonnes, uncounted, missing_half)


def answers(market, quantity):
    return [
        (each.rule.obligation, each.verdict, each.reason, each.group_verdict)
        for each in obligations(market, quantity, 2026)
    ]


def test_the_limit_itself_is_above_where_the_row_says_from_or_below_it():
    assert answers("EE", held(plast="20"))[1:] == [
        ("audit", "near", None, None),
        ("self_compliance_collection", "above", None, None),
    ]
    assert answers("NO", held(plast="1")) == [("join_scheme", "above", None, None)]
    assert answers("CZ", held(plast="0.3"))[1] == ("simplified_declaration", "above", None, None)


@pytest.mark.parametrize(
    ("tonnes", "verdict"),
    [("0.24", "near"), ("0.239999", "below"), ("0.3", "near"), ("0.300001", "above"), ("0", "below")],
)
def test_near_begins_at_four_fifths_of_the_limit(tonnes, verdict):
    assert answers("BE", held(glass=tonnes))[0] == ("join_scheme", verdict, None, None)


def test_a_duty_without_minimum_falls_due_with_the_first_gram_and_is_never_near():
    assert answers("FI", held()) == [("join_scheme", "below", None, None)]
    assert answers("FI", held(glass="0.000001")) == [("join_scheme", "above", None, None)]


def test_a_turnover_is_asked_only_where_the_tonnes_do_not_decide():
    assert answers("GB", held(PC="30")) == [
        ("declare", "below", None, None),
        ("small_producer", "undecidable", "turnover_needed", None),
        ("no_obligation", "undecidable", "turnover_needed", None),
    ]
    assert answers("GB", held(PC="20"))[2] == ("no_obligation", "near", None, None)
    assert answers("CZ", held(plast="0.2"))[0] == ("small_producer_exemption", "undecidable", "turnover_needed", None)
    assert answers("CZ", held(plast="0.4"))[0] == ("small_producer_exemption", "above", None, None)


@pytest.mark.parametrize(
    ("market", "reason"),
    [("HR", "no_number"), ("US-CA", "turnover_needed"), ("FR", "unit_count"), ("AT", "record_lacks_fact")],
)
def test_what_the_record_cannot_decide_says_why_and_has_no_quantity(market, reason):
    last = obligations(market, held(glass="100"), 2026)[-1]
    assert (last.verdict, last.reason, last.tonnes) == ("undecidable", reason, None)


def test_uncounted_skus_make_a_lower_bound_of_what_is_not_above():
    belgian = held(glass="299", reused=[("glass", "101")], uncounted=True)
    assert [reason for _, _, reason, _ in answers("BE", belgian)] == [
        None,
        None,
        "lower_bound",
        "turnover_needed",
    ]


def test_single_use_counts_what_is_not_reusable():
    assert answers("BE", held(glass="300", reused=[("glass", "100")]))[2] == ("prevention_plan", "above", None, None)
    assert answers("BE", held(glass="299", reused=[("glass", "101")]))[2] == ("prevention_plan", "near", None, None)


def test_a_duty_of_several_rows_falls_due_with_the_first_that_is_reached():
    reached = answers("DE", held(glass="1", paper="60", plastics="10", aluminium="15"))
    assert [verdict for _, verdict, _, _ in reached[1:4]] == ["below", "above", "near"]
    assert {group for _, _, _, group in reached[1:4]} == {"above"}
    assert reached[0][3] is None


def test_the_largest_of_several_categories_is_not_their_sum():
    cardboard = obligations("ES", held(papel_carton="9", brik="8", compuestos="7"), 2026)[-2]
    assert (cardboard.tonnes, cardboard.verdict) == (9, "below")


def test_one_row_is_enough_to_be_exempt_and_an_open_one_keeps_the_duty_open():
    [general, perishable] = obligations("US-ME", held(paper="0.1"), 2026)
    assert (general.verdict, perishable.verdict, general.group_verdict) == ("below", "undecidable", "below")
    [general, perishable] = obligations("US-ME", held(paper="2"), 2026)
    assert (general.verdict, general.reason, general.group_verdict) == ("undecidable", "turnover_needed", "undecidable")


@pytest.mark.parametrize(
    ("market", "tonnes", "place", "answer"),
    [
        ("NO", {"plast": "1"}, 0, ("above", None, ())),
        ("NO", {"plast": "0.9"}, 0, ("undecidable", "record_lacks_fact", ("units of half 2",))),
        ("FI", {}, 0, ("undecidable", "record_lacks_fact", ("units of half 2",))),
        ("CZ", {"plast": "0.3"}, 1, ("above", None, ())),
        ("CZ", {"plast": "0.2"}, 1, ("undecidable", "record_lacks_fact", ("units of half 2",))),
        ("GB", {"PC": "51"}, 0, ("undecidable", "turnover_needed", ())),
        ("GB", {"PC": "20"}, 2, ("undecidable", "record_lacks_fact", ("units of half 2",))),
    ],
)
def test_while_a_half_is_missing_only_what_more_tonnes_cannot_undo_is_decided(market, tonnes, place, answer):
    """decisions §13 and rollup.md §7, 4a; thresholds of other markets stand for operators that GB has none of."""
    found = obligations(market, held(missing_half=2, **tonnes), 2026)[place]
    assert (found.verdict, found.reason, found.fields) == answer


def test_a_missing_scope_fact_is_asked_before_a_missing_half():
    silent = "sales|no|?reuse_deposit_system|yes|no"
    light = obligations("DE", held(missing_half=1, unknown=[("aluminium", silent, "35")]), 2026)[3]
    assert (light.reason, light.fields) == ("scope_fact_missing", ("reuse_deposit_system",))


@pytest.mark.parametrize("rule", GROUP_ORDER)
def test_a_group_has_a_verdict_for_each_that_its_rows_can_have(rule):
    assert set(GROUP_ORDER[rule]) == {"above", "near", "below", "undecidable"}
    assert set(GROUP_ORDER) == table.GROUP_RULES


def test_rows_are_the_markets_own_and_name_their_source_and_how_sure_it_is():
    assert obligations("CA", held(glass="100"), 2026) == []
    for each in obligations("CA-ON", held(glass="100"), 2026):
        assert each.rule.source_url
        assert each.rule.confidence
        assert each.rule.scope_confidence


def test_quantities_are_the_calendar_years_of_the_market():
    body = {"component_type": "body", "material_family": "glass", "polymer_or_grade": None, "weight_g": 1_000}
    unweighed = {**body, "weight_g": None}
    rows = [
        {"market": "GB", "year": 2026, "half": 1, "units_placed": 400},
        {"market": "GB", "year": 2026, "half": 2, "units_placed": 600},
        {"market": "GB", "year": 2025, "half": 0, "units_placed": 7},
        {"market": "DE", "year": 2026, "half": 0, "units_placed": 9},
    ]
    figures = rolled_up(
        [
            {"sku_code": "A", "components": [body], "volumes": rows},
            {"sku_code": "B", "components": [body], "reusable": True, "volumes": rows[3:]},
            {"sku_code": "C", "components": [unweighed], "volumes": rows[3:]},
        ]
    )
    silent = Standing.from_code("?packaging_level|?reusable|?use_contexts|?use_contexts|no")
    reused = Standing.from_code("?packaging_level|yes|no|?use_contexts|no")
    assert quantities(figures, "GB", 2026) == Quantities({("GL", silent): Decimal(1)}, is_lower_bound=False)
    german = {("glass", silent): Decimal("0.009"), ("glass", reused): Decimal("0.009")}
    assert quantities(figures, "DE", 2026) == Quantities(german, is_lower_bound=True)
    assert quantities(figures, "FR", 2026) == Quantities({}, is_lower_bound=False)


def test_a_missing_fact_makes_undecidable_only_what_it_could_change_and_is_named():
    silent = "sales|no|?reuse_deposit_system|yes|no"
    [glass, _, light] = obligations("DE", held(glass="80", unknown=[("aluminium", silent, "35")]), 2026)[1:4]
    assert (glass.verdict, glass.fields, glass.group_verdict) == ("above", (), "above")
    assert (light.tonnes, light.tonnes_upper, light.verdict, light.reason) == (
        0,
        35,
        "undecidable",
        "scope_fact_missing",
    )
    assert light.fields == ("reuse_deposit_system",)
    [_, _, light] = obligations("DE", held(unknown=[("aluminium", silent, "29")]), 2026)[1:4]
    assert (light.verdict, light.reason, light.fields) == ("near", None, ()), "where all of it would stand"
    [_, _, light] = obligations("DE", held(aluminium="31", unknown=[("plastics", silent, "9")]), 2026)[1:4]
    assert (light.tonnes, light.tonnes_upper, light.verdict) == (31, 40, "above")


def test_missing_facts_are_named_once_in_the_order_in_which_they_are_asked():
    unknown = [
        ("glass", "sales|no|no|?use_contexts|no", "50"),
        ("glass", "?packaging_level|no|?reuse_deposit_system|?use_contexts|no", "40"),
        ("glass", "sales|no|no|yes|?hazardous_contents", "10"),
        ("paper", "sales|no|no|yes|?hazardous_contents", "10"),
    ]
    answers_here = obligations("DE", held(unknown=unknown), 2026)
    fields = ("packaging_level", "reuse_deposit_system", "use_contexts", "hazardous_contents")
    assert [each.fields for each in answers_here[:4]] == [(), fields, (), ()]


def test_of_the_largest_category_the_upper_quantity_may_be_another_ones():
    [declare, _] = [
        each for each in obligations("IT", held(vetro="9", carta="8"), 2026) if each.rule.group == "IT-declare"
    ]
    assert (declare.tonnes, declare.tonnes_upper) == (9, 9)
    silent = "?packaging_level|no|no|yes|no"
    [small] = obligations("US-CO", held(glass="0.5", unknown=[("paper", silent, "0.5")]), 2026)
    assert (small.tonnes, small.tonnes_upper, small.fields) == (Decimal("0.5"), 1, ("packaging_level",))


def test_a_year_has_the_rows_that_hold_in_it():
    """Maine: the turnover limit falls after three programme years; the year is the tonnes', never today's."""
    for year, turnover in ((2026, "5000000"), (2029, "5000000"), (2030, "2000000")):
        of_maine = [row for row in rows(table.PINNED) if (row["code"], row["material"]) == ("US-ME", "all")]
        [row] = [row for row in of_maine if years_of(row).hold(year)]
        assert row["turnover"] == turnover
        assert len(obligations("US-ME", held(paper="2"), year)) == 2
    assert [len(obligations("US-CO", held(glass="1"), year)) for year in (2026, 2027)] == [1, 1]


def test_a_declaration_in_the_netherlands_stays_open_below_the_limit():
    """Single-use plastic and deposit packaging is declared from the first unit; no record says which it is."""
    found = obligations("NL", held(glass="1"), 2026)
    assert [each.verdict for each in found] == ["below", "undecidable", "undecidable"]
    assert {each.group_verdict for each in found} == {"undecidable"}
    assert {each.group_verdict for each in obligations("NL", held(glass="51"), 2026)} == {"above"}


def test_a_turnover_is_asked_where_no_missing_fact_changes_the_tonnes():
    silent = "?packaging_level|no|no|yes|no"
    [small] = obligations("US-CO", held(glass="1", unknown=[("paper", silent, "0.5")]), 2026)
    assert (small.verdict, small.reason) == ("undecidable", "turnover_needed")
    [small] = obligations("US-CO", held(unknown=[("paper", silent, "0.5")]), 2026)
    assert (small.verdict, small.reason) == ("below", None)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"scope_value": "glas"}, "DE completeness_declaration: glas is no category of the market"),
        ({"tonnes": ""}, "stand together or not at all"),
        ({"decidable": "N"}, "says why"),
        ({"combine": "and"}, "where there is a turnover"),
        ({"group_rule": "any"}, "a group has the rule"),
        ({"confidence": ""}, "how sure"),
        ({"confidence": "certain"}, "how sure"),
        ({"scope_confidence": "maybe"}, "how sure"),
        ({"scope_key": "nothing"}, "nothing is no scope"),
        ({"scope_type": "most"}, "unknown value"),
        ({"group_rule": "any_below"}, "DE-completeness are not one duty"),
    ],
)
def test_a_table_with_a_fault_is_refused_and_the_fault_named(tmp_path, change, fault):
    with table.PINNED.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    next(row for row in rows if row["group"] == "DE-completeness").update(change)
    with (tmp_path / "thresholds.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    with pytest.raises(TableError, match=fault):
        table.read(tmp_path / "thresholds.csv")
