"""Two ways to write JSON say the same: that of a page's structs, and that of every other answer."""

import json
from datetime import UTC
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from api.http.answers import json_of, json_of_records
from warehouse.pages import Listing

NAMES = ["total", "is_item", "id", "sku_code", "weight_grams", "updated_at", "told"]
PLAIN = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(-1e15, 1e15)  # from 1e16 on the two write the exponent differently, a number that no field holds
    | st.text(st.characters(exclude_categories=("Cs",)))
    | st.dates()
    | st.datetimes(timezones=st.just(UTC))
    | st.uuids()
)
VALUES = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=("Cs",))), inner),
    max_leaves=8,
)


def page_of(rows):
    listing = Listing("", limit=50, offset=0)
    return listing.records(NAMES, rows), listing.page(NAMES, rows)


@given(st.lists(st.tuples(*[VALUES] * (len(NAMES) - 2)), max_size=4))
def test_structs_are_written_as_dictionaries_are(items):
    records, dictionaries = page_of([(len(items), True, *item) for item in items] or [(0, None, *[None] * 5)])
    assert json_of_records(records).body == json_of(dictionaries).body


@given(st.decimals(allow_nan=False, allow_infinity=False, places=6))
def test_a_decimal_keeps_every_digit(value):
    records, dictionaries = page_of([(1, True, *[value] * 5)])
    told, expected = (
        json.loads(answer.body, parse_float=Decimal, parse_int=Decimal)
        for answer in (json_of_records(records), json_of(dictionaries))
    )
    assert told == expected
    assert expected["data"][0]["id"] == value
