"""Proof for the declaration of conformity by every door: by article, by SKU and part, and the bundle of ten days."""

import csv
import hashlib
import io
import json
import zipfile
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest

from api.http import stored_files
from api.http.errors import Fault
from tests.api.people import Browser, added, hidden, signed_in
from tests.api.test_company_roles import told
from tests.api.test_draft_pages import filed
from warehouse import files

GLASS = {"component_type": "body", "material_family": "glass", "weight_g": 200}
GLUE = {"component_type": "adhesive", "material_family": "plastic", "polymer_or_grade": "PE", "weight_g": 100}
CAP = {"component_type": "cap", "material_family": "plastic", "polymer_or_grade": "PP", "weight_g": 30}
JAR = {"name": "Jar", "components": [GLASS], "packaging_level": "sales", "packaging_format": "jar", "reusable": False,
       "reuse_deposit_system": False, "use_contexts": ["food"], "food_contact": True, "markets": ["FR"]}  # fmt: skip
PDF = b"%PDF-1.7\n%%EOF\n"
EMPTY = {"5": "missing", "6": "later", "7": "not_concerned", "8": "not_concerned", "9": "not_concerned", "10": "later",
         "11": "not_concerned", "12": "later"}  # fmt: skip


def today():
    return datetime.now(UTC).date()


def day(days):
    return (today() + timedelta(days=days)).isoformat()


def made(caller, code="A", **change):
    answer = caller.post("/skus", JAR | {"sku_code": code} | change)
    assert answer.status_code == 201, answer.text
    return answer.json()["data"]


def uploaded(caller, sku, kind, name="report.pdf", data=PDF, **fields):
    sent = {"data": {"type": kind, **fields}, "files": {"file": (name, data, "application/pdf")}}
    answer = caller.request("POST", f"/skus/{sku['id']}/files", **sent)
    assert answer.status_code == 201, answer.text
    return answer.json()["data"]["id"]


def of_parts(caller, pool, sku, kind, *parts, expires_on=None):
    """Store a supplier's certificate of some parts, as an accepted answer does."""
    one = files.File(uuid4(), "supplier.pdf", "application/pdf", 1, "0" * 64, kind, None, "Caps SA", None, expires_on)
    with pool.company(UUID(str(caller.company))) as conn:
        ids = [UUID(part["id"]) for part in parts]
        assert files.add(conn, caller.company, UUID(sku["id"]), one, at=datetime.now(UTC), component_ids=ids)


def states(caller, sku):
    record = told(caller.get(f"/skus/{sku['id']}/evidence"))
    return {str(row["article"]): row["state"] for row in record["articles"]}


def needs(caller, sku):
    record = told(caller.get(f"/skus/{sku['id']}/evidence"))
    return {need["need"]: need for row in record["articles"] for need in row["needs"]}


def listed(caller, **query):
    answer = caller.get("/evidence?" + "&".join(f"{name}={value}" for name, value in query.items()))
    assert answer.status_code == 200, answer.text
    return answer.json()


def counts(caller, article):
    of_article = next(row for row in listed(caller)["summary"]["articles"] if row["article"] == article)
    return {row["state"]: row["skus"] for row in of_article["states"]}


def test_a_file_counts_for_the_article_that_its_type_names_until_its_last_day(caller):
    jar = made(caller)
    assert states(caller, jar) == EMPTY
    uploaded(caller, jar, "test_report_heavy_metals", issuer="Lab", issued_on=day(-900), expires_on=day(-1))
    assert needs(caller, jar)["metals"]["state"] == "ended"
    uploaded(caller, jar, "test_report_heavy_metals", expires_on=day(60))
    assert needs(caller, jar)["metals"]["state"] == "ends"
    uploaded(caller, jar, "test_report_heavy_metals", expires_on=day(61))
    metals = needs(caller, jar)["metals"]
    assert (metals["state"], metals["reference"]) == ("held", "Regulation (EU) 2025/40, Article 5(4), 5(6)")
    assert metals["applies_from"] == "2026-08-12"
    assert [(one["state"], one["alone"], one["kind"]) for one in metals["files"]] == [
        ("ended", True, "test_report"), ("ends", True, "test_report"), ("valid", True, "test_report")]  # fmt: skip
    uploaded(caller, jar, "fluorine_origin_proof")  # beside a report on PFAS, not in its place
    assert needs(caller, jar)["pfas"]["state"] == "missing"
    assert needs(caller, jar)["pfas"]["files"][0]["alone"] is False
    uploaded(caller, jar, "test_report_pfas")
    uploaded(caller, jar, "recyclability_assessment")
    assert states(caller, jar) == EMPTY | {"5": "held", "6": "held"}


def test_a_file_of_a_type_that_names_no_article_counts_for_none_and_is_listed(caller):
    jar = made(caller)
    for kind in ("test_report", "supplier_declaration", "standards_list", "packaging_photo"):
        uploaded(caller, jar, kind)
    record = told(caller.get(f"/skus/{jar['id']}/evidence"))
    assert [(one["type"], one["kind"]) for one in record["other_files"]] == [
        ("packaging_photo", "documentation"), ("standards_list", "standard"),
        ("supplier_declaration", "supplier_statement"), ("test_report", "test_report")]  # fmt: skip
    assert states(caller, jar) == EMPTY
    assert all(not need["files"] for need in needs(caller, jar).values())


def test_a_certificate_of_a_supplier_counts_for_its_parts(caller, pool):
    jar = made(caller, components=[GLASS, CAP])
    body, cap = jar["components"]
    assert states(caller, jar) == EMPTY | {"7": "later"}  # 30 of 230 g are plastic
    of_parts(caller, pool, jar, "test_report_heavy_metals", cap)
    metals = needs(caller, jar)["metals"]
    assert (metals["state"], metals["files"][0]["component_ids"]) == ("partial", [cap["id"]])
    of_parts(caller, pool, jar, "test_report_heavy_metals", body, expires_on=today() + timedelta(days=10))
    assert needs(caller, jar)["metals"]["state"] == "ends"  # as the first of its parts
    uploaded(caller, jar, "test_report_heavy_metals")
    assert needs(caller, jar)["metals"]["state"] == "held"
    of_parts(caller, pool, jar, "recycled_content_evidence", cap)
    assert states(caller, jar)["7"] == "held"  # of the plastic parts alone
    glued = made(caller, "GLUED", components=[GLASS, CAP, GLUE])
    of_parts(caller, pool, glued, "recycled_content_evidence", glued["components"][1])
    assert states(caller, glued)["7"] == "held"  # glue is no part


@pytest.mark.parametrize(
    ("change", "state"),
    [
        ({"components": [GLASS, CAP | {"weight_g": 10}]}, "not_concerned"),  # 10 of 210 g: Article 7(5)(b)
        ({"components": [GLASS, CAP | {"weight_g": None}]}, "open"),
        ({"components": [CAP | {"weight_g": None}]}, "later"),  # whatever it weighs
        ({"components": [GLASS, {"component_type": "label", "material_family": "composite", "weight_g": 1}]}, "open"),
        ({"components": [GLASS, GLUE]}, "not_concerned"),  # glue is no part (3(1)(52)), however much it weighs
        ({"components": [GLASS, GLUE], "material": "plastic"}, "not_concerned"),
        ({"components": [GLASS, CAP | {"weight_g": 10}], "material": "plastic"}, "not_concerned"),
        ({"components": [CAP, GLUE | {"weight_g": 600}]}, "not_concerned"),  # 30 of 630 g
        ({"components": [CAP, GLUE | {"weight_g": 570}]}, "later"),  # 30 of 600 g are 5 %
        ({"components": []}, "open"),
        ({"components": [], "material": "plastic"}, "later"),
        ({"components": [], "material": "paper"}, "not_concerned"),
        ({"components": [], "material": "paper", "material_subtype": "kraft, PE coated"}, "open"),
        (
            {"components": [CAP | {"component_type": "body", "weight_g": 10}, GLASS], "material": "plastic"},
            "not_concerned",
        ),
        ({"components": [GLASS, CAP], "markets": ["GB"]}, "not_concerned"),
        ({"components": [GLASS, CAP], "markets": None}, "later"),
    ],
)
def test_plastic_parts_decide_article_7(caller, change, state):
    sku = made(caller, **change)
    assert states(caller, sku)["7"] == state
    record = told(caller.get(f"/skus/{sku['id']}/evidence"))
    assert record["in_union"] is {"GB": False, "FR": True}.get((change.get("markets", ["FR"]) or [""])[0])
    [need] = next(row for row in record["articles"] if row["article"] == 7)["needs"]
    assert (need["field"] == "components") == (state == "open")
    assert bool(need["reason"]) == (state != "later")


def test_a_plastic_part_of_exactly_a_twentieth_is_not_exempt(caller):
    """Article 7(5)(b) exempts *less than* 5 %: 0.35 of 7 g and 1.63 of 32.6 g are 5 %, whatever floats make of it."""
    for code, plastic, rest, state in (("A", 0.35, 6.65, "later"), ("B", 1.63, 30.97, "later"),
                                       ("C", 1.62, 30.98, "not_concerned")):  # fmt: skip
        cap = {"component_type": "cap", "material_family": "plastic", "polymer_or_grade": "PP", "weight_g": plastic}
        sku = made(caller, code, components=[GLASS | {"weight_g": rest}, cap])
        assert states(caller, sku)["7"] == state, code


def test_a_portfolio_is_counted_by_article_and_the_file_says_the_same(caller, join):
    jar, other, sold_elsewhere = (made(caller, code, **change) for code, change in (
        ("A", {}), ("=B", {"food_contact": None}), ("C", {"markets": ["GB"]})))  # fmt: skip
    uploaded(caller, jar, "test_report_heavy_metals", expires_on=day(5))
    uploaded(caller, jar, "test_report_pfas")
    uploaded(caller, other, "test_report_heavy_metals")
    assert counts(caller, 5) == {"ends": 1, "open": 1, "not_concerned": 1}
    assert counts(caller, 8) == {"not_concerned": 3}
    assert listed(caller)["summary"]["soon_days"] == 60
    answer = listed(caller, article=5, state="ends")
    assert [row["sku_code"] for row in answer["data"]] == ["A"]
    assert answer["pagination"] == {"limit": 50, "offset": 0, "total": 1}
    assert [row["sku_code"] for row in listed(caller, state="not_concerned")["data"]] == ["=B", "A", "C"]
    assert [row["sku_code"] for row in listed(caller, limit=1, offset=1)["data"]] == ["A"]
    assert listed(caller, article=6, state="ended")["data"] == []
    for query in ("state=gone", "article=4", "article=x"):
        assert caller.get(f"/evidence?{query}").status_code == 400
    answer = caller.get("/evidence.csv")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    lines = {line["sku_code"]: line for line in csv.DictReader(io.StringIO(answer.text))}
    assert {code: line["article_5"] for code, line in lines.items()} == {
        "A": "ends", "'=B": "open", "C": "not_concerned"}  # fmt: skip
    assert all(sku in (row["id"] for row in listed(caller)["data"]) for sku in (sold_elsewhere["id"], other["id"]))
    stranger = join()
    assert stranger.get(f"/skus/{jar['id']}/evidence").status_code == 404
    empty = listed(stranger)
    assert (empty["data"], [row["states"] for row in empty["summary"]["articles"]]) == ([], [[]] * 8)
    assert stranger.get("/evidence.csv").text.splitlines() == [",".join(lines["A"])]
    writer = join(scopes=("write",))
    assert writer.get("/evidence").status_code == 403


def issued(caller, sku, languages=()):
    draft = caller.post(f"/skus/{sku['id']}/doc-drafts", {}).json()["data"]
    body = {
        "points": {point["key"]: "Own" for point in draft["points"] if point["open"]},
        **dict.fromkeys(("on_behalf_of", "signatory", "function", "place"), "Own"),
        "issued_on": draft["drafted_at"][:10],
        "languages": list(languages),
    }
    answer = caller.post(f"/doc-drafts/{draft['id']}/issue", body)
    assert answer.status_code == 201, answer.text
    return answer.json()["data"]["id"]


def opened(answer):
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/zip"
    return zipfile.ZipFile(io.BytesIO(answer.content))


def test_the_bundle_has_declaration_documentation_and_every_file_with_its_digest(caller, browser):
    jar = made(caller)
    uploaded(caller, jar, "test_report_pfas", "a:b.pdf", PDF * 20_000, issuer="=Lab", expires_on=day(400))
    uploaded(caller, jar, "packaging_photo", "a:b.pdf", PDF + b"2")
    doc = issued(caller, jar, ["de"])
    answer = browser.get(f"/documents/{doc}/bundle.zip")
    assert answer.headers["content-disposition"] == f'attachment; filename="declaration-{doc}.zip"'
    bundle = opened(answer)
    assert bundle.testzip() is None
    assert bundle.namelist() == [
        "declaration-en.pdf", "declaration-de.pdf", "record.json", "grade.json", "parts.csv", "articles.csv",
        "evidence/001-a_b.pdf", "evidence/002-a_b.pdf", "index.csv"]  # fmt: skip
    index = {line["path"]: line for line in csv.DictReader(io.TextIOWrapper(bundle.open("index.csv"), "utf-8"))}
    assert set(index) == {*bundle.namelist()} - {"index.csv"}
    for path, line in index.items():
        data = bundle.read(path)
        assert (line["sha256"], line["size_bytes"]) == (hashlib.sha256(data).hexdigest(), str(len(data))), path
        assert line["included"] == "yes"
    report = next(line for line in index.values() if line["type"] == "test_report_pfas")
    assert (report["articles"], report["kind"], report["issuer"], report["state"]) == (
        "5(5), 5(6)", "test_report", "'=Lab", "valid")  # fmt: skip
    assert bundle.read("declaration-de.pdf") == caller.get(f"/docs/{doc}/pdf?lang=de").content
    record = json.loads(bundle.read("record.json"))
    assert (record["sku_code"], "compliance" in record) == ("A", False)
    assert "grade_trace" in json.loads(bundle.read("grade.json"))
    assert b"body" in bundle.read("parts.csv")
    of_articles = list(csv.DictReader(io.TextIOWrapper(bundle.open("articles.csv"), "utf-8")))
    assert [(line["article"], line["state"], line["files"]) for line in of_articles[:2]] == [
        ("5", "missing", ""), ("5", "held", "a:b.pdf")]  # fmt: skip
    of_annex = {line["need"]: line for line in of_articles if line["article"] == "Annex VII"}  # points 2 and 3
    assert [line["reference"].rpartition(" ")[2] for line in of_annex.values()] == [
        "2(a)", "2(b)", "2(b)", "2(c)", "2(d)", "2", "2(f)", "3"]  # fmt: skip
    assert {kind: line["files"] for kind, line in of_annex.items() if line["state"] == "held"} == {
        "test_report": "a:b.pdf"}  # fmt: skip
    assert {line["state"] for line in of_annex.values()} == {"held", "missing"}
    page = browser.get(f"/documents/{doc}").text
    assert f"/documents/{doc}/bundle.zip" in page
    assert caller.get(f"/docs/{doc}/bundle").status_code == 404  # the API serves no bytes of files
    assert caller.post(f"/skus/{jar['id']}/archive", {}).status_code == 200
    rested = opened(browser.get(f"/documents/{doc}/bundle.zip")).namelist()
    assert {*bundle.namelist()} - {*rested} == {"articles.csv"}


def test_the_bundle_names_a_file_that_is_gone_and_hands_altered_bytes_to_nobody(caller, browser):
    jar = made(caller)
    gone, altered = (uploaded(caller, jar, kind) for kind in ("packaging_photo", "test_report"))
    doc, objects = issued(caller, jar), caller.http.app.state.service.objects
    objects.delete(files.key_of(caller.company, UUID(gone)))
    bundle = opened(browser.get(f"/documents/{doc}/bundle.zip"))
    index = list(csv.DictReader(io.TextIOWrapper(bundle.open("index.csv"), "utf-8")))
    assert {line["type"]: line["included"] for line in index if line["type"]} == {
        "packaging_photo": "no", "test_report": "yes"}  # fmt: skip
    assert len(bundle.namelist()) == len(index)  # the index itself in place of what is gone
    key = files.key_of(caller.company, UUID(altered))
    objects.put(key, PDF + b"!")
    sent = []
    with pytest.raises(Fault):
        sent.extend(stored_files.archive(objects, [], [("a", key, "0" * 64)], lambda _: b"", datetime.now(UTC)))
    assert not zipfile.is_zipfile(io.BytesIO(b"".join(sent)))


def test_the_bundle_of_a_declaration_of_nobody_or_of_another_company_is_not_there(caller, browser, join, pool):
    doc = issued(caller, made(caller))
    assert browser.get(f"/documents/{uuid4()}/bundle.zip").status_code == 404
    stranger = join()
    other = Browser(caller.http, "10.9.9.8")
    assert other.sign_in(added(pool, stranger.company, "viewer")).status_code == 303
    assert other.get(f"/documents/{doc}/bundle.zip").status_code == 404
    nobody = Browser(caller.http, "10.9.9.7")
    assert nobody.get(f"/documents/{doc}/bundle.zip").status_code == 303


def test_people_see_it_on_pages_in_three_languages(caller, browser, pool):
    assert "No item." in browser.get("/evidence").text
    jar = made(caller, markets=None)
    uploaded(caller, jar, "test_report_heavy_metals", "metals.pdf", expires_on=day(5))
    uploaded(caller, jar, "standards_list", "standards.pdf")
    for lang, soon, asked, other in (
        ("en", "Ends soon.", "Asked later.", "Files that name no article"),
        ("fr", "Expire bientôt.", "Exigé plus tard.", "Fichiers qui ne nomment aucun article"),
        ("de", "Endet bald.", "Später verlangt.", "Dateien, die keinen Artikel nennen"),
    ):
        coverage = browser.get(f"/evidence?lang={lang}").text
        assert "Jar" in coverage
        assert asked in coverage
        item = browser.get(f"/items/{jar['id']}?lang={lang}").text
        assert asked in item
        assert other in item
        assert soon not in coverage  # Article 5 is as the worst that it asks: PFAS
        assert soon not in item.partition('id="evidence"')[0]
        assert other not in item.partition("metals.pdf")[0].partition('id="evidence"')[2]
    assert "No market is recorded" in browser.get(f"/items/{jar['id']}").text
    assert "Jar" in browser.get("/evidence?article=5&state=missing").text
    assert "No item." in browser.get("/evidence?article=5&state=held").text
    assert browser.get("/evidence.csv").text.splitlines()[0].startswith("sku_code,name,article_5,")
    viewer = signed_in(caller, pool, "viewer")
    assert viewer.get("/evidence").status_code == 200


def test_the_page_that_issues_says_what_is_missing_and_refuses_nothing(caller, browser, pool):
    jar = made(caller)
    uploaded(caller, jar, "test_report_heavy_metals", expires_on=day(-1))
    path = f"/review/{filed(pool, caller.company, jar['id'])}"
    shown = browser.get(f"{path}?lang=de").text
    assert "Nachweise, die nicht vorliegen" in shown
    assert "Abgelaufen." in shown
    assert shown.count("Fehlt.") == 1  # the report on PFAS
    fields = {"point.manufacturer": "Quai 1", "point.standards": "EN 13430:2004", "decision": "accept"}
    fields |= dict.fromkeys(("on_behalf_of", "signatory", "function", "place"), "Own")
    form = hidden(shown) | fields | {"issued_on": day(0)}
    assert browser.post(path, form).status_code == 303
    assert "Nachweise, die nicht vorliegen" not in browser.get(f"{path}?lang=de").text  # it is decided
