"""The table of a declaration's fixed texts: official wording with its source, and the languages that follow from it."""

from compliance import conformity
from compliance.tables import RULES, rows
from schemas.messages import LANGUAGES

TABLE = rows(RULES / "conformity" / "texts.csv")
OFFICIAL = {row["key"] for row in TABLE if row["kind"] == "official"}


def test_every_text_has_a_source_and_a_language_that_the_service_speaks() -> None:
    assert len({(row["key"], row["language"]) for row in TABLE}) == len(TABLE)
    assert {row["kind"] for row in TABLE} == {"official", "ours"}
    assert {row["language"] for row in TABLE} <= set(LANGUAGES)
    for row in TABLE:
        assert ("OJ L, 2025/40, 22.1.2025" in row["source"]) == (row["kind"] == "official"), row
        assert row["text"], row


def test_a_language_is_offered_only_with_the_whole_wording_of_the_official_journal() -> None:
    by_language = {
        lang: {row["key"] for row in TABLE if (row["kind"], row["language"]) == ("official", lang)}
        for lang in LANGUAGES
    }
    assert conformity.offered_languages() == tuple(lang for lang in LANGUAGES if by_language[lang] == OFFICIAL)
    assert conformity.offered_languages() == ("en", "de"), "decision 0093: no source of the French wording was found"


def test_the_wording_is_that_of_annex_viii() -> None:
    """Official Journal L, 2025/40, pages 107 and 108; Article 3(1)(13): the manufacturer is *Erzeuger* in German."""
    english, german = conformity.load_texts("en"), conformity.load_texts("de")
    assert {f"point.{point.key}" for point in conformity.points()} | {"title"} <= OFFICIAL
    assert english["point.legislation"].startswith("The object of the declaration referred to point 4 is in conformity")
    assert german["point.responsibility"].endswith("trägt der Erzeuger.")
    assert not [key for key, text in german.items() if "Hersteller" in text]
