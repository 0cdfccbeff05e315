"""Columns of a substance alone are read by their cells, and `free of` it is no presence of it."""

from tests.pipelines.reading.writing import delimited, read, values

SUBSTANCES = ["PFAS", "SVHC", "BPA", "Heavy metals"]


def columns(cells: list[str]) -> dict[str, object]:
    [row] = values(delimited([["SKU", "Name", *SUBSTANCES], ["A-1", "Box", *cells]]))
    return {name: value for name, value in row.items() if name not in ("sku_code", "name")}


def test_yes_and_no_say_whether_a_substance_is_there() -> None:
    assert columns(["no", "yes", "no", ""]) == {"pfas_intentional": False, "svhc_declared": True, "bpa_present": False}


def test_words_for_a_status_are_the_status() -> None:
    statuses = columns(["absent", "below limit", "free", "compliant"])
    assert statuses == {
        "pfas_status": "absent",
        "svhc_status": "below_limit",
        "bpa_status": "absent",
        "heavy_metals_status": "below_limit",
    }


def test_numbers_of_heavy_metals_are_no_status() -> None:
    source = read(delimited([["SKU", "Name", "Heavy metals"], ["A-1", "Box", "12"]]))[0].source
    assert [entry["header"] for entry in source["ignored"]] == ["Heavy metals"]


def test_free_of_a_substance_is_asked_about_with_an_answer_that_is_true() -> None:
    data = delimited(
        [["SKU", "Name", "BPA free", "PFAS-frei"], ["A-1", "Box", "yes", "ja"], ["A-2", "Can", "no", "nein"]]
    )
    upload, rows = read(data)
    assert rows.values.columns == ["row", "line", "sheet", "sku_code", "name"]
    bpa, pfas = upload.source["asked"]
    assert bpa["answer"] == {
        "columns": {"bpa_status": "C"},
        "values": {"bpa_status": {"no": "unknown", "yes": "absent"}},
    }
    answer = {part: {**bpa["answer"][part], **pfas["answer"][part]} for part in ("columns", "values")}
    answered = read(data, answer)[1].values
    assert answered.select("bpa_status", "pfas_status").rows() == [("absent", "absent"), ("unknown", "unknown")]


def test_numbers_are_a_value_in_the_unit_of_the_limit_and_are_asked_about() -> None:
    head = ["SKU", "Name", "PFAS (ppb)", "BPA (mg/kg)", "SVHC (%)", "PFAS (ppm)"]
    upload, rows = read(delimited([head, ["A-1", "Box", "12", "1", "0.05", "3"], ["A-2", "Can", "5", "0.1", "1", "2"]]))
    assert (rows.errors.height, rows.values.columns) == (0, ["row", "line", "sheet", "sku_code", "name"])
    asked = {about["header"]: about["could_be"] for about in upload.source["asked"]}
    assert asked == {"PFAS (ppb)": ["pfas_value"], "BPA (mg/kg)": ["bpa_value"], "SVHC (%)": ["svhc_value"]}
    assert [entry["header"] for entry in upload.source["ignored"]] == ["PFAS (ppm)"]
