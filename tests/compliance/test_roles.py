"""Economic operators: ten companies by hand, each row with the article that decides; read from Regulation (EU) 2025/40.

The facts are what each company answers; those that a row leaves out are open, and change nothing.
"""

from datetime import date

import pytest

from compliance import roles
from compliance.roles import decide, duties, questions
from compliance.tables import rows, words

DAY = date(2026, 11, 28)
PACKED = {"kind": "products", "size": "small"}
BRAND = PACKED | {"mark": "own", "specified_by": "own", "made_by": "other", "packed_by": "other", "seat": "FR",
                  "supplier_country": "FR", "sells_directly_abroad": "no"}  # fmt: skip
TRADER = PACKED | {"mark": "other", "specified_by": "other", "made_by": "other", "packed_by": "other", "modifies": "no"}
WORKED = [
    # company, market, its answers -> operator, article, producer, article
    ("brand owner with a contract packer", "FR", BRAND, "manufacturer", "3(1)(13)(a)", "yes", "3(1)(15)(b)"),
    ("the same, in a market that it only supplies through traders", "DE", BRAND,
     "manufacturer", "3(1)(13)(a)", "no", "3(1)(15)"),
    ("the contract packer", "FR", PACKED | {"mark": "other", "made_by": "other", "packed_by": "own", "seat": "FR",
     "owner_is_micro": "no"}, "supplier", "3(1)(16)", "no", "3(1)(15)"),
    ("the contract packer of a micro-enterprise in its own country", "FR", PACKED | {"mark": "other",
     "made_by": "other", "packed_by": "own", "seat": "FR", "owner_is_micro": "yes", "owner_country": "FR"},
     "manufacturer", "3(1)(13)(b)", "yes", "3(1)(15)(b)"),
    ("importer", "DE", TRADER | {"seat": "DE", "supplier_country": "CN"},
     "importer", "3(1)(17)", "yes", "3(1)(15)(b)"),
    ("distributor of goods from another Member State", "DE", TRADER | {"seat": "DE", "supplier_country": "FR"},
     "distributor", "3(1)(18)", "yes", "3(1)(15)(b)"),
    ("distributor of goods from its own country", "DE", TRADER | {"seat": "DE", "supplier_country": "DE"},
     "distributor", "3(1)(18)", "no", "3(1)(15)"),
    ("distance seller of another Member State", "AT", BRAND | {"sells_directly_abroad": "yes"},
     "manufacturer", "3(1)(13)(a)", "yes", "3(1)(15)(d)"),
    ("distance seller of a third country, by its shipping boxes", "AT", {"kind": "transport", "mark": "own",
     "specified_by": "own", "made_by": "other", "seat": "US", "size": "small", "sells_directly_abroad": "yes"},
     "manufacturer", "3(1)(13)(a)", "yes", "3(1)(15)(c)"),
    ("micro-enterprise whose supplier is in its own country", "FR", BRAND | {"size": "micro", "packed_by": "own"},
     "distributor", "3(1)(13)(b)", "yes", "3(1)(15)(b)"),
    ("micro-enterprise whose supplier is elsewhere in the Union", "FR", BRAND | {"size": "micro", "packed_by": "own",
     "supplier_country": "IT"}, "manufacturer", "15(12)", "yes", "3(1)(15)(b)"),
    ("micro-enterprise whose supplier is beyond the Union", "FR", BRAND | {"size": "micro", "packed_by": "own",
     "supplier_country": "CN"}, "manufacturer", "3(1)(13)(a)", "yes", "3(1)(15)(b)"),
    ("own brand of a retailer, on packaging that its supplier specified", "FR", BRAND | {"specified_by": "other",
     "size": "large"}, "manufacturer", "21", "yes", "3(1)(15)(b)"),
    ("own brand of a retailer that is a micro-enterprise", "FR", BRAND | {"specified_by": "other", "size": "micro",
     "supplier_country": "NL"}, "manufacturer", "21", "yes", "3(1)(15)(b)"),
    ("bakery with plain bags from a trader in its country", "FR", {"kind": "service", "mark": "none",
     "specified_by": "other", "made_by": "other", "modifies": "no", "seat": "FR", "supplier_country": "FR"},
     "distributor", "3(1)(18)", "no", "3(1)(15)"),
    ("bakery with plain bags from a third country", "FR", {"kind": "service", "mark": "none", "specified_by": "other",
     "made_by": "other", "modifies": "no", "seat": "FR", "supplier_country": "CN"},
     "importer", "3(1)(17)", "yes", "3(1)(15)(a)"),
    ("repacker that changes what others placed on the market", "DE", TRADER | {"modifies": "yes", "seat": "DE",
     "supplier_country": "FR"}, "manufacturer", "21", "yes", "3(1)(15)(b)"),
    ("maker of pallet hoods for its own deliveries", "DE", {"kind": "transport", "mark": "none", "made_by": "own",
     "seat": "DE"}, "manufacturer", "3(1)(13)", "yes", "3(1)(15)(a)"),
    ("company of Réunion, which is in France", "FR", BRAND | {"seat": "RE"},
     "manufacturer", "3(1)(13)(a)", "yes", "3(1)(15)(b)"),
    ("any, outside the Union", "GB", BRAND, "none", None, "none", None),
]  # fmt: skip


@pytest.mark.parametrize("row", WORKED, ids=lambda row: row[0])
def test_ten_companies_and_more(row):
    company, market, facts, operator, by, producer, producer_by = row
    made = decide(market, facts)
    answers = [roles.in_words(decision, "en") for decision in (made.operator, made.producer)]
    articles = [article and f"Regulation (EU) 2025/40, Article {article}" for article in (by, producer_by)]
    assert [answer["answer"] for answer in answers] == [operator, producer], company
    assert [answer["reference"] for answer in answers] == articles, company


def test_what_is_not_answered_is_asked_and_never_assumed():
    nothing = decide("FR", {})
    assert (nothing.operator.answer, nothing.producer.answer) == ("undecided", "undecided")
    assert {"mark", "made_by", "supplier_country", "seat"} <= set(nothing.operator.asks)
    of_size = decide("FR", {name: value for name, value in BRAND.items() if name != "size"})
    assert (of_size.operator.answer, of_size.operator.asks) == ("undecided", ("size",))
    abroad = decide("DE", {name: value for name, value in BRAND.items() if name != "sells_directly_abroad"})
    assert (abroad.producer.answer, abroad.producer.asks) == ("undecided", ("sells_directly_abroad",))
    unmarked = decide("FR", {"kind": "transport", "mark": "none", "made_by": "other", "specified_by": "own"})
    assert unmarked.operator == roles.Decision("undecided", ("no_mark",))  # it asks for nothing that was answered
    of_any_kind = decide("FR", {"mark": "none", "made_by": "other", "packed_by": "other", "specified_by": "own"})
    assert of_any_kind.operator == unmarked.operator


def test_an_answer_stays_when_more_is_answered():
    """What is decided with a gap is decided alike by every value that fills it."""
    for _, market, facts, *_ in WORKED:
        for gap in facts:
            partly = decide(market, {name: value for name, value in facts.items() if name != gap})
            whole = decide(market, facts)
            for name in ("operator", "producer"):
                before, after = getattr(partly, name), getattr(whole, name)
                assert before.answer == "undecided" or before.outcome == after.outcome, (facts, gap)
                assert before.answer != "undecided" or before.asks, (facts, gap)


def test_duties_follow_from_the_roles():
    def held(market, facts, day=DAY, *, doc=None):
        return {row["duty"]: row for row in duties(decide(market, facts), day, has_declaration=doc, lang="en")}

    brand = held("FR", BRAND, doc=True)
    assert {"declare", "register", "report", "platform", "trace"} <= brand.keys()
    assert not {"represent", "check_maker", "care", "inform"} & brand.keys()
    assert (brand["declare"]["state"], brand["report"]["due_on"]) == ("met", "2027-06-01")
    assert brand["register"]["applies_from"] is None
    assert held("FR", BRAND, doc=False)["declare"]["state"] == "open"
    assert held("FR", BRAND, date(2026, 8, 11))["declare"]["state"] == "upcoming"
    assert held("FR", BRAND, date(2027, 6, 1))["report"]["due_on"] == "2027-06-01"
    assert "represent" in held("AT", BRAND | {"sells_directly_abroad": "yes"})
    beyond = held("AT", BRAND | {"sells_directly_abroad": "yes", "seat": "US"})
    assert "represent_by_law" in beyond
    assert "represent" not in beyond
    relieved = held("FR", BRAND | {"size": "micro", "packed_by": "own", "supplier_country": "IT"})
    assert not [row for row in relieved.values() if "Article 15(" in row["reference"]]
    assert held("GB", BRAND) == {}
    assert {"care", "hold_back", "trace"} == held("DE", TRADER | {"seat": "DE", "supplier_country": "DE"}).keys()


def test_duties_say_to_whom_for_how_long_and_where_an_article_leaves_no_choice():
    table = {row["key"]: row for row in rows(roles.FOLDER / "duties.csv")}
    trace = table["trace"]  # 22(2) sets a time for whom one was supplied by (22(1)(a)), none for whom one supplied
    assert trace["article"] == "22(1), 22(2)"
    assert trace["en"].index("who supplied it, for 5 years") < trace["en"].index("for which no period is set")
    for key in ("identify", "address", "importer_address"):  # 15(5), 15(6), 18(3): a document is what is left
        where_not = {"en": "not", "fr": "n’est pas possible", "de": "nicht"} if key != "identify" else {
            "en": "does not allow", "fr": "ne le permet pas", "de": "nicht zulassen"}  # fmt: skip
        for lang, words_of in where_not.items():
            assert words_of in table[key][lang].partition(";" if lang != "fr" else " ;")[2], (key, lang)
    importer = decide("DE", TRADER | {"seat": "DE", "supplier_country": "CN"})
    held = {row["duty"] for row in duties(importer, DAY, has_declaration=None, lang="en")}
    assert "importer_correct" in held  # 18(2), second subparagraph, and 18(6)
    assert "19(5)" in table["hold_back"]["article"]


def test_every_text_is_in_every_language_and_each_row_has_its_article():
    for name in ("reasons", "questions", "duties"):
        for row in rows(roles.FOLDER / f"{name}.csv"):
            assert all(row[column] for column in row if column.rpartition("_")[2] in ("en", "fr", "de")), row
            assert row["article"] or row.get("key") in ("outside", "open", "any"), row
    assert all(words(row["values"]) for row in questions().values())
