"""What `pcds import` says at the end of an import, made from its status alone."""

from api.imports.summary import summary
from api.operate.program import _sentence

ASKED = {
    "kind": "column",
    "column": "D",
    "header": "weight_kg",
    "sheet": None,
    "lines": None,
    "text": None,
    "could_be": ["weight_grams"],
    "message": "“weight_kg” may be the product's or its packaging's, and nothing in the table says which.",
    "answer": {"columns": {"weight_grams": "D"}},
}
CHOICE = {**ASKED, "kind": "unit", "could_be": ["g", "kg"], "answer": {"units": {"weight_grams": "g"}}}
COUNTS = {"total": 1, "created": 1, "updated": 0, "unchanged": 0, "rejected": 0}


def done(**source: object) -> dict[str, object]:
    return {"id": "i-1", "counts": COUNTS, "dry_run": False, "source": {"sheet": None, "skipped": [], **source}}


def test_each_question_is_said_with_the_options_that_settle_it():
    told = summary(done(asked=[ASKED, CHOICE]), [], "en").splitlines()
    assert told[1] == "Completed, 2 questions open: this was not stored."
    assert " ".join(told[2:]).startswith(f"D: {ASKED['message']}")
    assert [line.strip() for line in told if line.startswith("    ")] == [
        """--mapping '{"columns":{"weight_grams":"D"}}'""",
        """--mapping '{"units":{"weight_grams":"g"}}'""",
        """--mapping '{"units":{"weight_grams":"kg"}}'""",
    ]
    assert told[-1] == "Answer with the options that are right: pcds import --answer i-1 --mapping …"
    dry = summary(done(asked=[ASKED]) | {"dry_run": True}, [], "en").splitlines()
    assert dry[-1] == "Send the file again with the options that are right."


def test_a_refusal_that_asks_says_the_option_too():
    detail = {**CHOICE, "kind": "encoding", "could_be": ["a", "b"], "message": "Two encodings fit."}
    detail["answer"] = {"encoding": "a"}
    said = _sentence(400, {"error": "invalid_body", "details": [detail]}, "en")
    assert said == """Two encodings fit. --mapping '{"encoding":"a"}' --mapping '{"encoding":"b"}'"""


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


def test_each_column_says_what_its_texts_became():
    texts = [{"column": "C", "field": "material", "text": f"T{n}", "value": "metal", "rows": n} for n in range(1, 7)]
    weight = {"column": "D", "field": "weight_grams", "text": "25", "value": "25 kg = 25000 g", "rows": 7}
    told = summary(done(readings=[*texts[:2], weight, *texts[2:]]), [], "en").splitlines()
    assert told[1:] == [
        "What the texts of each column became, with their numbers of lines:",
        "    C material: “T1” → metal (1), “T2” → metal (2), “T3” → metal (3), “T4” → metal (4), “T5” → metal",
        "        (5), …",
        "    D weight_grams: “25” → 25 kg = 25000 g (7)",
    ]


def test_warnings_are_counted_with_what_they_mean():
    told = summary(done() | {"warning_counts": {"weight_mismatch": 3, "of_tomorrow": 1}}, [], "en").splitlines()
    assert told[1:] == [
        "Warning weight_mismatch: 3. The total weight and the sum of the components differ by more than 5 %.",
        "Warning of_tomorrow: 1. ",
    ]


def test_an_import_of_before_asks_nothing():
    assert summary(done(), [], "en") == "Completed, 1 SKU: 1 created, 0 updated, 0 unchanged, 0 rejected."
