"""The table of an enquiry: alike parts are one row, answered once for all, on the page or in its workbook."""

import io
import re
from datetime import UTC, datetime, timedelta
from html import unescape
from time import process_time
from uuid import UUID, uuid4

import pytest
from xlsxwriter import Workbook

from api.suppliers.enquiry_pages import form_of_workbook, read_rows
from compliance.ruleset import load
from pipelines.readers.requests import Cells
from pipelines.readers.tasks import cells
from schemas.actors import Actor, Origin
from services.review import decide
from tests.api.forms import filled
from tests.api.people import Browser, added, hidden
from tests.api.walking import broken_places
from tests.pace import is_within
from tests.services.making import PDF
from warehouse import review
from warehouse.rules import Rulesets

CAN = {
    "component_type": "body",
    "material_family": "metal",
    "polymer_or_grade": "aluminium",
    "weight_g": 12.5,
    "colour": "opaque",
    "substances": {"pfas": {"status": "absent", "source": "test_report", "evidence": "TR-7"}},
}
LID = {"component_type": "cap", "material_family": "metal", "polymer_or_grade": "aluminium", "weight_g": 2.5}
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


@pytest.fixture
def asked(caller, pool):
    return Asked(caller, pool)


class Asked:
    """An enquiry about three cans of two kinds and their lid, with the supplier's browser and link."""

    def __init__(self, caller, pool):
        self.caller, self.pool = caller, pool
        self.own, other = (
            caller.post("/suppliers", {"name": name}).json()["data"]["id"] for name in ("Dosen AG", "Other Corp")
        )
        for code in ("CAN-1", "CAN-2", "CAN-3"):
            body = {**CAN, "supplier_id": self.own, "weight_g": 14 if code == "CAN-3" else 12.5}
            secret = {"component_type": "label", "material_family": "paper", "weight_g": 73.5, "supplier_id": other}
            sent = caller.post("/skus", {"sku_code": code, "name": f"Can {code}", "components": [body, LID, secret]})
            assert sent.status_code == 201, sent.text
        self.browser = Browser(caller.http, caller.address)
        self.browser.sign_in(added(pool, caller.company, "editor"))
        made = self.ask("Dosen AG", "CAN-1 CAN-2 CAN-3".replace(" ", ";"))
        assert made.status_code == 200, made.text
        self.link = re.search(r"<code>[^<]*(/supplier-enquiries/[\w-]+)</code>", made.text)[1]
        self.supplier = Browser(caller.http, caller.address)

    def ask(self, name, codes):
        form = hidden(self.browser.get("/enquiries").text)
        return self.browser.post("/enquiries", form | {"supplier_name": name, "sku_codes": codes})

    def page(self, lang="en"):
        return unescape(self.supplier.get(f"{self.link}?lang={lang}").text)

    def form(self, lang="en"):
        return dict(filled(self.supplier.get(f"{self.link}?lang={lang}").text, "answer"))

    def send(self, lang="en", rows=("1", "2", "3"), **fields):
        pairs = self.form(lang) | {name.replace("__", "."): value for name, value in fields.items()}
        pairs.pop("row", None)
        return self.supplier.post(f"{self.link}?lang={lang}", {**pairs, "row": list(rows)})

    def entries(self):
        with self.pool.company(self.caller.company) as conn:
            return review.page(conn)[0]

    def workbook(self, lang="en"):
        """The cells of the downloaded workbook, line by line, numbers as numbers."""
        answer = self.supplier.get(f"{self.link}/workbook?lang={lang}")
        assert answer.headers["content-type"] == XLSX
        read, _ = cells(io.BytesIO(answer.content))
        lines = zip(read["cells"], read["numbers"], strict=True)
        return [[float(text) if number else text for text, number in zip(*line, strict=True)] for line in lines]

    def upload(self, lines, lang="en"):
        data = io.BytesIO()
        with Workbook(data, {"in_memory": True}) as book:
            sheet = book.add_worksheet()
            for at, line in enumerate(lines):
                sheet.write_row(at, 0, line)
        return self.post_file(data.getvalue(), lang)

    def post_file(self, data, lang="en"):
        sent = {"file": ("packaging.xlsx", data, XLSX)}
        headers = {"X-Forwarded-For": self.caller.address}
        return self.caller.http.post(
            f"{self.link}/workbook?lang={lang}", files=sent, headers=headers, follow_redirects=False
        )


def test_alike_parts_are_one_row_with_what_is_known_filled_in(asked):
    form = asked.form()
    assert {name for name in form if name.endswith("material_family")} == {f"{n}.material_family" for n in (1, 2, 3)}
    assert [form[f"{n}.weight_g"] for n in (1, 2, 3)] == ["12.5", "14", "2.5"]
    assert form["1.substances.pfas.evidence"] == "TR-7"
    page = asked.page()
    assert "Parts: 2" in page
    assert "Parts: 3" in page
    assert "12,5" in asked.page("de")


def test_a_table_is_saved_half_way_and_goes_on_in_another_language(asked):
    done = asked.send("de", do="save", **{"1__weight_g": "12,6", "1__confirmed": "yes", "2__weight_g": "13,9"})
    assert done.status_code == 303
    form = asked.form("en")
    assert (form["1.weight_g"], form["2.weight_g"], form.get("1.confirmed"), form.get("2.confirmed")) == (
        "12.6",
        "13.9",
        "yes",
        None,
    )
    assert "Confirmed rows: 1 of 3" in asked.page()
    assert asked.entries() == []


def test_an_item_is_sent_when_all_its_rows_are_confirmed_and_says_the_same_once(asked):
    sent = asked.send(
        do="send", consent="yes", contact="q@dosen.example", **{"1__weight_g": "12.6", "1__confirmed": "yes"}
    )
    assert (sent.status_code, asked.entries()) == (303, []), "the lid is not confirmed"
    sent = asked.send(do="send", consent="yes", **{"3__confirmed": "yes"})
    assert "sent=2" in sent.headers["location"]
    filed = asked.entries()
    assert {entry.sku_code for entry in filed} == {"CAN-1", "CAN-2"}
    for entry in filed:
        can, lid = entry.payload["components"]
        assert (can["weight_g"], can["colour"], lid["weight_g"]) == (12.6, "opaque", 2.5)
        assert "source" not in can["substances"]["pfas"]
    again = asked.send(do="send", consent="yes")
    assert "sent=0" in again.headers["location"]
    assert {entry.id for entry in asked.entries()} == {entry.id for entry in filed}
    assert "sent=1" in asked.send(do="send", consent="yes", **{"2__confirmed": "yes"}).headers["location"]
    actions = [entry["action"] for entry in asked.caller.get("/audit-log?limit=100").json()["data"]]
    assert actions.count("supplier_submission.filed") == 3
    assert actions.count("supplier_request.created") == 3


def test_every_row_is_confirmed_by_one_click(asked):
    assert asked.send(do="confirm").status_code == 303
    assert "sent=3" in asked.send(do="send", consent="yes").headers["location"]


def test_a_fault_is_at_its_cell_and_the_other_rows_are_saved(asked):
    faulty = {"1__weight_g": "heavy", "2__recycled_content_percent": "140", "3__weight_g": "2.4"}
    answer = asked.send(do="save", **faulty)
    assert answer.status_code == 400
    for name in ("1.weight_g", "2.recycled_content_percent"):
        assert f'href="#{name}"' in answer.text
        assert f'id="{name}-error"' in answer.text
    assert asked.form()["3.weight_g"] == "2.4"
    assert asked.form()["1.weight_g"] == "12.5"
    no_consent = asked.send(do="send")
    assert (no_consent.status_code, 'href="#consent"' in no_consent.text) == (400, True)


def test_the_workbook_has_the_same_cells_and_meets_the_same_checks(asked):
    before = asked.form()
    for lang, weight in (("de", "Gewicht (g)"), ("fr", "Poids (g)"), ("en", "Weight (g)")):
        lines = asked.workbook(lang)
        assert [line[0] for line in lines[1:]] == [1, 2, 3]
        assert lines[1][lines[0].index(weight)] == 12.5
        assert asked.upload(lines, lang).status_code == 303
        assert asked.form() == before, "a workbook that nobody changed says what the page says"
    titles, *lines = [list(reversed(line)) for line in asked.workbook()]
    lines[0][titles.index("Weight (g)")] = 12.75
    lines[1][titles.index("Recycled content (%)")] = 140
    lines[2][titles.index("Color")] = "transparent"
    for line in lines:
        line[titles.index("Confirmed")] = "yes"
    refused = asked.upload([titles, *reversed(lines)])
    assert refused.status_code == 400
    assert "Row 2, Recycled content" in unescape(refused.text)
    form = asked.form()
    assert (form["1.weight_g"], form["1.confirmed"], form["3.colour"]) == ("12.75", "yes", "transparent")
    assert "2.confirmed" not in form


def test_page_and_workbook_say_the_same_to_the_cell(caller, pool):
    by_page = Asked(caller, pool)
    changed = {"1__weight_g": "12.6", "1__substances__svhc__status": "absent", "1__additives": "none"}
    by_page.send(do="save", **changed, **{"1__metallised": "no"})
    saved = by_page.form()
    lines = by_page.workbook("de")
    by_page.send(do="save", **{"1__weight_g": "1", "1__substances__svhc__status": "", "1__metallised": ""})
    assert by_page.form() != saved
    assert by_page.upload(lines, "de").status_code == 303
    assert by_page.form() == saved


def test_a_workbook_of_very_many_rows_costs_no_more_a_row():
    """20 000 parts of as many kinds are one upload: looking through the whole for each cell would take minutes."""
    many = 4_000
    lines = [["Row", "Confirmed", "Weight (g)", "Color"]]
    lines += [[str(number), "yes", "12.5", "opaque"] for number in range(1, many + 1)]
    form, numbers, _ = form_of_workbook(Cells(lines, [[False] * 4 for _ in lines]), "en")
    begun = process_time()
    saved, faults = read_rows(form, numbers, "en", load())
    assert is_within(process_time() - begun, 5)
    assert (len(saved), faults, saved[-1].answer) == (many, [], {"weight_g": 12.5, "colour": "opaque"})


def test_what_is_no_workbook_of_the_page_is_refused_unread(asked):
    lines, before = asked.workbook(), asked.form()
    assert asked.upload([*lines, lines[1]]).status_code == 400, "a row twice"
    assert "not the workbook of this page" in unescape(asked.upload([line[1:] for line in lines]).text)
    for data in (b"", b"no zip", b"PK" + bytes(64), b"<html><script>alert(1)</script>"):
        assert asked.post_file(data).status_code == 400
    refused = asked.upload([lines[0], [99, *lines[1][1:]]])
    assert "The table has no row 99" in unescape(refused.text)
    assert asked.form() == before, "a row of no part changes none"


def test_what_a_workbook_says_beside_its_table_is_told_and_the_rest_is_saved(asked):
    titles, *lines = asked.workbook()
    lines[0][titles.index("Weight (g)")] = 12.75
    noted = [[*titles, "Our drawing", "", "Empty"], *[[*line, "Z-12", None, None] for line in lines]]
    refused = asked.upload(noted)
    assert refused.status_code == 400
    page = unescape(refused.text)
    assert "“Our drawing”. Write what they say in the comment." in page
    assert "Empty" not in page, "a column of which nothing is filled in says nothing"
    assert asked.form()["1.weight_g"] == "12.75"


def _formatted(asked, title, value, number_format, also=None):
    """Upload the workbook with one cell of its first row changed and shown in a format; return the answer."""
    titles, *lines = asked.workbook()
    lines[0][titles.index(title)] = value
    data = io.BytesIO()
    with Workbook(data, {"in_memory": True}) as book:
        sheet = book.add_worksheet()
        for at, line in enumerate([titles, *lines]):
            sheet.write_row(at, 0, line)
        sheet.write(1, titles.index(title), value, book.add_format({"num_format": number_format}))
        if also:
            book.add_worksheet(also).write(0, 0, "The lid weighs 3 g in fact")
    return asked.post_file(data.getvalue())


@pytest.mark.parametrize(
    ("cell", "name", "right"),
    [
        (("Recycled content (%)", 0.3, "0%"), "1.recycled_content_percent", "30"),
        (("Weight (g)", 0.0215, '0.0000" kg"'), "1.weight_g", "21.5"),
        (("Weight (g)", 12.75, '0.00" g"'), "1.weight_g", "12.75"),
        (("Your article number", 123, "00000"), "1.article", "00123"),
        (("Polymer", 5, '"PP "0'), "1.polymer_or_grade", "PP 5"),
    ],
)
def test_a_number_of_the_workbook_is_what_its_format_shows(asked, cell, name, right):
    assert _formatted(asked, *cell).status_code == 303
    assert asked.form()[name] == right


def test_a_number_that_shows_an_unknown_unit_is_told(asked):
    refused = _formatted(asked, "Weight (g)", 3, '0" per case"')
    assert (refused.status_code, "Row 1, Weight" in unescape(refused.text)) == (400, True)
    assert asked.form()["1.weight_g"] == "12.5"


def test_a_word_of_the_workbook_that_is_doubted_is_told(asked):
    titles, *lines = asked.workbook()
    before = asked.form()
    lines[0][titles.index("Color")] = "transparent?"
    refused = asked.upload([titles, *lines])
    assert (refused.status_code, "Row 1, Color" in unescape(refused.text)) == (400, True)
    assert asked.form() == before


def test_of_two_columns_that_are_one_neither_is_read(asked):
    titles, *lines = asked.workbook()
    for second in ("Weight (g)", "Gewicht (g)"):
        refused = asked.upload([[*titles, second], *[[*line, 99] for line in lines]])
        assert (refused.status_code, "Two columns of the workbook are “Weight (g)”." in unescape(refused.text)) == (
            400,
            True,
        )
    assert asked.form()["1.weight_g"] == "12.5"


def test_what_a_workbook_says_on_a_further_sheet_or_of_its_parts_is_told(asked):
    page = unescape(_formatted(asked, "Weight (g)", 12.75, "0.00", also="Remarks").text)
    assert "no part of the table and was not read: “Remarks”." in page
    assert asked.form()["1.weight_g"] == "12.75"
    titles, *lines = asked.workbook("fr")
    lines[0][1] = "body (HDPE, 9 g)"
    lines[1][2] = 77
    page = unescape(asked.upload([titles, *lines]).text)
    assert "was not read: 1: “body (HDPE, 9 g)”, 2: “77”." in page


@pytest.mark.parametrize(("word", "confirmed"), [("oui", True), ("Nein", False), ("perhaps", None)])
def test_a_row_is_confirmed_by_a_word_that_is_understood_and_another_is_told(asked, word, confirmed):
    titles, *lines = asked.workbook()
    lines[1][titles.index("Confirmed")] = word
    answer = asked.upload([titles, *lines])
    assert answer.status_code == (303 if confirmed is not None else 400)
    assert ("“perhaps” is neither yes nor no." in unescape(answer.text)) is (confirmed is None)
    assert ("2.confirmed" in asked.form()) is (confirmed is True)


def test_a_link_shows_nothing_of_other_suppliers_parts_or_figures(asked):
    asked.caller.post("/skus", {"sku_code": "HIDDEN-1", "name": "Secret jar", "components": [LID]})
    cells = {str(cell) for line in asked.workbook() for cell in line}
    for text in ("HIDDEN-1", "Secret jar", "Other Corp", "73.5"):
        assert text not in asked.page()
        assert text not in cells
    refused = asked.ask("Third party", "CAN-1")
    assert refused.status_code == 200, "the lid names nobody"
    asked.caller.post("/skus", {"sku_code": "OWN-1", "name": "Own", "components": [{**CAN, "supplier_id": asked.own}]})
    refused = asked.ask("Third party", "OWN-1")
    assert (refused.status_code, "names another supplier than Third party" in unescape(refused.text)) == (400, True)
    item = re.search(r"/supplier-data/([\w-]{43})", asked.page())[1]
    for path in (
        f"/supplier-enquiries/{item}",
        f"/supplier-enquiries/{item}/workbook",
        "/supplier-enquiries/x/workbook",
    ):
        assert asked.supplier.get(path).status_code == 404


def test_a_rejected_answer_opens_its_rows_and_says_why(asked, pool):
    asked.send(do="confirm")
    asked.send(do="send", consent="yes")
    entry = next(entry for entry in asked.entries() if entry.sku_code == "CAN-3")
    decided(asked, entry, decide.reject, note="Weigh it again")
    form, page = asked.form(), asked.page()
    assert [n for n in (1, 2, 3) if f"{n}.confirmed" in form] == [1]
    assert page.count("Weigh it again") == 3, "at both rows and at the item"
    assert (
        "sent=1"
        in asked.send(do="send", consent="yes", **{"2__confirmed": "yes", "3__confirmed": "yes"}).headers["location"]
    )


def test_an_accepted_row_leaves_the_record_where_it_said_the_same(asked):
    asked.send(do="confirm")
    asked.send(do="send", consent="yes")
    for entry in asked.entries():
        decided(asked, entry, decide.accept)
    [sku] = [sku for sku in asked.caller.get("/skus").json()["data"] if sku["sku_code"] == "CAN-1"]
    can = asked.caller.get(f"/skus/{sku['id']}").json()["data"]["components"][0]
    assert (can["substances"]["pfas"]["source"], can["weight_g"]) == ("test_report", 12.5)
    assert "accepted" in asked.page()


def decided(asked, entry, how, **more):
    actor = Actor(UUID(str(asked.caller.company)), Origin("user", str(uuid4()), "Ada Marsh", "c-1"), datetime.now(UTC))
    with asked.pool.company(asked.caller.company) as conn:
        how(conn, actor, entry.id, rulesets=Rulesets(), **more)


def answered(asked, **fields):
    asked.send(do="confirm")
    if fields:
        asked.send(do="save", **fields, **{f"{n}__confirmed": "yes" for n in (1, 2, 3)})
    assert "sent=3" in asked.send(do="send", consent="yes").headers["location"]
    reviewer = Browser(asked.caller.http, asked.caller.address)
    reviewer.sign_in(added(asked.pool, asked.caller.company, "approver"))
    return reviewer


def parts_of(asked, code):
    [sku] = [sku for sku in asked.caller.get("/skus").json()["data"] if sku["sku_code"] == code]
    return sku["id"], asked.caller.get(f"/skus/{sku['id']}").json()["data"]["components"]


def test_what_agrees_is_accepted_by_one_click_and_contradictions_are_decided_part_by_part(asked):
    changed = {"1__weight_g": "12.9", "1__colour": "dark", "2__recycled_content_percent": "30"}
    reviewer = answered(asked, **changed)
    page = unescape(reviewer.get("/review/answers").text)
    assert "fill empty fields: 1" in page
    [key] = re.findall(r'name="choice\.(\w+)"', page)
    assert page.count("Can CAN-") == 2, "both cans of the row, one under the other"
    assert "12.9" in page
    done = reviewer.post("/review/answers", hidden(page))
    assert "accepted=1" in done.headers["location"]
    assert parts_of(asked, "CAN-3")[1][0]["recycled_content_percent"] == 30
    page = reviewer.get("/review/answers").text
    unexplained = reviewer.post("/review/answers", hidden(page) | {f"choice.{key}": "take"})
    assert (unexplained.status_code, f'id="reason.{key}-error"' in unexplained.text) == (400, True)
    decision = {f"choice.{key}": "keep", f"reason.{key}": "Weighed by ourselves"}
    done = reviewer.post("/review/answers", hidden(page) | decision)
    assert "accepted=2" in done.headers["location"]
    for code in ("CAN-1", "CAN-2"):
        body = parts_of(asked, code)[1][0]
        assert (body["weight_g"], body["colour"]) == (12.5, "opaque")
    decided_page = unescape(reviewer.get("/review?state=decided").text)
    entry = re.search(r'href="(/review/[0-9a-f-]{36})[^>]*>[^<]*</a></td>\s*<td[^>]*>Can CAN-1', decided_page)[1]
    assert "Weighed by ourselves" in unescape(reviewer.get(entry).text)
    assert asked.entries() == []


def test_what_law_or_weights_say_against_is_looked_at_by_itself(asked):
    reviewer = answered(asked, **{"3__weight_g": "250000"})
    page = unescape(reviewer.get("/review/answers").text)
    assert "To be looked at one by one" in page
    assert reviewer.post("/review/answers", hidden(page)).headers["location"].endswith("accepted=0")
    assert len(asked.entries()) == 3


def test_a_viewer_reads_and_decides_nothing_and_another_company_sees_nothing(asked, join):
    answered(asked)
    viewer = Browser(asked.caller.http, asked.caller.address)
    viewer.sign_in(added(asked.pool, asked.caller.company, "viewer"))
    page = viewer.get("/review/answers").text
    assert "<button>" not in page.partition("<main")[2]
    assert viewer.post("/review/answers", hidden(page)).status_code == 403
    other = join()
    stranger = Browser(other.http, other.address)
    stranger.sign_in(added(asked.pool, other.company, "approver"))
    assert "Can CAN-" not in stranger.get("/review/answers").text


def attach(asked, data=PDF, **fields):
    sent = {"file": ("declaration.pdf", data, "application/pdf")}
    headers = {"X-Forwarded-For": asked.caller.address}
    form = {"type": "food_contact_declaration", **fields}
    return asked.caller.http.post(f"{asked.link}/files", data=form, files=sent, headers=headers, follow_redirects=False)


def test_one_certificate_is_evidence_for_many_parts_and_its_end_is_due(asked):
    ends = (datetime.now(UTC) + timedelta(days=30)).date().isoformat()
    assert attach(asked, issuer="TÜV", expires_on=ends, of=["1"]).status_code == 303
    assert attach(asked, issuer="TÜV", expires_on=ends, of=["1"]).status_code == 303, "again is once"
    page = asked.page()
    assert page.count("declaration.pdf") == 1
    assert "rows 1" in page
    refused = attach(asked, b"no document")
    assert refused.status_code == 400
    assert {'href="#certificate"', 'id="certificate-error"'} <= set(re.findall(r'(?:href|id)="[^"]+"', refused.text))
    assert 'id="file-error"' not in refused.text, "the workbook's input has no fault"
    assert broken_places(refused.text) == []
    reviewer = answered(asked)
    reviewer.post("/review/answers", hidden(reviewer.get("/review/answers").text))
    files = {}
    for code in ("CAN-1", "CAN-2", "CAN-3"):
        sku_id, _ = parts_of(asked, code)
        files[code] = asked.caller.get(f"/skus/{sku_id}/files").json()["data"]
    assert [len(files[code]) for code in files] == [1, 1, 0]
    assert files["CAN-1"][0]["id"] == files["CAN-2"][0]["id"]
    assert files["CAN-1"][0]["issuer"] == "TÜV"
    log = asked.caller.get("/audit-log?limit=100").json()["data"]
    entered = [entry for entry in log if entry["action"] == "technical_file.uploaded"]
    assert sorted(entry["after"]["sku_id"] for entry in entered) == sorted(
        files[c][0]["sku_id"] for c in ("CAN-1", "CAN-2")
    )
    assert all(len(entry["after"]["component_ids"]) == 1 for entry in entered)
    changes = asked.caller.get("/changes?limit=100").json()["data"]
    uploaded = [change["sku_code"] for change in changes if change["type"] == "technical_file.uploaded"]
    assert sorted(uploaded) == ["CAN-1", "CAN-2"]
    due = unescape(reviewer.get("/declarations/due").text)
    assert "declaration.pdf" in due
    sku_id = parts_of(asked, "CAN-2")[0]
    assert reviewer.get(f"/items/{sku_id}/files/{files['CAN-2'][0]['id']}").content == PDF


def test_a_suppliers_page_says_how_far_and_an_old_answer_is_asked_again_with_what_changed(asked):
    listed = "/suppliers?name=Dosen+AG"
    for act, stage in (
        (lambda: None, "asked"),
        (asked.page, "opened"),
        (lambda: asked.send(do="save"), "half answered"),
        (lambda: asked.send(do="confirm"), "filled in, not sent"),
        (lambda: asked.send(do="send", consent="yes"), "in review"),
    ):
        act()
        assert f'<td data-label="Progress">{stage}</td>' in unescape(asked.browser.get(listed).text)
    for entry in asked.entries():
        decided(asked, entry, decide.accept)
    page = asked.browser.get(listed).text
    assert '<td data-label="Progress">accepted</td>' in page
    with asked.pool.company(asked.caller.company) as conn:
        conn.execute("UPDATE supplier_requests SET updated_at = updated_at - interval '13 months'")
    assert "stale: ask again" in asked.browser.get(listed).text
    sku_id, parts = parts_of(asked, "CAN-3")
    parts[0]["weight_g"] = 14.5
    sent = asked.caller.post("/skus", {"sku_code": "CAN-3", "name": "Can CAN-3", "components": parts})
    assert sent.status_code in (200, 201), sent.text
    path = re.search(r'href="(/enquiries/[0-9a-f-]{36})"', page)[1]
    again = asked.browser.post(f"{path}/again", hidden(asked.browser.get(path).text))
    asked.link = re.search(r"<code>[^<]*(/supplier-enquiries/[\w-]+)</code>", again.text)[1]
    page = asked.page()
    assert page.count("Changed since your last answer: Weight.") == 1, page
    assert "14.5" in page
    asked.send(do="confirm")
    assert "sent=3" in asked.send(do="send", consent="yes").headers["location"]
    assert sku_id


def test_whom_it_is_worth_asking_is_listed_by_tonnes_and_asked_by_one_click(asked):
    sku_id, _ = parts_of(asked, "CAN-1")
    volumes = [{"market": "DE", "year": 2025, "half": 0, "units_placed": 4_000_000}]
    assert asked.caller.put(f"/skus/{sku_id}/volumes", volumes).status_code == 200
    page = unescape(asked.browser.get("/suppliers/worth").text)
    assert page.index("Other Corp") < page.index("</table>")
    own = page[page.index("Dosen AG") :]
    assert "recycled content: 3" in own
    assert "PFAS" not in own.partition("</tr>")[0], "it is known of every can"
    address = re.search(r'href="(/enquiries\?supplier_name=Dosen[^"#]+)', page)[1]
    form = dict(filled(asked.browser.get(address).text, None))
    made = asked.browser.post("/enquiries", form | {"due_on": "", "reminder_days": "-10, 5", "valid_months": "24"})
    assert made.status_code == 200, made.text
    assert unescape(made.text).count("<code>CAN-") == 3
    refused = asked.browser.post("/enquiries", form | {"reminder_days": "soon"})
    assert (refused.status_code, 'id="reminder_days-error"' in refused.text) == (400, True)


def test_parts_of_other_shared_components_are_no_part_alike(asked):
    """What tells two parts apart makes a row of its own: here the shared component, whose code is the article."""
    facts = {name: value for name, value in CAN.items() if name != "substances"}
    shared = [
        asked.caller.post("/components", {"code": code, "name": "Can", **facts}).json()["data"]["id"]
        for code in ("ART-4711", "ART-4712")
    ]
    codes = ("SH-1", "SH-2", "SH-3")
    for code, component_id in zip(codes, [*shared, shared[0]], strict=True):
        part = {**CAN, "component_id": component_id, "supplier_id": asked.own}
        sent = asked.caller.post("/skus", {"sku_code": code, "name": f"Can {code}", "components": [part]})
        assert sent.status_code == 201, sent.text
    made = asked.ask("Dosen AG", ";".join(codes))
    asked.link = re.search(r"<code>[^<]*(/supplier-enquiries/[\w-]+)</code>", made.text)[1]
    rows = re.findall(r"Parts: (\d): ([^<]*)<", asked.page())
    assert sorted((count, names.count("SH-")) for count, names in rows) == [("1", 1), ("2", 2)]
