"""Declarations of conformity by REST: drafted, issued in several languages, found, renewed and withdrawn."""

import hashlib
from datetime import timedelta
from uuid import UUID, uuid4

import orjson
import psycopg
import pytest

from schemas.conformity import DocDraftListResponse, DocDraftResult, DocResult, DocSearchResponse
from services.conformity.issuing import suggestions
from services.review.entries import load_entry
from tests.api.test_review_pages import filed
from warehouse import conformity as declarations

SIGNED = {
    "points": {"manufacturer": "Quai 1\nLyon", "standards": "EN 13430:2004"},
    "on_behalf_of": "Marken GmbH",
    "signatory": "Ada Marsh",
    "function": "Leiterin Qualität",
    "place": "Köln",
}


@pytest.fixture
def sku(caller):
    return caller.made(material="glass", weight_grams=300)


def drafted(caller, sku, **body):
    answer = caller.post(f"/skus/{sku['id']}/doc-drafts", body)
    assert answer.status_code == 201, answer.text
    DocDraftResult.model_validate(answer.json(), extra="forbid")
    return answer.json()["data"]


def issued(caller, draft, **more):
    answer = caller.post(f"/doc-drafts/{draft['id']}/issue", signed(caller, **more))
    assert answer.status_code == 201, answer.text
    DocResult.model_validate(answer.json(), extra="forbid")
    return answer.json()["data"]


def today(caller):
    return caller.http.app.state.service.clock.today()


def signed(caller, **more):
    return {**SIGNED, "issued_on": str(today(caller)), **more}


def found(caller, **params):
    answer = caller.get("/docs/search", params=params)
    assert answer.status_code == 200, answer.text
    DocSearchResponse.model_validate(answer.json(), extra="forbid")
    return answer.json()["data"]


def status(caller, sku):
    return caller.get(f"/skus/{sku['id']}").json()["data"]["doc_status"]


def test_a_draft_names_what_is_open_and_is_listed_until_it_is_issued(caller, sku):
    draft = drafted(caller, sku, lang="de")
    assert {point["key"] for point in draft["points"] if point["open"]} == {"manufacturer", "standards"}
    assert (draft["open_points"], draft["languages"]) == (2, ["de", "en"])
    listed = caller.get("/doc-drafts", params={"sku_id": sku["id"]})
    DocDraftListResponse.model_validate(listed.json(), extra="forbid")
    assert listed.json()["data"] == [draft]
    assert caller.get("/doc-drafts", params={"sku_id": str(uuid4())}).json()["data"] == []
    doc = issued(caller, draft)
    assert caller.get("/doc-drafts").json()["data"] == []
    after = caller.get(f"/doc-drafts/{draft['id']}").json()["data"]
    assert (after["state"], after["doc_id"]) == ("issued", doc["id"])
    assert status(caller, sku) == "valid"


def test_a_declaration_is_issued_in_several_languages_and_its_bytes_are_kept(caller, sku):
    doc = issued(caller, drafted(caller, sku, lang="de", reference="D-7"), languages=["en", "de"])
    assert (doc["reference"], doc["languages"], doc["state"]) == ("D-7", ["de", "en"], "valid")
    first, german, english = (
        caller.get(f"/docs/{doc['id']}/pdf", params=lang) for lang in ({}, {"lang": "de"}, {"lang": "en"})
    )
    assert first.headers["Content-Type"] == "application/pdf"
    assert first.content == german.content != english.content
    assert english.content.startswith(b"%PDF-")
    [entry] = [each for each in caller.get("/audit-log").json()["data"] if each["action"] == "doc.created"]
    assert entry["after"]["pdf_sha256"] == hashlib.sha256(first.content).hexdigest()
    assert entry["after"]["pdf_sha256_en"] == hashlib.sha256(english.content).hexdigest()
    assert caller.get(f"/docs/{doc['id']}/pdf", params={"lang": "fr"}).status_code == 404
    assert caller.get(f"/docs/{doc['id']}").json()["data"] == doc


@pytest.mark.parametrize(
    ("change", "field", "code"),
    [
        ({"points": {"manufacturer": "Lyon"}}, "points.standards", "required"),
        ({"points": {**SIGNED["points"], "object": "Bottle"}}, "points.object", "unknown_field"),
        ({"place": " "}, "place", "required"),
        ({"signatory": "x" * 201}, "signatory", "too_long"),
        ({"issued_on": "2020-01-01"}, "issued_on", "out_of_range"),
        ({"issued_on": "soon"}, "issued_on", "invalid_date"),
        ({"expires_on": "2020-01-01"}, "expires_on", "out_of_range"),
        ({"languages": ["it"]}, "languages", "not_in_vocabulary"),
        ({"languages": ["fr"]}, "languages", "not_in_vocabulary"),
        ({"signature": "x"}, "signature", "unknown_field"),
        ({"place": None}, "place", "not_null"),
    ],
)
def test_what_is_open_or_wrong_is_named_and_nothing_is_issued(caller, sku, change, field, code):
    draft = drafted(caller, sku)
    for dry_run in ("false", "true"):
        answer = caller.post(f"/doc-drafts/{draft['id']}/issue", signed(caller) | change, params={"dry_run": dry_run})
        assert (answer.status_code, answer.json()["error"]) == (400, "invalid_body"), answer.text
        assert [(issue["field"], issue["code"]) for issue in answer.json()["details"]] == [(field, code)]
    assert found(caller) == []


def test_a_declaration_names_the_other_acts_that_a_person_adds_and_its_renewal_suggests_them(caller, sku):
    """Annex VIII, point 5: reference to the other Union acts applied; Article 39(3): with their publication."""
    food = "Regulation (EC) No 1935/2004 (OJ L 338, 13.11.2004, p. 4)"
    added = {**SIGNED["points"], "legislation": food, "additional": "Batch L7"}
    doc = issued(caller, drafted(caller, sku), points=added)
    points = {point["key"]: point["lines"] for point in told_by(caller, doc)}
    assert points["legislation"] == [REGULATION, DEMONSTRATED, food]
    assert points["additional"][-1] == "Batch L7"
    with caller.http.app.state.service.writes.company(caller.company) as conn:
        entry = load_entry(conn, UUID(caller.post(f"/docs/{doc['id']}/renew", {}).json()["data"]["id"]))
        suggested = suggestions(conn, entry)
    assert (suggested["point.legislation"], suggested["point.additional"]) == (food, "Batch L7")


def test_what_ends_soon_is_found_until_it_is_renewed(caller, sku):
    last_day = today(caller) + timedelta(days=30)
    doc = issued(caller, drafted(caller, sku), expires_on=str(last_day))
    assert doc["days_left"] == 30
    assert [each["id"] for each in found(caller, ends_within=30)] == [doc["id"]]
    assert found(caller, ends_within=29) == []
    answer = caller.post(f"/docs/{doc['id']}/renew", {})
    renewal = answer.json()["data"]
    assert (answer.status_code, renewal["renews"]) == (201, doc["id"])
    assert found(caller, ends_within=30) != [], "a draft renews nothing"
    newer = issued(caller, renewal)
    assert (newer["renews"], newer["reference"]) == (doc["id"], f"{doc['reference']}-{today(caller)}")
    assert found(caller, ends_within=30) == []
    assert caller.get(f"/docs/{doc['id']}").json()["data"]["renewed_by"] == newer["id"]
    assert [each["id"] for each in found(caller, sku_id=sku["id"])] == [newer["id"], doc["id"]]


def test_a_withdrawn_declaration_covers_nothing_and_stays_with_its_reason(caller, sku):
    doc = issued(caller, drafted(caller, sku))
    before = caller.get(f"/skus/{sku['id']}").json()["data"]["updated_at"]
    body = {"reason": "The label was changed."}
    rehearsed = caller.post(f"/docs/{doc['id']}/withdraw", body, params={"dry_run": "true"})
    assert (rehearsed.json()["data"]["state"], status(caller, sku)) == ("withdrawn", "valid")
    answer = caller.post(f"/docs/{doc['id']}/withdraw", body)
    DocResult.model_validate(answer.json(), extra="forbid")
    withdrawn = answer.json()["data"]
    assert (withdrawn["state"], withdrawn["withdrawn_reason"]) == ("withdrawn", "The label was changed.")
    assert status(caller, sku) == "missing"
    assert caller.get(f"/skus/{sku['id']}").json()["data"]["updated_at"] > before
    assert [each["status"] for each in caller.get("/docs").json()["data"]] == ["rejected"]
    assert found(caller, state="withdrawn") == [withdrawn]
    assert found(caller, state="valid") == []
    assert caller.get(f"/docs/{doc['id']}/pdf").status_code == 200, "nothing is deleted"
    assert caller.post(f"/docs/{doc['id']}/withdraw", body).status_code == 400
    entry = caller.get("/audit-log").json()["data"][0]
    assert (entry["action"], entry["reason"]) == ("doc.updated", "The label was changed.")
    assert entry["before"] == {"status": "valid"}
    assert caller.post(f"/docs/{doc['id']}/renew", {}).status_code == 201


def test_a_dry_run_files_and_issues_nothing(caller, sku):
    answer = caller.post(f"/skus/{sku['id']}/doc-drafts", {}, params={"dry_run": "true"})
    DocDraftResult.model_validate(answer.json(), extra="forbid")
    assert (answer.status_code, answer.json()["data"]["id"]) == (200, None)
    assert caller.get("/doc-drafts").json()["data"] == []
    draft = drafted(caller, sku)
    answer = caller.post(f"/doc-drafts/{draft['id']}/issue", signed(caller), params={"dry_run": "true"})
    DocResult.model_validate(answer.json(), extra="forbid")
    assert (answer.status_code, answer.json()["data"]["id"]) == (200, None)
    assert (found(caller), status(caller, sku)) == ([], "missing")


def test_an_idempotency_key_drafts_and_issues_once(caller, sku):
    key = {"Idempotency-Key": str(uuid4())}
    first, again = (caller.post(f"/skus/{sku['id']}/doc-drafts", {}, headers=key) for _ in range(2))
    assert first.json() == again.json()
    assert again.headers["Idempotent-Replayed"] == "true"
    path = f"/doc-drafts/{first.json()['data']['id']}/issue"
    first, again = (caller.post(path, signed(caller), headers=key) for _ in range(2))
    assert (first.status_code, first.json()) == (201, again.json())
    assert caller.post(path, signed(caller)).status_code == 400, "without the key it is decided already"
    assert len(found(caller)) == 1


def test_another_companys_records_are_unknown(caller, sku, join):
    draft = drafted(caller, sku)
    doc = issued(caller, drafted(caller, sku))
    stranger = join()
    for path in (f"/doc-drafts/{draft['id']}", f"/docs/{doc['id']}", f"/docs/{doc['id']}/pdf"):
        assert caller.get(path).status_code == 200, path
        assert stranger.get(path).status_code == 404, path
    for path, body in {
        f"/skus/{sku['id']}/doc-drafts": {},
        f"/docs/{doc['id']}/renew": {},
        f"/docs/{doc['id']}/withdraw": {"reason": "x"},
        f"/doc-drafts/{draft['id']}/issue": signed(caller),
        f"/docs/{uuid4()}/renew": {},
        "/docs/x/renew": {},
    }.items():
        answer = stranger.post(path, body)
        assert (answer.status_code, answer.json()["error"]) == (404, "not_found"), path
    assert stranger.get("/docs/search").json()["data"] == stranger.get("/doc-drafts").json()["data"] == []
    assert stranger.get("/docs/search", params={"sku_id": sku["id"]}).json()["data"] == []


def test_an_entry_that_is_no_draft_is_not_issued(caller, sku, pool):
    entry = filed(pool, caller.company, "sku_update", {"changes": {"sku_code": sku["sku_code"]}}, sku["id"])
    assert caller.get(f"/doc-drafts/{entry.id}").status_code == 404
    assert caller.post(f"/doc-drafts/{entry.id}/issue", signed(caller)).status_code == 404


def test_scopes_are_asked_for(caller, sku, join):
    reader = join(scopes=["read"])
    assert reader.get("/docs/search").status_code == 200
    for path in (f"/skus/{sku['id']}/doc-drafts", f"/docs/{uuid4()}/withdraw"):
        assert reader.post(path, {}).status_code == 403
    assert join(scopes=["write"]).get("/doc-drafts").status_code == 403


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"state": "gone"}, "not_in_vocabulary"),
        ({"ends_within": "-1"}, "out_of_range"),
        ({"ends_within": "soon"}, "out_of_range"),
        ({"sku_id": "A-1"}, "invalid_format"),
    ],
)
def test_filters_that_cannot_be_are_refused(caller, params, code):
    answer = caller.get("/docs/search", params=params)
    assert (answer.status_code, answer.json()["details"][0]["code"]) == (400, code)


ABOVE = {"status": "above_limit"}
REGULATION = "Regulation (EU) 2025/40 (OJ L, 2025/40, 22.1.2025)"
DEMONSTRATED = (
    "The fulfilment of the requirements laid down in or pursuant to Articles 5 to 12 of Regulation (EU) 2025/40 has "
    "been demonstrated (Article 39(1))."
)


def against(caller, draft, **more):
    """The facts that refuse a declaration, dry or not."""
    told = []
    for dry_run in ("true", "false"):
        answer = caller.post(f"/doc-drafts/{draft['id']}/issue", signed(caller, **more), params={"dry_run": dry_run})
        assert (answer.status_code, answer.json()["error"]) == (409, "not_conform"), answer.text
        told.append([(issue["field"], issue["code"], issue["message"]) for issue in answer.json()["details"]])
    assert told[0] == told[1]
    return told[0]


@pytest.mark.parametrize(
    ("record", "named"),
    [
        (
            {"food_contact": True, "markets": ["GB"], "substances": {"pfas": ABOVE}},
            [("substances.pfas", "pfas_food_contact_prohibited", "the packaging itself")],
        ),
        (
            {
                "food_contact": True,
                "components": [
                    {"component_type": "body", "material_family": "paper", "weight_g": 9},
                    {
                        "component_type": "coating",
                        "material_family": "plastic",
                        "weight_g": 1,
                        "substances": {"pfas": {**ABOVE, "value": 30, "unit": "ppb"}},
                    },
                ],
            },
            [("substances.pfas", "pfas_food_contact_prohibited", "30 ppb of the component coating (plastic)")],
        ),
        (
            {
                "markets": ["US"],
                "food_contact": True,
                "substances": {"pfas": ABOVE, "heavy_metals": {**ABOVE, "value": 150, "unit": "mg_per_kg"}},
            },
            [
                ("substances.pfas", "pfas_food_contact_prohibited", "Article 5(5)"),
                ("substances.heavy_metals", "regulator_rule", "150 mg_per_kg of the packaging itself"),
            ],
        ),
    ],
)
def test_a_declaration_is_not_issued_against_its_own_record(caller, record, named):
    """decisions §13: whatever the market, each fact is named, and a corrected record needs a new draft."""
    sku = caller.made(**record)
    draft = drafted(caller, sku)
    found = against(caller, draft)
    assert [fact[:2] for fact in found] == [fact[:2] for fact in named]
    assert all(part in said for (*_, said), (*_, part) in zip(found, named, strict=True))
    notes = [line for point in draft["points"] for line in point["lines"] if line.startswith("Against conformity: ")]
    assert notes == [f"Against conformity: {said}" for *_, said in found]
    clean = {"sku_code": sku["sku_code"], "name": "Bottle", "substances": {"pfas": None, "heavy_metals": None}}
    parts = [
        {name: line[name] for name in ("component_type", "material_family", "weight_g")} for line in sku["components"]
    ]
    assert caller.post("/skus", clean | ({"components": parts} if parts else {})).status_code == 200
    [(field, _, said)] = against(caller, draft)
    assert (field, "prepare a new one" in said) == (None, True)
    doc = issued(caller, drafted(caller, sku))
    assert doc["state"] == "valid"


def test_a_renewal_is_refused_alike_and_the_earlier_one_stays(caller, sku):
    doc = issued(caller, drafted(caller, sku))
    heavy = {"sku_code": sku["sku_code"], "name": "Bottle", "substances": {"heavy_metals": ABOVE}}
    assert caller.post("/skus", heavy).status_code == 200
    renewal = caller.post(f"/docs/{doc['id']}/renew", {}).json()["data"]
    assert [fact[0] for fact in against(caller, renewal)] == ["substances.heavy_metals"]
    assert caller.get(f"/docs/{doc['id']}").json()["data"]["state"] == "valid"


def test_a_record_that_changed_after_the_draft_is_judged_as_it_is_now(caller, sku):
    draft = drafted(caller, sku)
    heavy = {"sku_code": sku["sku_code"], "name": "Bottle", "substances": {"heavy_metals": ABOVE}}
    assert caller.post("/skus", heavy).status_code == 200
    assert [fact[0] for fact in against(caller, draft)] == ["substances.heavy_metals"]


def test_a_certain_format_ban_refuses_from_its_day_on_units_as_by_markets(caller):
    """Directive (EU) 2019/904 bans plates of plastic since 2021; units of 2026 make the market as `markets` does."""
    plate = {
        "packaging_format": "plate",
        "reusable": False,
        "components": [{"component_type": "body", "material_family": "plastic"}],
    }
    for markets, units in ((["FR"], None), (["GB"], 5)):
        sku = caller.made(**plate, markets=markets)
        if units:
            rows = [{"market": "FR", "year": 2026, "units_placed": units}]
            assert caller.put(f"/skus/{sku['id']}/volumes", rows).status_code == 200
        flags = caller.get(f"/skus/{sku['id']}").json()["data"]["compliance"]["annex_v_flags"]
        certain = [
            flag for flag in flags if flag["certainty"] == "certain" and flag["applies_from"] <= str(today(caller))
        ]
        assert certain, flags
        found = against(caller, drafted(caller, sku))
        assert {(field, code) for field, code, _ in found} == {("packaging_format", "regulator_rule")}
        assert len(found) == len(certain)
    elsewhere = caller.made(**plate, markets=["GB"])
    assert issued(caller, drafted(caller, elsewhere))["state"] == "valid"


def test_what_is_open_is_listed_and_refuses_nothing(caller):
    svhc = {"status": "above_limit", "value": 0.5, "unit": "percent_w_w"}
    sku = caller.made(
        material="plastic",
        weight_grams=50,
        food_contact=False,
        substances={"svhc": svhc, "bpa": ABOVE},
        components=[{"component_type": "body", "material_family": "plastic", "weight_g": 20}],
    )
    draft = drafted(caller, sku)
    notes = [line for point in draft["points"] for line in point["lines"] if line.startswith("Open: ")]
    for part in ("heavy metals", "very high concern are above", "Bisphenol A is declared", "grade", "differ by more"):
        assert [note for note in notes if part in note], (part, notes)
    doc = issued(caller, draft)
    points = {point["key"]: point["lines"] for point in told_by(caller, doc)}
    assert points["legislation"] == [
        REGULATION,
        DEMONSTRATED,
    ]
    assert any("SVHC" in line and "above" in line for line in points["additional"])
    assert [line for lines in points.values() for line in lines if line.startswith(("Open: ", "Against"))] == []


def told_by(caller, doc):
    """The points of an issued declaration, as they were stored."""
    with caller.http.app.state.service.writes.company(caller.company) as conn:
        return declarations.of_doc(conn, doc["id"]).content["points"]


@pytest.mark.parametrize("lang", ["fr", "it", "xx"])
def test_a_language_without_the_official_journals_wording_is_refused_with_those_that_have_it(caller, sku, lang):
    """Issue 37: its fixed texts come from one table; other languages are refused by name."""
    doc = issued(caller, drafted(caller, sku))
    for path in (f"/skus/{sku['id']}/doc-drafts", f"/docs/{doc['id']}/renew"):
        answer = caller.post(path, {"lang": lang})
        assert (answer.status_code, answer.json()["error"]) == (400, "invalid_body"), answer.text
        [fault] = answer.json()["details"]
        assert (fault["field"], fault["code"]) == ("lang", "not_in_vocabulary")
        assert (f"“{lang}”" in fault["message"], "en, de" in fault["message"]) == (True, True)
    assert caller.get("/doc-drafts").json()["data"] == []


def test_a_declaration_in_a_language_that_is_no_longer_offered_is_renewed_in_english(caller, sku, database):
    doc = issued(caller, drafted(caller, sku, lang="de"))
    with psycopg.connect(database.owner_url) as owner:
        owner.execute("SELECT set_config('app.company_id', %s, true)", [str(caller.company)])
        changed = "jsonb_set(content::jsonb, '{lang}', '\"fr\"')::json"
        owner.execute(f"UPDATE issued_declarations SET content = {changed} WHERE doc_id = %s", [doc["id"]])
    assert caller.get(f"/docs/{doc['id']}").json()["data"]["languages"] == ["fr"]
    assert caller.get(f"/docs/{doc['id']}/pdf", params={"lang": "fr"}).status_code == 200
    assert caller.post(f"/docs/{doc['id']}/renew", {}).json()["data"]["lang"] == "en"


KEPT = "from the date the packaging was placed on the market (Articles 15(3), 17(2) and 18(7))"


@pytest.mark.parametrize(
    ("reusable", "terms"),
    [
        (False, ["5 years (single-use packaging)"]),
        (True, ["10 years (reusable packaging)"]),
        (None, ["5 years (single-use packaging)", "10 years (reusable packaging)"]),
    ],
)
def test_a_declaration_says_what_the_record_has_by_article_and_how_long_it_is_kept(caller, reusable, terms):
    """Articles 39(1), 15(3), 17(2)(a) and 18(7); where nothing says whether it is reusable, both terms stand there."""
    body = {"component_type": "body", "material_family": "plastic", "weight_g": 20, "recycled_content_percent": 30}
    label = {"component_type": "label", "material_family": "paper", "weight_g": 1, "recycled_content_percent": 90}
    record = {"components": [body, label], "substances": {"pfas": {"status": "absent"}}, "reusable": reusable}
    sku = caller.made(**record, sorting_label_scheme="triman_fr")
    points = {point["key"]: point["lines"] for point in told_by(caller, issued(caller, drafted(caller, sku)))}
    assert points["legislation"] == [REGULATION, DEMONSTRATED]
    lines = points["additional"]
    articles = [int(line.split(",")[0].removeprefix("Article ")) for line in lines if line.startswith("Article ")]
    assert articles == ([5, 6, 7, 12] if reusable is None else [5, 6, 7, 11, 12])
    assert "Article 7, recycled content (%): body: 30" in lines
    assert f"Kept with the technical documentation {KEPT}: {'; '.join(terms)}" in lines


def test_a_draft_with_other_fixed_texts_is_not_issued_and_a_new_one_is(caller, sku, database):
    """Such a draft, of an earlier release, has headings that are not the Official Journal's (decision 0093)."""
    draft = drafted(caller, sku)
    with psycopg.connect(database.owner_url) as owner:
        owner.execute("SELECT set_config('app.company_id', %s, true)", [str(caller.company)])
        [payload] = owner.execute("SELECT payload FROM review_entries WHERE id = %s", [draft["id"]]).fetchone()
        payload["draft"]["points"][3]["heading"] = "Issued by the manufacturer."
        changed = [orjson.dumps(payload).decode(), draft["id"]]
        owner.execute("UPDATE review_entries SET payload = %s WHERE id = %s", changed)
    assert caller.get(f"/doc-drafts/{draft['id']}").json()["data"]["points"] == []
    answer = caller.post(f"/doc-drafts/{draft['id']}/issue", signed(caller) | {"points": {}})
    assert answer.status_code == 400
    assert "prepare a new one" in answer.json()["details"][0]["message"]
    assert issued(caller, drafted(caller, sku))["state"] == "valid"
