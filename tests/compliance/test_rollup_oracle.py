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
from tests.compliance.portfolios import frames, portfolios, rolled_up
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
@given(portfolios())
def test_every_figure_and_every_gap_is_the_slow_transcriptions(skus):
    found = _as_oracle(rolled_up(skus))
    expected = {period: rollup_oracle.figures(skus, *period) for period in _periods(skus)}
    assert found == {period: answer for period, answer in expected.items() if answer[0] or answer[1]}


@examples(100, suppress_health_check=list(HealthCheck))
@given(portfolios())
def test_every_verdict_is_the_slow_transcriptions(skus):
    figures = rolled_up(skus)
    for market, year in {(market, year) for market, year, _ in _periods(skus)}:
        found = [
            (
                Fraction(each.tonnes) if each.tonnes is not None else None,
                Fraction(each.tonnes_upper) if each.tonnes_upper is not None else None,
                each.verdict,
                each.reason,
                set(each.fields),
                each.group_verdict,
            )
            for each in obligations(market, quantities(figures, market, year), year)
        ]
        assert found == obligations_oracle.obligations(skus, market, year), market


@BROAD
@given(portfolios())
def test_scopes_split_the_tonnes_and_a_lower_quantity_is_never_above_the_upper(skus):
    figures = rolled_up(skus)
    for row in figures.tonnes.iter_rows(named=True):
        parts = [row["in_scope_grams"], row["undecided_grams"]]
        assert min(parts) >= 0
        assert sum(parts) <= row["grams"]
        written = scoped_tonnes(row)
        if row["grams"] % 1 == 0:  # whole grams are whole places of a written figure
            assert written["tonnes"] == sum(written[name] for name in written if name != "tonnes")
    of_years = figures.tonnes.filter(pl.col("half") == 0)["grams"].sum()
    assert figures.standings["grams"].sum() == of_years
    for market, year in {(market, year) for market, year, _ in _periods(skus)}:
        for each in obligations(market, quantities(figures, market, year), year):
            assert each.tonnes is None or each.tonnes <= each.tonnes_upper
            lacks_half = each.reason == "record_lacks_fact" and each.rule.undecidable is None
            assert bool(each.fields) == (each.reason == "scope_fact_missing" or lacks_half)


@pytest.mark.long
@examples(100, suppress_health_check=list(HealthCheck))
@given(portfolios(), st.data())
def test_a_fact_that_is_given_makes_nothing_undecidable_that_was_decided(skus, data):
    """Whatever a missing level or deposit turns out to be: a narrower interval lies on one side where the wider did."""
    before = _verdicts(skus)
    given_facts = {
        "packaging_level": st.sampled_from(["sales", "grouped", "transport", "e_commerce"]),
        "reuse_deposit_system": st.booleans(),
    }
    name = data.draw(st.sampled_from(sorted(given_facts)))
    told = [{**sku, name: data.draw(given_facts[name])} if sku[name] is None else sku for sku in skus]
    after = _verdicts(told)
    decided = {key for key, verdict in before.items() if verdict != "undecidable"}
    assert {key for key in decided if after[key] == "undecidable"} == set()


def _verdicts(skus):
    figures = rolled_up(skus)
    return {
        (market, year, place): each.verdict
        for market, year in {(market, year) for market, year, _ in _periods(skus)}
        for place, each in enumerate(obligations(market, quantities(figures, market, year), year))
    }


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
def test_a_second_half_never_lowers_tonnes_nor_turns_what_is_above(skus, units):
    """decisions §13, half-yearly markets: what is there is a lower bound of the year."""
    first = rolled_up(_gb(skus, lambda place: {1: units[place % 10][0]}))
    both = rolled_up(_gb(skus, lambda place: {1: units[place % 10][0], 2: units[place % 10][1]}))
    for key, grams in _sums(first).items():
        assert _sums(both)[key] >= grams
    before, after = (obligations("GB", quantities(each, "GB", 2026), 2026) for each in (first, both))
    for one, other in zip(before, after, strict=True):
        assert other.tonnes >= one.tonnes
        assert other.reason != "record_lacks_fact"
        assert one.verdict in ("above", "undecidable")
        if one.verdict == "above":
            assert other.verdict == "above"
        elif one.reason == "record_lacks_fact":
            assert one.fields == ("units of half 2",)


@BROAD
@given(portfolios(), UNITS_OF_HALVES)
def test_a_year_recorded_whole_and_in_two_halves_gives_the_same_tonnes(skus, units):
    whole = rolled_up(_gb(skus, lambda place: {0: sum(units[place % 10])}))
    halves = rolled_up(_gb(skus, lambda place: dict(enumerate(units[place % 10], 1))))
    of_year = {key: grams for key, grams in _sums(halves).items() if key[2] == 0}
    assert {key: grams for key, grams in _sums(whole).items() if key[2] == 0} == of_year
    verdicts = [
        [
            (each.tonnes, each.tonnes_upper, each.verdict)
            for each in obligations("GB", quantities(found, "GB", 2026), 2026)
        ]
        for found in (whole, halves)
    ]
    assert verdicts[0] == verdicts[1]


@BROAD
@given(portfolios(), st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_nothing(skus, random):
    ordered = frames(skus)
    shuffled = ordered._replace(
        **{name: frame[random.sample(range(frame.height), frame.height)] for name, frame in ordered._asdict().items()}
    )
    before, after = (rollup(each, catalogue.pinned(), load()) for each in (ordered, shuffled))
    assert before.tonnes.equals(after.tonnes)
    assert before.uncounted.equals(after.uncounted)


@BROAD
@given(portfolios())
def test_blocks_of_skus_add_up_to_the_whole(skus):
    whole = rolled_up(skus)
    blocks = combine_blocks(rolled_up([sku]) for sku in skus)
    assert whole.tonnes.equals(blocks.tonnes)
    assert whole.uncounted.equals(blocks.uncounted)


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
