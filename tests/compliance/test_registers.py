"""What is missing to sell in a market, by hand; each row with the article that decides, read from (EU) 2025/40."""

from datetime import date

import pytest

from compliance import registers
from compliance.registers import has_mandate, in_force, is_certified, judge, market_of
from compliance.roles import decide
from compliance.tables import rows

DAY = date(2026, 11, 28)
NOTHING = {"registrations": [], "representative": None, "certification": None}
MADE = {"mark": "own", "specified_by": "own", "made_by": "other", "packed_by": "own", "kind": "products",
        "supplier_country": "FR", "size": "small"}  # fmt: skip
HERE = MADE | {"seat": "FR", "sells_directly_abroad": "no"}
ABROAD = MADE | {"seat": "FR", "sells_directly_abroad": "yes"}
BEYOND = MADE | {"seat": "US", "sells_directly_abroad": "yes"}


def number(since, until=None):
    return {"register_name": "R", "number": "1", "valid_from": since, "valid_to": until, "proof_id": None}


def mandate(since, until=None):
    return {"name": "AR", "address": None, "mandate_from": since, "mandate_to": until, "proof_id": None}


def held(*registrations, representative=None, certification=None):
    return {"registrations": [*registrations], "representative": representative, "certification": certification}


NOW, OVER, SOON = number("2026-01-01"), number("2020-01-01", "2026-11-27"), number("2026-11-29")
WORKED = [
    # what it is, market, facts, register, what it holds -> state, reasons of the needs with their articles
    ("at home and registered", "FR", HERE, "SYDEREP", held(NOW), "ready", ["registration.met"], ["44(4)"]),
    ("at home, its last day is today", "FR", HERE, "SYDEREP", held(number("2020-01-01", "2026-11-28")),
     "ready", ["registration.met"], ["44(4)"]),
    ("at home, its first day is today", "FR", HERE, "SYDEREP", held(number("2026-11-28")),
     "ready", ["registration.met"], ["44(4)"]),
    ("at home, not registered", "FR", HERE, "SYDEREP", NOTHING, "missing", ["registration.none"], ["44(4)"]),
    ("at home, ended yesterday", "FR", HERE, "SYDEREP", held(OVER), "missing", ["registration.ended"], ["44(4)"]),
    ("at home, begins tomorrow", "FR", HERE, "SYDEREP", held(OVER, SOON),
     "missing", ["registration.later"], ["44(4)"]),
    ("at home, one of two in force", "FR", HERE, "SYDEREP", held(OVER, NOW),
     "ready", ["registration.met"], ["44(4)"]),
    ("supplies traders elsewhere", "DE", HERE, "LUCID", NOTHING, "not_needed", [], []),
    ("distance seller with a number and no representative", "DE", ABROAD, "LUCID", held(NOW),
     "missing", ["registration.met", "representative.none"], ["44(4)", "45(3)"]),
    ("distance seller with both", "DE", ABROAD, "LUCID", held(NOW, representative=mandate("2026-08-12")),
     "ready", ["registration.met", "representative.met"], ["44(4)", "45(3)"]),
    ("distance seller whose mandate has ended", "DE", ABROAD, "LUCID",
     held(NOW, representative=mandate("2020-01-01", "2026-08-11")),
     "missing", ["registration.met", "representative.ended"], ["44(4)", "45(3)"]),
    ("distance seller whose mandate begins later", "DE", ABROAD, "LUCID",
     held(NOW, representative=mandate("2027-01-01")),
     "missing", ["registration.met", "representative.later"], ["44(4)", "45(3)"]),
    ("at home, a representative is not asked for", "FR", ABROAD, "SYDEREP", held(NOW),
     "ready", ["registration.met"], ["44(4)"]),
    ("where no register is known", "CY", ABROAD, None, held(representative=mandate("2026-08-12")),
     "undecided", ["registration.unknown", "representative.met"], ["44(2)", "45(3)"]),
    ("where no register is known, with a number", "CY", ABROAD, None,
     held(NOW, representative=mandate("2026-08-12")),
     "ready", ["registration.met", "representative.met"], ["44(4)", "45(3)"]),
    ("of a third country, where the law says yes", "AT", BEYOND, "EDM", held(NOW),
     "missing", ["registration.met", "representative.none"], ["44(4)", "45(3)"]),
    ("of a third country, where the law is not known", "BE", BEYOND, "IVCIE", held(NOW),
     "undecided", ["registration.met", "representative.unknown"], ["44(4)", "45(3)"]),
    ("outside the Union", "GB", HERE, "RPD", NOTHING, "outside", [], []),
]  # fmt: skip


@pytest.mark.parametrize("row", WORKED, ids=lambda row: row[0])
def test_what_is_missing(row):
    _, market, facts, register, holds, state, reasons, articles = row
    standing = judge(market, [decide(market, facts).producer], holds, register, DAY)
    assert (standing.state, [need.reason for need in standing.needs]) == (state, reasons)
    told = [registers.in_words(need, "en")["reference"] for need in standing.needs]
    assert told == [f"Regulation (EU) 2025/40, Article {article}" for article in articles]


def test_undecided_there_is_undecided_here_with_the_same_questions():
    open_facts = {name: value for name, value in ABROAD.items() if name != "sells_directly_abroad"}
    producer = decide("DE", open_facts).producer
    standing = judge("DE", [producer], held(NOW), "LUCID", DAY)
    assert (standing.state, standing.needs, standing.asks) == ("undecided", (), producer.asks)
    assert "sells_directly_abroad" in standing.asks


def test_one_packaging_of_which_it_is_producer_is_enough_and_an_open_one_keeps_it_open():
    yes, no = decide("DE", ABROAD).producer, decide("DE", HERE).producer
    undecided = decide("DE", {}).producer
    states = [judge("DE", decisions, NOTHING, "LUCID", DAY).state
              for decisions in ([no, yes], [undecided, yes], [no, undecided], [no, no])]  # fmt: skip
    assert states == ["missing", "missing", "undecided", "not_needed"]


def test_a_certification_stands_only_while_nothing_is_missing_and_from_its_day():
    signed = {"name": "Ada", "signed_on": "2026-11-28"}
    for holds, stands in (
        (held(NOW, certification=signed), True),
        (held(NOW, certification=signed | {"signed_on": "2026-11-29"}), False),
        (held(OVER, certification=signed), False),
        (held(NOW), False),
    ):
        standing = judge("FR", [decide("FR", HERE).producer], holds, "SYDEREP", DAY)
        assert is_certified(standing, holds, DAY) is stands
    assert in_force(held(OVER, NOW, SOON), DAY) == [NOW]
    assert has_mandate(held(representative=mandate("2026-08-12", "2026-11-28")), DAY)
    assert not has_mandate(NOTHING, DAY)


def test_parts_of_a_member_state_have_its_register_and_others_their_own():
    assert [market_of(code) for code in ("BE-VLG", "RE", "FR", "US-CA", "GB")] == ["BE", "FR", "FR", "US-CA", "GB"]


def test_every_sentence_is_there_in_each_language_with_its_article():
    table = rows(registers.FOLDER / "needs.csv")
    reasons = {f"{need}.{reason}" for need in ("registration", "representative")
               for reason in ("met", "none", "ended", "later", "unknown")}  # fmt: skip
    assert {row["key"] for row in table} == reasons | {"certification"}
    assert all(row[name] for row in table for name in ("article", "en", "fr", "de"))
