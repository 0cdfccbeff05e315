"""What `pcds import` says at the end of an import, made from its status alone."""

from api.commands.summary import summary

ASKED = {
    "column": "D",
    "header": "weight_kg",
    "could_be": ["weight_grams"],
    "message": "“weight_kg” may be the product's or its packaging's, and nothing in the table says which; it is not "
    'read. If it is the packaging\'s, say so: mapping={"columns": {"weight_grams": "D"}}, or name the packaging in its '
    "header.",
}
COUNTS = {"total": 1, "created": 1, "updated": 0, "unchanged": 0, "rejected": 0}


def done(**source: object) -> dict[str, object]:
    return {"counts": COUNTS, "dry_run": False, "source": {"sheet": None, "skipped": [], **source}}


def test_columns_that_are_asked_about_are_said_as_the_service_says_them():
    assert " ".join(summary(done(asked=[ASKED]), [], "en").split()).endswith(f"D: {ASKED['message']}")


def test_an_import_of_before_asks_nothing():
    assert summary(done(), [], "en") == "Completed, 1 SKUs: 1 created, 0 updated, 0 unchanged, 0 rejected."
