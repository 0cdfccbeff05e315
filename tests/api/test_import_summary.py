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


def test_a_dry_run_says_what_would_become_of_the_grades():
    changed = [{"sku_id": "x", "sku_code": f"S-{number}", "before": "C", "after": "B"} for number in range(6)]
    grades = [{"before": "C", "after": "B", "skus": 6}, {"before": None, "after": "not_assessed", "skus": 1}]
    told = summary(done() | {"dry_run": True, "preview": {"grades": grades, "changed": changed}}, [], "de")
    assert told.splitlines()[2:] == [
        "SKUs nach Note, jetzt und danach:",
        "    C → B: 6",
        "    neu → not_assessed: 1",
        "Die Note von diesen würde sich ändern: S-0, S-1, S-2, S-3, S-4, …",
    ]
    nothing = {"grades": [], "changed": []}
    assert summary(done() | {"preview": nothing}, [], "en") == summary(done(), [], "en")


def test_warnings_are_counted_with_what_they_mean():
    told = summary(done() | {"warning_counts": {"weight_mismatch": 3, "of_tomorrow": 1}}, [], "en").splitlines()
    assert told[1:] == [
        "Warning weight_mismatch: 3. The total weight and the sum of the components differ by more than 5 %.",
        "Warning of_tomorrow: 1. ",
    ]


def test_an_import_of_before_asks_nothing():
    assert summary(done(), [], "en") == "Completed, 1 SKUs: 1 created, 0 updated, 0 unchanged, 0 rejected."
