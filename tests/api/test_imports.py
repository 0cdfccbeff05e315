"""Files over HTTP: the two ways to send one, what is refused before the 202, the poll, and the bounds."""

from pathlib import Path
from uuid import uuid4

import pytest

from schemas.imports.types import ImportAccepted, ImportStatusResponse
from tests.api.published import published

CSV = b"sku_code;name;weight_grams\nI-1;Bottle;12,5\nI-2;Tray;8\n"
EXAMPLE = Path(__file__).parents[2] / "examples" / "portfolio.xlsx"


def _raw(caller, data, filename="file.csv", **params):
    query = {"filename": filename, **params}
    return caller.request("POST", "/imports", content=data, params={k: v for k, v in query.items() if v is not None})


def _refused(answer):
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_body"), answer.text
    return [issue["code"] for issue in answer.json()["details"]]


def test_a_raw_file_is_accepted_and_polled(caller):
    answer = _raw(caller, CSV)
    assert answer.status_code == 202, answer.text
    published(ImportAccepted, answer.json())
    accepted = answer.json()
    assert (accepted["filename"], accepted["rows"], accepted["dry_run"]) == ("file.csv", 2, False)
    assert accepted["poll_url"] == f"/api/v1/imports/{accepted['id']}"
    poll = caller.http.get(accepted["poll_url"], headers={"X-API-Key": caller.key})
    published(ImportStatusResponse, poll.json())
    assert poll.json()["progress"] == {"done": 0, "total": 2}


@pytest.mark.parametrize(
    "data",
    [
        "Artikelnummer;Bezeichnung;Gewicht (g);Material\nB;Kiste;2;Karton\nB;Kiste;1,234;Karton\n",
        "sku_code;name;component_type;material_family;component_weight_g\nL;Jar;body;glass;18\nL;;cap;plastic;2\n",
    ],
)
def test_components_on_the_lines_of_a_csv_stand_in_no_sheet(caller, data):
    """Every answer to this caller is held against the document."""
    accepted = _raw(caller, data.encode())
    assert accepted.status_code == 202
    parts = accepted.json()["source"]["components"]
    assert (parts["sheet"], parts["header_row"]) == (None, 1)
    polled = caller.get(f"/imports/{accepted.json()['id']}")
    assert polled.json()["source"]["components"]["sheet"] is None


def test_a_multipart_file_is_accepted(caller):
    answer = caller.request("POST", "/imports?dry_run=1", files={"file": ("p.xlsx", EXAMPLE.read_bytes())})
    assert answer.status_code == 202, answer.text
    published(ImportAccepted, answer.json())
    assert (answer.json()["filename"], answer.json()["dry_run"]) == ("p.xlsx", True)


def test_a_mapping_says_which_column_is_which_as_a_part_or_a_parameter(caller):
    strange, mapping = b"Ours;What\nI-1;Bottle\n", '{"columns": {"sku_code": "A", "name": "What"}}'
    raw = _raw(caller, strange, mapping=mapping)
    part = caller.request("POST", "/imports", files={"file": ("f.csv", strange)}, data={"mapping": mapping})
    for answer in (raw, part):
        assert answer.status_code == 202, answer.text
        assert [column["field"] for column in answer.json()["source"]["columns"]] == ["sku_code", "name"]
    for wrong in ("no json", "[]", '{"columns": {"sku_code": "Z"}}', '{"colums": {}}'):
        assert "invalid_mapping" in _refused(_raw(caller, strange, mapping=wrong))


def test_a_mapping_is_kept_under_a_name_and_recalled_by_it_alone(caller, join):
    stranger = join()
    strange, mapping = b"Ours;What\nI-1;Bottle\n", '{"columns": {"sku_code": "A", "name": "What"}}'
    other = '{"columns": {"sku_code": "What", "name": "Ours"}}'
    fields = lambda answer: [column["field"] for column in answer.json()["source"]["columns"]]  # noqa: E731
    assert _refused(_raw(caller, strange, mapping_name="ERP")) == ["invalid_mapping"]
    assert _raw(caller, strange, mapping=mapping, mapping_name="ERP", dry_run="1").status_code == 202
    assert _refused(_raw(caller, strange, mapping_name="ERP")) == ["invalid_mapping"]
    kept = _raw(caller, strange, mapping=mapping, mapping_name=" ERP ")
    assert kept.json()["source"]["mapping_name"] == "ERP"
    part = caller.request("POST", "/imports", files={"file": ("f.csv", strange)}, data={"mapping_name": "ERP"})
    assert (part.status_code, fields(part)) == (202, ["sku_code", "name"])
    assert _refused(_raw(stranger, strange, mapping_name="ERP")) == ["invalid_mapping"]
    assert fields(_raw(caller, strange, mapping=other, mapping_name="ERP")) == ["name", "sku_code"]
    assert fields(_raw(caller, strange, mapping_name="ERP")) == ["name", "sku_code"]
    assert _refused(_raw(caller, strange, mapping='{"columns": {"sku_code": "Z"}}', mapping_name="ERP"))
    assert fields(_raw(caller, strange, mapping_name="ERP")) == ["name", "sku_code"]
    for name in (" ", "x" * 101, "a\x00"):
        assert _refused(_raw(caller, strange, mapping=mapping, mapping_name=name)) == ["invalid_mapping"]


def test_a_file_that_says_nothing_is_refused_with_its_reason(caller):
    assert _refused(_raw(caller, b"")) == ["no_table"]
    assert _refused(_raw(caller, b"a;b\n1;2\n")) == ["missing_column", "missing_column"]
    assert _refused(_raw(caller, b"sku_code;name\n")) == ["no_rows"]
    assert _refused(_raw(caller, CSV, filename=None)) == ["required"]
    assert _refused(_raw(caller, CSV, filename="a\x00.csv")) == ["invalid_format"]
    assert _refused(_raw(caller, CSV, dry_run="maybe")) == ["invalid_format"]
    assert caller.get("/skus").json()["pagination"]["total"] == 0


@pytest.mark.parametrize(
    ("body", "kind", "code"),
    [
        (b"no boundary", "multipart/form-data", "invalid_format"),
        (b"--x\r\ngarbage", "multipart/form-data; boundary=x", "invalid_format"),
        (b"", "multipart/form-data; boundary=x", "invalid_format"),
        (b"--x--\r\n", "multipart/form-data; boundary=x", "required"),
        (
            b'--x\r\nContent-Disposition: form-data; name="file"\r\n\r\nno filename\r\n--x--\r\n',
            "multipart/form-data; boundary=x",
            "required",
        ),
    ],
)
def test_a_malformed_multipart_body_is_refused(caller, body, kind, code):
    answer = caller.request("POST", "/imports", content=body, headers={"content-type": kind})
    assert _refused(answer) == [code]


def test_ten_mebibytes_and_one_of_no_announced_length_are_too_many(caller):
    data = b"sku_code;name\n" + b"x" * (10 * 2**20 + 1 - 14)
    answer = _raw(caller, iter([data[: 2**20], data[2**20 :]]))
    assert (answer.status_code, answer.json()["error"]) == (413, "payload_too_large")


def test_a_read_key_polls_and_does_not_submit(join):
    reader = join(scopes=("read",))
    assert _raw(reader, CSV).status_code == 403
    assert reader.get(f"/imports/{uuid4()}").status_code == 404


@pytest.mark.promise("IMP-29")
@pytest.mark.parametrize("said", ["true", "1"])
def test_a_dry_run_is_one_wherever_the_form_says_so(caller, said):
    file = {"file": ("f.csv", CSV)}
    part = caller.request("POST", "/imports", files=file, data={"dry_run": said})
    both = caller.request("POST", "/imports?dry_run=true", files=file, data={"dry_run": said})
    for answer in (part, both, _raw(caller, CSV, dry_run=said)):
        assert (answer.status_code, answer.json()["dry_run"]) == (202, True), answer.text
    for value in ("false", "0"):
        wet = caller.request("POST", "/imports", files=file, data={"dry_run": value})
        assert (wet.status_code, wet.json()["dry_run"]) == (202, False)


@pytest.mark.parametrize(
    ("query", "fields", "field", "code"),
    [
        ("", {"dry_run": "yes"}, "dry_run", "invalid_format"),
        ("", {"dry_run": ""}, "dry_run", "invalid_format"),
        ("", {"dry_run": "True"}, "dry_run", "invalid_format"),
        ("?dry_run=true", {"dry_run": "false"}, "dry_run", "invalid_format"),
        ("?dry_run=0", {"dry_run": "1"}, "dry_run", "invalid_format"),
        ("?dry_run=true&dry_run=false", {}, "dry_run", "invalid_format"),
        ("", {"dryrun": "true"}, "dryrun", "unknown_field"),
        ("", {"dry-run": "true"}, "dry-run", "unknown_field"),
        ("", {"filename": "x.csv"}, "filename", "unknown_field"),
        ("?dryRun=true", {}, "dryRun", "unknown_field"),
        ("?dry-run=true", {}, "dry-run", "unknown_field"),
        ("?mapping=%7B%7D", {"mapping": '{"decimal": "."}'}, "mapping", "invalid_format"),
        ("?mapping_name=a", {"mapping_name": "b"}, "mapping_name", "invalid_format"),
        ("", {"mapping": ["{}", "{}"]}, "mapping", "invalid_format"),
    ],
)
def test_what_an_import_does_not_understand_is_refused_and_never_written(caller, query, fields, field, code):
    answer = caller.request("POST", f"/imports{query}", files={"file": ("f.csv", CSV)}, data=fields)
    assert _refused(answer) == [code]
    assert answer.json()["details"][0]["field"] == field
    assert caller.get("/skus").json()["pagination"]["total"] == 0


def test_an_unknown_parameter_of_a_raw_import_is_refused(caller):
    assert _refused(_raw(caller, CSV, dryrun="true", mode="x")) == ["unknown_field", "unknown_field"]


def test_a_file_part_of_another_name_is_refused(caller):
    answer = caller.request("POST", "/imports", files={"dry_run": ("true", b"true")})
    assert _refused(answer) in (["invalid_format"], ["required"])


def test_a_dry_run_of_a_batch_is_one_wherever_it_is_said(caller):
    row = {"sku_code": "B-1", "name": "Bottle"}
    for path, body in (
        ("/skus/batch?dry_run=true", {"skus": [row]}),
        ("/skus/batch", {"skus": [row], "dry_run": True}),
        ("/skus/batch?dry_run=1", {"skus": [row], "dry_run": True}),
    ):
        answer = caller.request("POST", path, json=body)
        assert (answer.status_code, answer.json()["dry_run"]) == (200, True), answer.text
    contradicted = caller.request("POST", "/skus/batch?dry_run=true", json={"skus": [row], "dry_run": False})
    assert _refused(contradicted) == ["invalid_format"]
    assert caller.get("/skus").json()["pagination"]["total"] == 0


def test_a_kept_mapping_keeps_all_that_it_says(caller):
    strange = b"EAN;Titel;Farbe;Material\n4006381333931;Flasche;schwarz;x\n"
    mapping = (
        '{"columns": {"sku_code": "EAN", "gtin": "EAN", "name": ["Name", "Titel"], "material": null},'
        ' "constants": {"packaging_level": "sales"}, "values": {"name": {"flasche": "Bottle"}}}'
    )
    sent = _raw(caller, strange, mapping=mapping, mapping_name="Till").json()["source"]
    again = _raw(caller, strange, mapping_name="Till")
    published(ImportAccepted, again.json())
    assert again.json()["source"] == sent
    assert sent["mapped"] == ["sku_code", "gtin", "name"]
    assert sent["switched_off"] == [{"field": "material", "column": "D", "header": "Material"}]
    assert (sent["constants"], sent["values"]) == ({"packaging_level": "sales"}, {"name": {"flasche": "Bottle"}})
    [column] = _raw(caller, strange, mapping='{"columns": {"weight": "Titel"}}').json()["details"]
    assert (column["code"], column["field"]) == ("invalid_mapping", "mapping")
    assert "weight_grams" in column["message"]
