"""The rollup against its slow transcription, and what must hold of any portfolio."""

from fractions import Fraction

import polars as pl
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from compliance import catalogue
from compliance.filings.document import scoped_tonnes
from compliance.obligations import obligations, quantities
from compliance.rollup.tonnes import combine_blocks, rollup
from compliance.ruleset import load
from tests.compliance import obligations_oracle, rollup_oracle
from tests.compliance.portfolios import frames, in_blocks, portfolios, rolled_up
from tests.drawing import examples

BROAD = examples(30, suppress_health_check=list(HealthCheck))


def _as_oracle(figures):
    """Period to (category to its row, uncounted, what scopes lack), as the oracle answers."""
    found = {}
    for row in figures.tonnes.iter_rows(named=True):
        of_period = found.setdefault((row["market"], row["year"], row["half"]), ({}, set(), set()))
        every, sure, open_ = (
            Fraction(row[name]) / 1_000_000 for name in ("grams", "in_scope_grams", "undecided_grams")
        )
        of_period[0][row["category_code"]] = [
            every,
            int(row["units"]),
            row["skus"],
            row["basis"],
            sure,
            open_,
            row["scope_key"],
            row["confidence"],
        ]
    for row in figures.uncounted.iter_rows(named=True):
        of_period = found.setdefault((row["market"], row["year"], row["half"]), ({}, set(), set()))
        conflict = row["reason"] == "half_year_conflict"
        fields = tuple(row["fields"] if conflict else sorted(row["fields"]))
        of_period[1].add((row["sku_code"], row["units"], row["reason"], fields))
    for row in figures.scope_missing.iter_rows(named=True):
        entry = (row["sku_code"], row["units"], tuple(row["fields"]), tuple(row["category_codes"]))
        found[row["market"], row["year"], row["half"]][2].add(entry)
    return found


def _periods(skus):
    held = {(rollup_oracle.normal(row["market"]), row["year"]) for sku in skus for row in sku["volumes"]}
    return [(market, year, half) for market, year in held for half in ((0, 1, 2) if market == "GB" else (0,))]


@pytest.mark.long
@examples(120, suppress_health_check=list(HealthCheck))
@given(portfolios(), st.data())
def test_every_figure_gap_and_verdict_is_the_slow_transcriptions(skus, data):
    figures = rolled_up(skus)
    expected = {period: rollup_oracle.figures(skus, *period) for period in _periods(skus)}
    assert _as_oracle(figures) == {period: answer for period, answer in expected.items() if answer[0] or answer[1]}
    years = {(market, year) for market, year, _ in _periods(skus)}
    judged = {of: obligations(of[0], quantities(figures, *of), of[1]) for of in years}
    for (market, year), found in judged.items():
        assert [_verdict(each) for each in found] == obligations_oracle.obligations(skus, market, year), market
    _scopes_split_the_tonnes(figures)
    _lower_quantities_are_never_above_the_upper(judged)
    _a_fact_that_is_given_leaves_decided_what_was(skus, judged, data)


def _verdict(each):
    lower, upper = (None if tonnes is None else Fraction(tonnes) for tonnes in (each.tonnes, each.tonnes_upper))
    return lower, upper, each.verdict, each.reason, set(each.fields), each.group_verdict


def _scopes_split_the_tonnes(figures):
    for row in figures.tonnes.iter_rows(named=True):
        parts = [row["in_scope_grams"], row["undecided_grams"]]
        assert min(parts) >= 0
        assert sum(parts) <= row["grams"]
        written = scoped_tonnes(row)
        if row["grams"] % 1 == 0:  # whole grams are whole places of a written figure
            assert written["tonnes"] == sum(written[name] for name in written if name != "tonnes")
    of_years = figures.tonnes.filter(pl.col("half") == 0)["grams"].sum()
    assert figures.standings["grams"].sum() == of_years


def _lower_quantities_are_never_above_the_upper(judged):
    for each in (each for found in judged.values() for each in found):
        assert each.tonnes is None or each.tonnes <= each.tonnes_upper
        lacks_half = each.reason == "record_lacks_fact" and each.rule.undecidable is None
        assert bool(each.fields) == (each.reason == "scope_fact_missing" or lacks_half)


def _a_fact_that_is_given_leaves_decided_what_was(skus, judged, data):
    """Whatever a missing level or deposit turns out to be: a narrower interval lies on one side where the wider did."""
    given_facts = {
        "packaging_level": st.sampled_from(["sales", "grouped", "transport", "e_commerce"]),
        "reuse_deposit_system": st.booleans(),
    }
    name = data.draw(st.sampled_from(sorted(given_facts)))
    told = [{**sku, name: data.draw(given_facts[name])} if sku[name] is None else sku for sku in skus]
    after = rolled_up(told)
    for (market, year), found in judged.items():
        for before, now in zip(found, obligations(market, quantities(after, market, year), year), strict=True):
            assert now.verdict != "undecidable" or before.verdict == "undecidable"


def _gb(skus, rows_of):
    """The same portfolio with other volumes in Great Britain alone: `rows_of` gives half and units of each SKU."""
    return [
        {
            **sku,
            "volumes": [
                {"market": "GB", "year": 2026, "half": half, "units_placed": units}
                for half, units in rows_of(place).items()
            ],
        }
        for place, sku in enumerate(skus)
    ]


UNITS_OF_HALVES = st.lists(st.tuples(st.integers(0, 10**7), st.integers(0, 10**7)), min_size=10, max_size=10)


@BROAD
@given(portfolios(), UNITS_OF_HALVES)
def test_a_year_is_its_two_halves_and_one_half_is_a_lower_bound_of_it(skus, units):
    """decisions §13, half-yearly markets: a second half never lowers tonnes, nor turns what is above."""
    first = rolled_up(_gb(skus, lambda place: {1: units[place % 10][0]}))
    halves = rolled_up(_gb(skus, lambda place: dict(enumerate(units[place % 10], 1))))
    whole = rolled_up(_gb(skus, lambda place: {0: sum(units[place % 10])}))
    sums = _sums(halves)
    assert [key for key, grams in _sums(first).items() if sums[key] < grams] == []
    of_year = {key: grams for key, grams in sums.items() if key[2] == 0}
    assert {key: grams for key, grams in _sums(whole).items() if key[2] == 0} == of_year
    found = [obligations("GB", quantities(each, "GB", 2026), 2026) for each in (first, halves, whole)]
    for one, both, year in zip(*found, strict=True):
        assert (both.tonnes, both.tonnes_upper, both.verdict) == (year.tonnes, year.tonnes_upper, year.verdict)
        assert both.tonnes >= one.tonnes
        assert both.reason != "record_lacks_fact"
        assert one.verdict in ("above", "undecidable")
        if one.verdict == "above":
            assert both.verdict == "above"
        elif one.reason == "record_lacks_fact":
            assert one.fields == ("units of half 2",)


@BROAD
@given(portfolios(), st.randoms(use_true_random=False), st.data())
def test_neither_the_order_of_rows_nor_their_blocks_change_anything(skus, random, data):
    ordered = frames(skus)
    shuffled = ordered._replace(
        **{name: frame[random.sample(range(frame.height), frame.height)] for name, frame in ordered._asdict().items()}
    )
    whole, in_any_order = (rollup(each, catalogue.pinned(), load()) for each in (ordered, shuffled))
    added_up = combine_blocks(map(rolled_up, in_blocks(skus, data)))
    for each in (in_any_order, added_up):
        assert whole.tonnes.equals(each.tonnes)
        assert whole.uncounted.equals(each.uncounted)


@BROAD
@given(portfolios(), st.data())
def test_a_changed_weight_changes_the_figures_of_its_sku_and_no_other(skus, data):
    changed = [sku for sku in skus if sku["components"]]
    if not changed:
        return
    sku = data.draw(st.sampled_from(changed))
    others = [other for other in skus if other is not sku]
    place = data.draw(st.integers(0, len(sku["components"]) - 1))
    graph = [dict(line) for line in sku["components"]]
    graph[place]["weight_g"] = (graph[place]["weight_g"] or 0) + 1.25
    after = _sums(rolled_up([*others, {**sku, "components": graph}]))
    alone_before, alone_after = _sums(rolled_up([sku])), _sums(rolled_up([{**sku, "components": graph}]))
    before = _sums(rolled_up(skus))
    for key in {*before, *after}:
        difference = alone_after.get(key, 0) - alone_before.get(key, 0)
        assert after.get(key, 0) - before.get(key, 0) == difference


def _sums(figures):
    rows = figures.tonnes.iter_rows(named=True)
    return {(row["market"], row["year"], row["half"], row["category_code"]): row["grams"] for row in rows}
