"""Volumes written by themselves and volumes out of a file: the same rows are held, the same ones refused."""

import csv
import io
from uuid import uuid4

from hypothesis import HealthCheck, Phase, given
from hypothesis import strategies as st

from compliance.catalogue import pinned, served
from schemas.actors import Actor
from schemas.issues import ISSUE_CODES
from schemas.refusals import Refused
from schemas.skus.inputs import parse_volumes
from services.skus.write import write_records, write_volumes
from tests.drawing import examples
from tests.pipelines.conftest import ORIGIN
from warehouse.catalogue import served_markets

MARKETS = ["fr", "DE", "UK", "gb", "us_ca", "US TX", "be-vlg", "BE"]
BY_MARKET_YEAR_AND_HALF = st.fixed_dictionaries(
    {
        "market": st.sampled_from([*MARKETS, *MARKETS, "BR"]),
        "year": st.sampled_from([2000, 2025, 2026, 2100]),
        "half": st.just(0),
        "units_placed": st.none() | st.integers(0, 3000) | st.just(10**12),
    }
)
HALVES = BY_MARKET_YEAR_AND_HALF.map(lambda row: {**row, "market": "gb", "half": 1 + row["year"] % 2})


def _column(row):
    half = [f"h{row['half']}"] if row["half"] else []
    return "_".join(["annual_volume", row["market"].lower().replace("uk", "gb"), str(row["year"]), *half])


ROWS = st.lists(BY_MARKET_YEAR_AND_HALF | HALVES, max_size=5, unique_by=_column)


def _file(code, rows):
    """One line whose columns are the rows; cleared ones say so."""
    cells = ["null" if row["units_placed"] is None else row["units_placed"] for row in rows]
    text = io.StringIO(newline="")
    csv.writer(text).writerows([["sku_code", "name", *map(_column, rows)], [code, "Bottle", *cells]])
    return text.getvalue()


@examples(
    10,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(first=ROWS, then=ROWS)
def test_rows_by_themselves_are_what_columns_of_a_file_are(desk, first, then):
    by_rows, by_file = f"R-{uuid4()}", f"F-{uuid4()}"
    with desk.pool.company(desk.company) as conn:
        made = {row: {"sku_code": code, "name": "Bottle"} for row, code in enumerate((by_rows, by_file))}
        write_records(conn, Actor(desk.company, ORIGIN, desk.clock.now()), made, rulesets=desk.rulesets, dry_run=False)
    for rows in (first, then):
        refused = set()
        try:
            with desk.pool.company(desk.company) as conn:
                write_volumes(
                    conn,
                    Actor(desk.company, ORIGIN, desk.clock.now()),
                    by_rows,
                    parse_volumes(rows),
                    rulesets=desk.rulesets,
                    dry_run=False,
                )
        except Refused as invalid:
            refused = {issue.code for issue in invalid.issues}
        sent = desk.send(_file(by_file, rows))
        assert desk.finish(sent)
        assert {error["code"] for error in desk.poll(sent)["errors"]} == refused
        held = dict(desk.rows("SELECT sku_code, volumes::text FROM skus WHERE company_id = %s"))
        assert held[by_rows] == held[by_file]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5) | st.just("FR"),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["market", "year", "half", "units_placed", "units", "0"]), inner, max_size=5)
    ),
    max_leaves=20,
)


@given(body=JSON | st.lists(BY_MARKET_YEAR_AND_HALF | JSON, max_size=4))
def test_whatever_is_sent_is_rows_or_named_faults(body):
    rows, issues = _read(body)
    assert all(issue.code in ISSUE_CODES for issue in issues)
    assert all((issue.row is None) != isinstance(body, list) for issue in issues)
    if not issues:
        assert [set(row) for row in rows] == [{"market", "year", "half", "units_placed"}] * len(body)
        assert parse_volumes(rows) == rows


def _read(body):
    try:
        return parse_volumes(body), []
    except Refused as invalid:
        return [], invalid.issues


def test_until_a_catalogue_is_loaded_the_releases_markets_are_served(pool):
    with pool.system() as conn:
        conn.execute("DELETE FROM jurisdictions")
        assert served_markets(conn) == {entry.code for entry in served(pinned())}
        conn.rollback()
