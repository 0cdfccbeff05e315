"""Markets by name wherever a person types one (decisions §13); an unknown name is answered with the nearest."""

from uuid import uuid4

import pytest
from mcp.server.mcpserver.exceptions import ToolError

from connector.tools.kit import market_code
from schemas.normalise import Unfit
from schemas.vocabularies import table_rows
from schemas.words import market_named, markets_named
from tools import country_names


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Germany", "DE"), ("Deutschland", "DE"), ("Allemagne", "DE"), ("germany ", "DE"), ("DEU", "DE"), ("de", "DE"),
        ("United Kingdom", "GB"), ("UK", "GB"), ("Royaume-Uni", "GB"), ("us-ca", "US-CA"), ("Österreich", "AT"),
    ],
)  # fmt: skip
def test_a_market_is_known_by_its_names_and_codes(pool, text, code):
    assert market_named(text) == code
    with pool.company(uuid4()) as conn:
        assert market_code(conn, text) == code


@pytest.mark.parametrize(("text", "nearest"), [("Germny", "DE"), ("Frankreichh", "FR"), ("Untied Kingdom", "GB")])
def test_an_unknown_name_is_answered_with_the_nearest(pool, text, nearest):
    with pytest.raises(Unfit) as refused:
        market_named(text)
    assert refused.value.code == "unknown_market"
    assert f"({nearest})" in refused.value.message
    with pool.company(uuid4()) as conn, pytest.raises(ToolError, match=nearest):
        market_code(conn, text)


@pytest.mark.parametrize(
    ("text", "codes"),
    [("Benelux", "BE; NL; LU"), ("DACH", "DE; AT; CH"), ("EU27", "AT; BE; BG"), ("alle Länder", "FR; DE")],
)
def test_a_word_for_several_markets_is_answered_with_their_codes(text, codes):
    with pytest.raises(Unfit, match=f"not one market but several.*: {codes}"):
        market_named(text)


def test_codes_beside_each_other_are_several_markets():
    assert markets_named("FR DE at") == ["FR", "DE", "AT"]
    assert markets_named("United Kingdom") == ["GB"]
    with pytest.raises(Unfit):
        markets_named("FR Narnia")


def test_the_table_of_names_is_the_one_that_babel_gives():
    """An upgrade of Babel may bring other names: `python -m tools.country_names` writes them."""
    table = {row["name"]: row["code"] for row in table_rows("country_names.csv")}
    assert table == country_names.names()
