"""GET /skus by words, filters, findings and order: what a person would find by reading every record."""

import csv
import io
import json
import unicodedata
from uuid import uuid4

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.texts import harmless, is_computed
from schemas.vocabularies import VOCABULARIES
from services.skus.listing import COLUMNS
from tests.api.portfolios import BODY, counted, run, sent
from warehouse.figures.gaps import GAPS
from warehouse.skus.search import SORTS


def codes(caller, **filters):
    """The codes of the SKUs that are found, in their order."""
    answer = caller.get("/skus", params=filters)
    assert answer.status_code == 200, answer.text
    body = answer.json()
    assert body["pagination"]["total"] == len(body["data"])
    return [item["sku_code"] for item in body["data"]]


def fault(caller, **filters):
    """The one fault that a refused search names."""
    answer = caller.get("/skus", params=filters)
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"] == "invalid_body"
    [issue] = answer.json()["details"]
    return issue


@pytest.fixture
def shelf(caller):
    """Four SKUs that differ in what can be searched."""
    supplier = "1f0c4c2e-0000-4000-8000-00000000000"
    caller.made(sku_code="WTR-50", name="Bouteille d’Évian 50 cl", material="plastic", material_subtype="PET",
                gtin="4006381333931", markets=["FR", "DE"], weight_grams=12)  # fmt: skip
    caller.made(
        sku_code="WTR-99", name="Große Flasche", components=[{**BODY, "polymer_or_grade": "rPET"}], markets=["US-CA"]
    )
    caller.made(sku_code="BOX-1", name="Œufs, boîte", material="paper", material_subtype="PAP 21", weight_grams=30)
    caller.made(sku_code="BOX-2", name="100 % _box_", material="paper", packaging_format="box")
    return supplier


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("wtr", {"WTR-50", "WTR-99"}),
        ("evian 50", {"WTR-50"}),
        ("50 ÉVIAN", {"WTR-50"}),
        ("grosse", {"WTR-99"}),
        ("oeufs", {"BOX-1"}),
        ("pet", {"WTR-50", "WTR-99"}),
        ("rpet flasche", {"WTR-99"}),
        ("333931", {"WTR-50"}),
        ("paper box", {"BOX-1", "BOX-2"}),
        ("%", {"BOX-2"}),
        ("_", {"BOX-2"}),
        ("wtr-5_", set()),
        ("evian box", set()),
        ("  ", {"WTR-50", "WTR-99", "BOX-1", "BOX-2"}),
    ],
)
def test_every_word_is_found_in_any_order_whatever_its_letters_and_accents(caller, shelf, text, found):
    assert set(codes(caller, q=text)) == found


def test_brands_and_suppliers_are_found_by_name_and_by_id(caller, pool):
    supplier, brand = uuid4(), uuid4()
    with pool.company(caller.company) as conn:
        for table, identity, name in (("suppliers", supplier, "Käppchen GmbH"), ("brands", brand, "Très Bon")):
            conn.execute(
                f"INSERT INTO {table} (id, company_id, name, created_at, updated_at) VALUES (%s, %s, %s, now(), now())",
                (identity, caller.company, name),
            )
    caller.made(sku_code="A", name="Cap", components=[{**BODY, "supplier_id": str(supplier)}])
    caller.made(sku_code="B", name="Cap", brand_id=str(brand))
    caller.made(sku_code="C", name="Cap")
    assert codes(caller, q="kappchen cap") == ["A"]
    assert codes(caller, q="tres") == ["B"]
    assert codes(caller, supplier_id=str(supplier)) == ["A"]
    assert codes(caller, brand_id=str(brand)) == ["B"]
    assert codes(caller, q="tres kappchen") == []


def test_filters_narrow_together(caller, shelf):
    assert set(codes(caller, market="fr")) == {"WTR-50"}
    assert set(codes(caller, market="US")) == {"WTR-99"}
    assert set(codes(caller, market="US-CA")) == {"WTR-99"}
    assert set(codes(caller, material="plastic")) == {"WTR-50", "WTR-99"}
    assert set(codes(caller, material="paper", q="box")) == {"BOX-1", "BOX-2"}
    assert set(codes(caller, doc_status="missing", sku_code=["BOX-1", "WTR-50"], material="paper")) == {"BOX-1"}
    assert codes(caller, doc_status="valid") == []
    assert codes(caller, q="box", updated_since="2200-01-01T00:00:00Z") == []
    sku = caller.get("/skus", params={"sku_code": "BOX-2"}).json()["data"][0]
    for year, units, found in ((2025, 5, []), (2026, 0, []), (2026, 5, ["BOX-2"])):  # decisions §13: from 2026 on
        caller.put(f"/skus/{sku['id']}/volumes", [{"market": "IT", "year": year, "units_placed": units}])
        assert codes(caller, market="IT") == found
    for grade in VOCABULARIES["recyclability_grade"]:
        of_grade = [
            item["sku_code"] for item in caller.get("/skus").json()["data"] if item["recyclability_grade"] == grade
        ]
        assert codes(caller, grade=grade) == of_grade


def test_a_list_is_sorted_both_ways_and_what_has_no_value_comes_last(caller, shelf):
    assert codes(caller, sort="sku_code") == ["BOX-1", "BOX-2", "WTR-50", "WTR-99"]
    assert codes(caller, sort="-sku_code") == ["WTR-99", "WTR-50", "BOX-2", "BOX-1"]
    assert codes(caller, sort="name") == ["BOX-2", "WTR-50", "WTR-99", "BOX-1"]
    assert codes(caller, sort="weight_grams")[:3] == ["WTR-50", "WTR-99", "BOX-1"]
    assert codes(caller, sort="-weight_grams") == ["BOX-1", "WTR-99", "WTR-50", "BOX-2"]
    assert codes(caller, sort="-created_at") == codes(caller)
    caller.post("/skus", {"sku_code": "BOX-1", "name": "Changed"})
    assert codes(caller, sort="-updated_at")[0] == "BOX-1"
    for sort in SORTS:
        assert len(codes(caller, sort=sort)) == 4


def test_pages_of_a_search_meet_every_item_once(caller):
    rows = [{"sku_code": f"P-{number:03d}", "name": f"Bottle {number % 3}"} for number in range(90)]
    assert caller.post("/skus/batch", {"skus": rows}).status_code == 200
    for sort in ("name", "-recyclability_grade", "updated_at"):
        walked = []
        for offset in range(0, 60, 20):
            params = {"q": "bottle", "sort": sort, "limit": 20, "offset": offset}
            body = caller.get("/skus", params=params).json()
            assert body["pagination"] == {"limit": 20, "offset": offset, "total": 90}
            walked += [item["sku_code"] for item in body["data"]]
        assert len(set(walked)) == 60


def test_an_item_of_a_search_is_that_of_the_list(caller, shelf):
    plain, searched = caller.get("/skus").json(), caller.get("/skus", params={"sort": "-created_at"}).json()
    assert searched["data"] == plain["data"]
    assert set(searched) == set(plain)


def test_findings_are_those_of_the_newest_snapshot(caller, shelf):
    before = caller.get("/skus", params={"gap": "weight_missing"}).json()
    assert (before["data"], before["findings_as_of"]) == ([], None)
    counted(caller)
    assert set(codes(caller, gap="weight_missing")) == {"BOX-2"}
    assert codes(caller, gap="weight_missing", q="evian") == []
    assert caller.get("/skus", params={"gap": "weight_missing"}).json()["findings_as_of"].endswith("Z")
    for gap in GAPS:
        assert set(codes(caller, gap=gap)) <= {"WTR-50", "WTR-99", "BOX-1", "BOX-2"}


def test_a_rule_that_fired_is_one_of_the_trace(caller, shelf):
    counted(caller)
    fired: dict[str, set[str]] = {}
    for item in caller.get("/skus").json()["data"]:
        trace = caller.get(f"/skus/{item['id']}").json()["data"]["compliance"]["grade_trace"]
        for unit in trace["units"]:
            for part in unit["components"]:
                for rule in part["rules"]:
                    if rule["verdict"] != "overruled":
                        fired.setdefault(rule["rule_id"], set()).add(item["sku_code"])
    assert fired
    for rule, expected in fired.items():
        assert set(codes(caller, rule=rule)) == expected


def test_a_ban_is_found_by_its_code(caller):
    caller.made(sku_code="CUP", name="Cup", packaging_format="cup", packaging_level="sales", markets=["FR"],
                use_contexts=["takeaway", "food"], components=[{**BODY, "polymer_or_grade": "EPS"}])  # fmt: skip
    caller.made(sku_code="JAR", name="Jar", material="glass")
    counted(caller)
    [item] = caller.get("/skus", params={"sku_code": "CUP"}).json()["data"]
    flags = caller.get(f"/skus/{item['id']}").json()["data"]["compliance"]["annex_v_flags"]
    assert flags
    for flag in flags:
        assert codes(caller, flag=flag["code"]) == ["CUP"]


@pytest.mark.parametrize(
    ("name", "value", "code", "says"),
    [
        ("grade", "Z", "not_in_vocabulary", "A, B, C"),
        ("doc_status", "ok", "not_in_vocabulary", "valid"),
        ("material", "Glas", "not_in_vocabulary", "glass"),
        ("gap", "nothing", "not_in_vocabulary", "weight_missing"),
        ("sort", "price", "not_in_vocabulary", "-recyclability_score"),
        ("flag", "AV-99", "not_in_vocabulary", "AV-2"),
        ("rule", "pet_bottle-01", "not_in_vocabulary", "PET_BOTTLE-0"),
        ("market", "Frankreich", "unknown_market", "“Frankreich”"),
        ("brand_id", "x", "invalid_format", "UUID"),
        ("supplier_id", "x", "invalid_format", "UUID"),
        ("q", "a " * 9, "out_of_range", "8"),
        ("q", "a" * 201, "too_long", "200"),
        ("q", "a\x07", "invalid_format", "U+0007"),
    ],
)
def test_a_filter_that_cannot_be_read_is_refused_with_what_would_be_accepted(caller, name, value, code, says):
    issue = fault(caller, **{name: value})
    assert (issue["field"], issue["code"]) == (name, code)
    assert says in issue["message"]


def test_another_company_and_another_companys_ids_find_nothing(caller, join, shelf):
    other = join()
    other.made(sku_code="OWN", name="Own bottle")
    counted(caller)
    counted(other)
    assert codes(other, q="evian") == []
    assert codes(other, q="bottle") == ["OWN"]
    assert codes(other, gap="weight_missing") == ["OWN"]
    assert codes(other, supplier_id=shelf + "1") == []


def folded(text):
    """A text as the column of words has it, by Python's own tables."""
    decomposed = unicodedata.normalize("NFKD", text)
    plain = "".join(letter for letter in decomposed if not "\u0300" <= letter <= "\u036f").lower()
    return plain.replace("ß", "ss").replace("œ", "oe").replace("æ", "ae").replace("ø", "o").replace("ł", "l")


LETTERS = st.characters(codec="utf-8", min_codepoint=0x20, max_codepoint=0x24F, exclude_categories=("Cc",))


@settings(max_examples=200)
@given(text=st.text(LETTERS, max_size=40))
def test_letters_are_folded_as_unicode_has_them(pool, text):
    with pool.system() as conn:
        assert conn.execute("SELECT pcds_words(%s)", [text]).fetchone() == (folded(text),)


TEXTS = st.none() | st.text(LETTERS, max_size=12) | st.sampled_from(["ΟΔΟΣ", "\u0301a", "가", "ﬀ", "İ"])
PARTS = st.none() | st.lists(st.fixed_dictionaries({}, optional={"polymer_or_grade": TEXTS}), max_size=3)


@settings(max_examples=200)
@given(name=TEXTS.map(lambda text: text or ""), others=st.tuples(*[TEXTS] * 6), components=PARTS)
def test_the_words_of_a_sku_are_those_of_all_its_texts_together(pool, name, others, components):
    code, *texts = others
    grades = None if components is None else [part["polymer_or_grade"] for part in components if part]
    with pool.system() as conn:
        words = "SELECT pcds_sku_words(%s, %s, %s, %s, %s, %s, %s, %s::json)"
        found = conn.execute(words, [code or "", name, *texts, json.dumps(components) if components else None])
        [listed] = conn.execute("SELECT %s::jsonb::text", [json.dumps(grades)]).fetchone() if components else [None]
        lines = [name, code or "", *texts, listed]
        whole = "\n".join(line for line in lines if line is not None)
        assert found.fetchone() == conn.execute("SELECT pcds_words(%s)", [whole]).fetchone()


def test_the_list_is_exported_in_codes_as_csv_and_as_a_workbook(caller, shelf, join):
    join().made(sku_code="WTR-0", name="Not ours")
    query = {"q": "wtr", "sort": "sku_code", "columns": ["material", "markets", "weight_grams", "food_contact"]}
    answer = caller.get("/skus/export", params=query)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/csv; charset=utf-8")
    assert answer.content.decode("utf-8-sig").splitlines() == [
        "sku_code,name,markets,material,weight_grams,food_contact",
        "WTR-50,Bouteille d’Évian 50 cl,FR;DE,plastic,12,",
        "WTR-99,Große Flasche,US-CA,,20,",
    ]
    book = caller.get("/skus/export", params=query | {"format": "xlsx"})
    frame = pl.read_excel(io.BytesIO(book.content))
    assert frame["weight_grams"].to_list() == [12, 20]
    everything = caller.get("/skus/export").content.decode("utf-8-sig").splitlines()
    assert len(everything) == 5
    assert len(everything[0].split(",")) == 2 + len(COLUMNS)


def test_an_export_computes_nothing_and_is_read_back_as_it_was(caller):
    names = ["=1+1", "@SUM(A1)", "-5", "+49", "\t=1", "＝1", "a,b", 'say "x"', "two\nlines"]
    for number, name in enumerate(names):
        caller.made(sku_code=f"N-{number}", name=name)
    answer = caller.get("/skus/export", params={"sort": "sku_code", "columns": "material"})
    rows = list(csv.reader(io.StringIO(answer.content.decode("utf-8-sig"))))[1:]
    stored = [item["name"] for item in caller.get("/skus", params={"sort": "sku_code"}).json()["data"]]
    assert [harmless(name) for name in stored] == [row[1] for row in rows]
    assert not [row for row in rows if is_computed(row[1])]
    import_id = sent(caller, answer.content.decode("utf-8-sig"))
    run(caller, import_id)
    assert caller.get(f"/imports/{import_id}").json()["counts"]["unchanged"] == len(names)


def test_an_export_that_cannot_be_read_is_refused(caller):
    for query, name, says in (
        ({"format": "pdf"}, "format", "xlsx"),
        ({"columns": "price"}, "columns", "weight_grams"),
        ({"grade": "Z"}, "grade", "not_assessed"),
        ({"rule": "Z"}, "rule", "nearest"),
    ):
        answer = caller.get("/skus/export", params=query)
        assert answer.status_code == 400
        [issue] = answer.json()["details"]
        assert issue["field"].partition("[")[0] == name
        assert says in issue["message"]
    assert caller.http.get("/api/v1/skus/export").status_code == 401
