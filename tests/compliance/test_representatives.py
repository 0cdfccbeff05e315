"""Authorised representatives: what Article 45(3) and the national laws ask, by where a company sits and how it sells.

Each row is read by hand from Articles 3(1)(15) and 45(3) of Regulation (EU) 2025/40 and the national note of the
catalogue of 2026-11-26.
"""

import csv
from datetime import date

import pytest

from compliance import representatives
from compliance.catalogue import pinned
from compliance.representatives import published_entry, representative
from compliance.tables import TableError
from schemas.companies import ProfileFields

SEAT, DIRECT = ["seat"], ["sells_directly_abroad"]
WORKED = [
    # market, seat, sells directly abroad -> required, questions
    ("FR", "FR", True, "no", []),
    ("FR", "FR", None, "no", []),
    ("FR", "RE", True, "no", []),  # a part of France
    ("FR", "DE", True, "yes", []),
    ("FR", "DE", False, "no", []),
    ("FR", "DE", None, "depends", DIRECT),
    ("FR", None, True, "depends", SEAT),
    ("FR", None, False, "no", []),
    ("FR", None, None, "depends", SEAT + DIRECT),
    ("FR", "US", True, "yes", []),  # the Member State says so
    ("FR", "US", None, "depends", DIRECT),
    ("IT", "DE", True, "yes", []),  # by the Regulation, whatever national law says
    ("IT", "CN", True, "no", []),  # firms outside the Union post guarantees
    ("IT", "CN", None, "no", []),
    ("BE", "GB", True, "depends", []),  # nobody found what Belgium says: no question to the company decides it
    ("BE-VLG", "NL", True, "yes", []),
    ("GB", "DE", True, "no", []),
    ("GB", None, None, "no", []),
    ("NO", "NO", None, "no", []),
    ("NO", "DE", True, "depends", []),
    ("NO", None, None, "depends", SEAT),
    ("US-CA", "US", True, "no", []),
]


def profile(seat: str | None, direct: bool | None) -> ProfileFields:
    return {"seat": seat, "size": None, "sells_directly_abroad": direct}


@pytest.mark.parametrize(("market", "seat", "direct", "required", "asks"), WORKED)
def test_who_needs_one(market: str, seat: str | None, direct: bool | None, required: str, asks: list[str]) -> None:
    found = representative(market, profile(seat, direct))
    assert found is not None
    assert (found["required"], [question["field"] for question in found["asks"]]) == (required, asks)


def test_a_yes_by_the_regulation_names_its_article_and_day_and_a_national_one_its_law() -> None:
    union, national = representative("FR", profile("DE", True)), representative("FR", profile("US", True))
    assert union is not None
    assert national is not None
    assert (union["reference"], union["applies_from"], union["confidence"]) == (
        "Regulation (EU) 2025/40, Article 45(3)",
        "2026-08-12",
        "primary",
    )
    assert (national["reference"], national["applies_from"]) == ("Code de l'environnement, art. L541-10-9-1", None)
    assert national["confidence"] == "secondary"
    assert national["source_url"]


def test_each_answer_stays_right_when_the_company_answers_more() -> None:
    """What is decided with a gap in the profile is decided alike by every value that could fill the gap."""
    seats, truths = (None, "FR", "DE", "GB", "US"), (None, True, False)
    for entry in pinned():
        for seat in seats:
            for direct in truths:
                found = representative(entry.code, profile(seat, direct))
                assert found is not None
                filled = [
                    representative(entry.code, profile(s, d))
                    for s in (seats[1:] if seat is None else (seat,))
                    for d in (truths[1:] if direct is None else (direct,))
                ]
                if found["required"] != "depends":
                    assert {each and each["required"] for each in filled} == {found["required"]}, (entry.code, seat)


def test_questions_and_sentences_come_in_the_reader_s_language() -> None:
    found = representative("FR", profile("DE", None), "de")
    assert found is not None
    assert found["asks"][0]["ask"].startswith("Verkauft das Unternehmen")
    assert found["reason"].startswith("Die Antwort hängt")
    assert representative("ZZ", profile("DE", True)) is None


def test_the_jurisdiction_list_says_both_and_keeps_the_field_that_was() -> None:
    rows = {entry.code: published_entry(entry, date(2026, 11, 27)) for entry in pinned()}
    name = "authorised_representative_"
    answers = {
        code: [rows[code][name + part] for part in ("required", "from_member_state", "from_third_country")]
        for code in ("FR", "IT", "BE", "GB", "NO")
    }
    assert answers == {
        "FR": ["yes", "yes", "yes"],
        "IT": ["yes", "yes", "no"],
        "BE": ["yes", "yes", "unknown"],
        "GB": ["no", "no", "no"],
        "NO": ["unknown", "unknown", "unknown"],
    }
    assert {row[name + "required"] for row in rows.values() if row["region"] == "eu"} == {"yes"}


@pytest.mark.parametrize(
    ("code", "change", "fault"),
    [
        ("FR", None, "FR has no row"),
        ("FR", {"from_member_state": "perhaps"}, "an answer is yes, no or unknown"),
        ("FR", {"article": ""}, "article and day are said of the Union"),
        ("GB", {"from_member_state": "yes"}, "outside the Union both answers are the same"),
        ("FR", {"confidence": "sure"}, "known more or less surely"),
        ("BE", {"confidence": "primary"}, "known more or less surely"),
        ("FR", {"code": "XX"}, "the catalogue has no such row"),
        ("FR", {"code": "DE"}, "DE stands 2 times"),
    ],
)
def test_a_table_that_contradicts_itself_is_refused(tmp_path, code, change, fault) -> None:
    with representatives.PINNED.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    changed = [row | (change or {}) if row["code"] == code else row for row in rows]
    kept = [row for row in changed if change is not None or row["code"] != code]
    with (tmp_path / "representatives.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(kept)
    with pytest.raises(TableError, match=fault):
        representatives.read(tmp_path / "representatives.csv")
