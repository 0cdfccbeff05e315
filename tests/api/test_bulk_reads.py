"""GET /skus with `include` and with cursors: the parts equal the details, and no write moves a page."""

import random
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import QueryParams

from api.operate import routes
from api.skus.listing import Cursor, next_cursor
from schemas.normalise import Unfit
from tests.api.portfolios import BODY
from tests.api.test_limits import resting
from warehouse.operate.sessions import AsyncPool

PARTS = ("components", "volumes", "compliance")


def listed(caller, **params):
    answer = caller.get("/skus", params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.fixture
def shelf(caller):
    caller.made(sku_code="B-1", name="Bottle", components=[BODY], weight_grams=12.5, recycled_content_percent=30)
    caller.made(sku_code="B-2", name="Box", material="paper", weight_grams=30, markets=["FR"])
    caller.made(sku_code="B-3", name="Cup", material="plastic", packaging_format="beverage_cup")
    made = caller.get("/skus", params={"sku_code": "B-1"}).json()["data"][0]
    caller.put(f"/skus/{made['id']}/volumes", [{"market": "DE", "year": 2026, "half": 1, "units_placed": 7}])
    return caller


@pytest.mark.promise("LST-25")
@pytest.mark.parametrize("lang", ["en", "fr"])
def test_included_parts_are_those_of_each_detail(shelf, lang):
    headers = {"Accept-Language": lang}
    page = shelf.get("/skus", params={"include": ",".join(PARTS)}, headers=headers).json()
    plain = {item["id"]: item for item in shelf.get("/skus", headers=headers).json()["data"]}
    assert len(page["data"]) == 3
    for item in page["data"]:
        detail = shelf.get(f"/skus/{item['id']}", headers=headers).json()["data"]
        assert {part: item.pop(part) for part in PARTS} == {part: detail[part] for part in PARTS}
        assert item == plain[item["id"]]


def test_only_the_parts_that_are_named_are_added(shelf):
    for asked in (["components"], ["volumes", "components"]):
        page = listed(shelf, include=asked, q="b-1")
        [item] = page["data"]
        assert set(PARTS) & set(item) == set(asked)
    [issue] = shelf.get("/skus", params={"include": "components,files"}).json()["details"]
    assert (issue["field"], issue["code"]) == ("include", "not_in_vocabulary")


def test_a_page_with_parts_is_one_statement_however_many_skus_it_has(shelf, http, monkeypatch):
    shelf.post(
        "/skus/batch", {"skus": [{"sku_code": f"N-{n}", "name": "Jar", "components": [BODY]} for n in range(60)]}
    )
    listed(shelf, include="compliance")
    counted = []
    monkeypatch.setattr(routes, "_parts_away", resting)
    run = AsyncPool.run
    monkeypatch.setattr(AsyncPool, "run", lambda self, work: counted.append(1) or run(self, work))
    for limit in (1, 60):
        counted.clear()
        assert len(listed(shelf, include=",".join(PARTS), limit=limit)["data"]) == limit
        assert len(counted) == 1


def test_without_the_parameters_the_answer_is_the_plain_page(shelf):
    plain = shelf.get("/skus")
    assert list(plain.json()) == ["data", "pagination", "as_of"]
    body = plain.json()
    assert {"next_cursor", *PARTS}.isdisjoint({**body, **body["data"][0]})


def walked(caller, meanwhile=lambda _: None, **params):
    cursor, found, pages = "start", [], 0
    while cursor is not None:
        page = listed(caller, cursor=cursor, **params)
        found += [item["sku_code"] for item in page["data"]]
        cursor, pages = page["next_cursor"], pages + 1
        meanwhile(pages)
    return found


@pytest.mark.promise("LST-26")
@pytest.mark.parametrize(
    "params", [{}, {"updated_since": "2000-01-01T00:00:00Z"}, {"q": "jar"}, {"sort": "sku_code"}, {"sort": "-sku_code"}]
)
def test_cursors_meet_every_sku_once_while_others_write(caller, params):
    codes = [f"C-{number:03d}" for number in range(95)]
    for start in range(0, 95, 40):
        caller.post("/skus/batch", {"skus": [{"sku_code": c, "name": "Jar"} for c in codes[start : start + 40]]})
    whole = [item["sku_code"] for item in listed(caller, limit=200, **params)["data"]]
    chance, archived = random.Random(7), set()

    def write(pages):
        caller.post("/skus", {"sku_code": chance.choice(codes), "name": f"Jar {pages}"})
        caller.post("/skus", {"sku_code": f"Z-{pages}", "name": "Jar"})
        code = chance.choice([code for code in codes if code not in archived])
        [found] = listed(caller, sku_code=code)["data"] or [None]
        if found:
            caller.post(f"/skus/{found['id']}/archive", {"reason": "gone"})
            archived.add(code)

    found = walked(caller, write, limit=10, **params)
    assert len(found) == len(set(found))
    held = [code for code in whole if code not in archived]
    assert [code for code in found if code in held] == held


def test_a_cursor_is_refused_where_it_could_not_hold(caller):
    caller.made(sku_code="A")
    made = listed(caller, cursor="start", limit=1)["next_cursor"]
    for params, field in (
        ({"cursor": "start", "offset": 1}, "offset"),
        ({"cursor": "start", "sort": "name"}, "sort"),
        ({"cursor": made, "sort": "sku_code"}, "cursor"),
        ({"cursor": made + "A"}, "cursor"),
        ({"cursor": ""}, "cursor"),
    ):
        answer = caller.get("/skus", params=params)
        assert answer.status_code == 400, params
        [issue] = answer.json()["details"]
        assert issue["field"] == field, issue
    assert listed(caller, cursor=made)["data"] == []


def test_a_cursor_goes_with_the_filters_that_it_was_made_with(caller):
    """Behind its place another list would have lost its beginning, and nothing said so."""
    for place in range(3):
        caller.made(sku_code=f"A{place}", material="glass", markets=["FR"])
    asked = {"material": "glass", "market": "FR", "updated_since": "2020-01-01T00:00:00Z", "sku_code": ["A0", "A1"]}
    made = listed(caller, cursor="start", limit=1, **asked)["next_cursor"]
    again = listed(caller, cursor=made, limit=50, include="volumes", **{**asked, "market": "fr"})
    assert [item["sku_code"] for item in again["data"]] == ["A0"]
    for change in ({"material": "paper"}, {"market": None}, {"updated_since": None}, {"sku_code": ["A0"]}, {"q": "A"}):
        params = {name: value for name, value in {**asked, **change}.items() if value}
        answer = caller.get("/skus", params={"cursor": made, **params})
        assert answer.status_code == 400, change
        [issue] = answer.json()["details"]
        assert (issue["field"], issue["code"]) == ("cursor", "invalid_format")
    assert listed(caller, cursor=made, unknown="x", **asked)["data"]


def test_the_cursor_of_another_company_shows_nothing_of_it(caller, join):
    other = join()
    for number in range(3):
        other.made(sku_code=f"O-{number}")
        caller.made(sku_code=f"M-{number}")
    foreign = listed(other, cursor="start", limit=1)["next_cursor"]
    assert all(item["sku_code"].startswith("M-") for item in listed(caller, cursor=foreign)["data"])


@given(st.text(max_size=80))
def test_a_text_is_a_cursor_or_unfit(text):
    with suppress(Unfit):  # any other error would be a fault of the service
        assert Cursor.read(text).sku_id is not None or text == "start"


@given(st.uuids(), st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=50), st.booleans())
def test_a_cursor_holds_what_the_page_ended_with(sku_id, code, falling):
    sort = ("-" if falling else "") + "sku_code"
    text = next_cursor([{"id": str(sku_id), "sku_code": code}], sort, "f", 1)
    sent = QueryParams({"cursor": text})["cursor"]
    assert Cursor.read(sent) == Cursor(sort, code, sku_id, "f")
