"""`components[].id` in JSON: the line of that id is updated or moved, by every operation that takes a SKU."""

import pytest

from tests.api.asking import BODY, BOTTLE, CAP

PE = {"component_type": "label", "material_family": "plastic", "polymer_or_grade": "PE", "weight_g": 1.23}
PET = {**PE, "polymer_or_grade": "PET", "weight_g": 0.8}


def sent(caller, operation, sku, components):
    """The answer's status and what it says of the row, as each operation sends it."""
    body = {"sku_code": sku["sku_code"], "name": "Bottle", "components": components}
    match operation:
        case "POST":
            answer = caller.post("/skus", body)
        case "PUT":
            answer = caller.put(f"/skus/{sku['id']}", body)
        case "batch":
            answer = caller.post("/skus/batch", {"skus": [body]})
            return answer.status_code, answer.json()["results"][0].get("errors", [])
        case "what-if":
            answer = caller.post("/skus/what-if", body)
        case "what-if of a stored one":
            answer = caller.post(f"/skus/{sku['id']}/what-if", body)
    return answer.status_code, answer.json().get("details") or []


OPERATIONS = ("POST", "PUT", "batch", "what-if", "what-if of a stored one")


@pytest.mark.promise("CMP-14")
@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_named_part_is_updated_and_moved(caller, operation):
    sku = caller.made(**BOTTLE)
    body, cap = (line["id"] for line in sku["components"])
    status, faults = sent(caller, operation, sku, [{**CAP, "id": cap}, {**CAP, "id": body.upper()}])
    assert (status in (200, 201), faults) == (True, [])
    after = caller.get(f"/skus/{sku['id']}").json()["data"]["components"]
    if "what-if" in operation:
        assert after == sku["components"]
    else:
        assert [(line["id"], line["component_type"], line["weight_g"]) for line in after] == [
            (cap, "cap", 2),
            (body, "cap", 2),
        ]


@pytest.mark.promise("CMP-14")
@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_id_is_of_this_sku_and_named_once(caller, operation):
    other = caller.made(**{**BOTTLE, "sku_code": "OTHER"})
    sku = caller.made(**BOTTLE)
    foreign, own = other["components"][0]["id"], sku["components"][0]["id"]
    lines = [{**BODY, "id": own}, {**CAP, "id": own}, {**CAP, "id": foreign}]
    _, faults = sent(caller, operation, sku, lines)
    assert [(each["field"], each["code"]) for each in faults] == [
        ("components[1].id", "duplicate_row"),
        ("components[2].id", "unknown_reference"),
    ]
    assert caller.get(f"/skus/{sku['id']}").json()["data"]["components"] == sku["components"]


def test_a_new_sku_has_no_part_to_name(caller):
    other = caller.made(**BOTTLE)
    answer = caller.post("/skus", {**BOTTLE, "sku_code": "NEW", "components": other["components"][:1]})
    assert answer.status_code == 400
    assert answer.json()["details"][0]["field"] == "components[0].id"


def test_what_is_read_can_be_sent_back(caller):
    sku = caller.made(**BOTTLE)
    assert {"id", "component_type"} <= sku["components"][0].keys()
    body = {"sku_code": "BOTTLE-1", "name": "Bottle", "components": sku["components"]}
    assert caller.put(f"/skus/{sku['id']}", body).json()["outcome"] == "unchanged"


def test_an_archived_sku_comes_back_with_its_parts(caller):
    sku = caller.made(**BOTTLE)
    assert caller.post(f"/skus/{sku['id']}/archive", {"reason": "Sold out"}).status_code == 200
    body = {**BOTTLE, "components": sku["components"][::-1]}
    after = caller.post("/skus", body).json()["data"]["components"]
    assert [line["id"] for line in after] == [line["id"] for line in sku["components"]][::-1]


@pytest.mark.promise("CMP-15")
def test_a_label_that_is_inserted_takes_no_id(caller):
    [pe] = caller.made(**{**BOTTLE, "components": [PE]})["components"]
    first, second = caller.post("/skus", {**BOTTLE, "components": [PET, PE]}).json()["data"]["components"]
    assert second == pe
    assert first["id"] != pe["id"]
