"""A hostile supplier at the front door: what each attack is answered, and that it stores and shows nothing."""

import io
import re
import zipfile
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from markupsafe import escape
from xlsxwriter import Workbook

from tests.api.people import hidden
from tests.api.test_enquiry_table import CAN, XLSX, Asked, answered, parts_of
from tests.api.test_enquiry_table import asked as asked  # noqa: PLC0414  (a fixture)
from tests.services.making import DOCX, PDF, PNG
from tests.services.making import XLSX as PACKAGE

TABLES = (
    "supplier_rows",
    "supplier_requests",
    "supplier_enquiries",
    "supplier_mails",
    "review_entries",
    "review_files",
    "technical_files",
    "skus",
    "suppliers",
    "audit_entries",
)
SECRETS = (
    "Other Corp",
    "73.5",
    "HIDDEN-1",
    "Secret jar",
    "Rival AG",
    "8123.4",
    "Traceback",
    "psycopg",
    "/work/",
    "/tmp/",
)
"""What a link never shows: other suppliers, their parts, other items, figures, and the inside of the service."""


class Attack(Asked):
    """The supplier of one enquiry, beside whom the company has other suppliers, items, an enquiry, and units."""

    def __init__(self, caller: Any, pool: Any) -> None:
        super().__init__(caller, pool)
        rival = caller.post("/suppliers", {"name": "Rival AG"}).json()["data"]["id"]
        for at in range(5):  # its table has more rows than that of the attacker
            part = {**CAN, "weight_g": 30.5 + at, "supplier_id": rival}
            sku = {"sku_code": f"RIVAL-{at}", "name": f"Secret jar {at}", "components": [part]}
            self.rival_sku = caller.post("/skus", sku).json()["data"]
        caller.put(
            f"/skus/{self.rival_sku['id']}/volumes",
            [{"market": "DE", "year": 2025, "half": 0, "units_placed": 8_123_400_000}],
        )
        made = self.ask("Rival AG", ";".join(f"RIVAL-{at}" for at in range(5)))
        self.rival = re.search(r"<code>[^<]*(/supplier-enquiries/[\w-]+)</code>", made.text)[1]
        self.item = re.search(r"/supplier-data/[\w-]{43}", self.page())[0]
        self.token = self.link.rpartition("/")[2]

    def stored(self) -> dict[str, list[str]]:
        """Every row that the company has, but when its links were opened."""
        with self.pool.company(self.caller.company) as conn:
            conn.execute("SET LOCAL timezone = 'UTC'")
            return {
                table: sorted(
                    str(row) for (row,) in conn.execute(f"SELECT to_jsonb({table}) - 'opened_at' FROM {table}")
                )
                for table in TABLES
            }

    def send_raw(self, method: str, path: str, **more: Any) -> Any:
        headers = {"X-Forwarded-For": self.caller.address, **more.pop("headers", {})}
        return self.supplier.http.request(method, path, headers=headers, **more)

    def upload_file(self, data: bytes, name: str = "declaration.pdf", kind: str = "application/pdf") -> Any:
        sent = {"file": (name, data, kind)}
        return self.send_raw("POST", f"{self.link}/files", data={"type": "supplier_declaration"}, files=sent)

    def changed(self, title: str, value: object, *, row: int = 1) -> Any:
        """Upload one row of the workbook with one cell changed."""
        lines = self.workbook()
        lines[row][lines[0].index(title)] = value
        return self.upload([lines[0], lines[row]])

    def packed(self, more: dict[str, bytes], replaced: dict[str, bytes] | None = None) -> Any:
        """Upload the downloaded workbook with further parts in its package, or with other bytes in them."""
        data, target = self.supplier.get(f"{self.link}/workbook").content, io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(data)) as before, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as after:
            for name in before.namelist():
                after.writestr(name, (replaced or {}).get(name, before.read(name)))
            for name, content in more.items():
                after.writestr(name, content)
        return self.post_file(target.getvalue())

    def row(self, **fields: str) -> Any:
        """Save the page with some inputs of its first row changed."""
        return self.send(do="save", rows=("1",), **{f"1__{name}": value for name, value in fields.items()})

    def answer_item(self, body: object, **more: Any) -> Any:
        return self.send_raw("POST", f"/api{self.item}", json=body, **more)


def merged(attack: Attack) -> Any:
    data = io.BytesIO()
    with Workbook(data, {"in_memory": True}) as book:
        sheet = book.add_worksheet()
        for at, line in enumerate(attack.workbook()):
            sheet.write_row(at, 0, [None if at == 2 else line[0], *line[1:]])
        sheet.merge_range(1, 0, 2, 0, 1)
    return attack.post_file(data.getvalue())


def formulas(attack: Attack) -> Any:
    lines, data = attack.workbook(), io.BytesIO()
    with Workbook(data, {"in_memory": True}) as book:
        sheet = book.add_worksheet()
        for at, line in enumerate(lines):
            sheet.write_row(at, 0, line)
        weight = lines[0].index("Weight (g)")
        for at in range(1, len(lines)):
            sheet.write_formula(at, weight, '=WEBSERVICE("http://evil.example/")', None, "#NAME?")
    return attack.post_file(data.getvalue())


def ended(attack: Attack, how: str) -> list[Any]:
    with attack.pool.company(attack.caller.company) as conn:
        for table in ("supplier_enquiries", "supplier_requests"):
            conn.execute(f"UPDATE {table} SET {how} WHERE true")
    attack.before = attack.stored()
    lines = [["Row"], [1]]
    return [
        attack.supplier.get(attack.link),
        attack.supplier.get(f"{attack.link}/workbook"),
        attack.supplier.post(attack.link, {"row": "1", "1.weight_g": "1", "do": "save"}),
        attack.upload(lines),
        attack.upload_file(PDF),
        attack.supplier.get(attack.item),
        attack.answer_item({"consent": True, "response": {}}),
    ]


def bomb(attack: Attack) -> Any:
    """A sheet of 120 megabytes in a package of some hundred thousand bytes."""
    return attack.packed({}, {"xl/worksheets/sheet1.xml": b"<worksheet>" + b"<row><c><v>1</v></c></row>" * 4_600_000})


LAUGHS = (
    b'<?xml version="1.0"?><!DOCTYPE sst [<!ENTITY a "aaaaaaaaaa">'
    + b"".join(b'<!ENTITY %c "%s">' % (98 + at, b"&%c;" % (97 + at) * 10) for at in range(9))
    + b']><sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><si><t>&j;</t></si></sst>'
)
OTHER_ENTITY = (
    b'<?xml version="1.0"?><!DOCTYPE sst [<!ENTITY x SYSTEM "file:///etc/passwd">]><sst><si><t>&x;</t></si></sst>'
)

ATTACKS: Sequence[tuple[str, Callable[[Attack], Any], set[int]]] = (
    # whose link it is
    ("an item's token is none of an enquiry", lambda a: a.supplier.get(a.item.replace("data", "enquiries")), {404}),
    ("an enquiry's token is none of an item", lambda a: a.supplier.get(f"/supplier-data/{a.token}"), {404}),
    ("a token of nothing", lambda a: a.supplier.get(f"/supplier-enquiries/{uuid4()}"), {404}),
    ("a token twice", lambda a: a.supplier.get(f"{a.link}{a.token}"), {404}),
    ("a token in other letters", lambda a: a.supplier.get(f"/supplier-enquiries/{a.token.swapcase()}"), {404}),
    ("a token with a zero byte", lambda a: a.supplier.get(f"{a.link}%00"), {404}),
    ("a token with a line break", lambda a: a.supplier.get(f"{a.link}%0d%0aSet-Cookie:x=1"), {404}),
    ("a withdrawn link", lambda a: ended(a, "withdrawn_at = now()"), {404}),
    ("a token as a key", lambda a: a.send_raw("GET", "/api/v1/skus", headers={"X-API-Key": a.token}), {401}),
    (
        "a token as a bearer token",
        lambda a: a.send_raw("GET", "/api/v1/skus", headers={"Authorization": f"Bearer {a.token}"}),
        {401},
    ),
    # what is behind it
    (
        "the company's pages",
        lambda a: [a.supplier.get(path) for path in ("/suppliers", "/suppliers/worth", "/enquiries", "/items")],
        {303},
    ),
    (
        "the company's forms",
        lambda a: [a.supplier.post(path, {"csrf": a.token}) for path in ("/enquiries", "/review/answers")],
        {303, 403},
    ),
    ("a rival's file behind the link", lambda a: a.supplier.get(f"{a.link}/files/{a.rival_sku['id']}"), {404}),
    (
        "ways up",
        lambda a: [
            a.supplier.get(f"{a.link}/{up}") for up in ("..%2fenquiries", "%2e%2e/%2e%2e/passwd", "workbook/..;/")
        ],
        {404},
    ),
    (
        "other methods",
        lambda a: [a.send_raw(method, a.link) for method in ("PUT", "DELETE", "PATCH", "TRACE", "PROPFIND")],
        {405},
    ),
    (
        "another page of the table",
        lambda a: [a.supplier.get(f"{a.link}?offset={at}") for at in ("-1", "99999999999999999999", "nan", "1e9", "'")],
        {200, 400},
    ),
    (
        "languages that there are not",
        lambda a: [a.supplier.get(f"{a.link}?lang={lang}") for lang in ("xx", "../../passwd", "%3Cscript%3E", "%00")],
        {200},
    ),
    (
        "another host",
        lambda a: [
            a.send_raw("GET", a.link, headers={"Host": "evil.example", "X-Forwarded-Host": "evil.example"}),
            a.send_raw("GET", f"{a.link}/", headers={"Host": "evil.example"}),
        ],
        {200, 307, 400, 404},
    ),
    # rows and parts of others
    ("a row of the rival's number", lambda a: a.send(do="save", rows=("4", "5"), **{"5__weight_g": "1"}), {303}),
    (
        "numbers that are none",
        lambda a: a.send(do="save", rows=("-1", "³", "1e0", "99999999999999999999", "1;2", "")),
        {303},
    ),
    ("a part of the rival's", lambda a: a.answer_item(
        {"consent": True, "response": {"components": [{"component_id": a.rival_sku["components"][0]["id"]}]}}
    ), {400}),
    ("a field not asked", lambda a: a.answer_item({"consent": True, "response": {"sku_code": "RIVAL-1"}}), {400}),
    ("no consent", lambda a: [a.answer_item({"consent": False, "response": {}}), a.send(do="send", rows=())], {400}),
    ("an array for an object", lambda a: a.answer_item([1, 2]), {400}),
    ("a body of another kind", lambda a: a.answer_item(None, headers={"Content-Type": "text/xml"}), {400, 415}),
    # what is typed
    ("a statement for a weight", lambda a: a.row(weight_g="1; DROP TABLE skus"), {400}),
    ("a weight that no pack has", lambda a: a.row(weight_g="9" * 400), {400}),
    ("no number", lambda a: [a.row(weight_g=text) for text in ("NaN", "Infinity", "-1", "0x10")], {400}),
    ("a zero byte in a text", lambda a: a.row(polymer_or_grade="PET\x00"), {400}),
    ("a control character in a text", lambda a: a.row(polymer_or_grade="PET\x1b[2J"), {400}),
    ("a code that there is not", lambda a: a.row(colour="<script>alert(1)</script>"), {400}),
    ("a text of a megabyte", lambda a: a.row(polymer_or_grade="x" * 1_000_000), {413}),
    ("a long text", lambda a: a.row(polymer_or_grade="x" * 5_000), {400}),
    ("fields without end", lambda a: a.supplier.post(a.link, {f"x{at}": "1" for at in range(1_500)}), {400}),
    ("bytes that are no text", lambda a: a.send_raw("POST", a.link, content=b"row=1&1.colour=%ff%fe"), {400}),
    # the workbook
    ("formulas", formulas, {400}),
    ("merged cells", merged, {400}),
    ("half a row's number", lambda a: a.changed("Row", 1.5), {400}),
    ("a row's number as a text", lambda a: a.changed("Row", "1 OR 1=1"), {400}),
    ("a huge number", lambda a: a.changed("Weight (g)", 1e300), {400}),
    ("a zip bomb", bomb, {400, 413}),
    ("entities that grow", lambda a: a.packed({}, {"xl/sharedStrings.xml": LAUGHS}), {400}),
    ("an entity from a file", lambda a: a.packed({}, {"xl/sharedStrings.xml": OTHER_ENTITY}), {400}),
    ("a package of something else", lambda a: [a.post_file(data) for data in (DOCX, PACKAGE, PDF, PNG)], {400}),
    (
        "two files",
        lambda a: a.send_raw("POST", f"{a.link}/workbook", files=[("file", ("a.xlsx", b"PK", XLSX))] * 2),
        {400},
    ),
    (
        "a body that breaks off",
        lambda a: a.send_raw(
            "POST", f"{a.link}/workbook", content=b"--x\r\n", headers={"Content-Type": "multipart/form-data;boundary=x"}
        ),
        {400},
    ),
    # documents
    ("a page as a PDF", lambda a: a.upload_file(b"<html><script>alert(1)</script></html>"), {400}),
    ("a program as a PDF", lambda a: a.upload_file(b"MZ" + bytes(300), "declaration.pdf"), {400}),
    ("a picture with a script", lambda a: a.upload_file(b"<svg onload='x()'/>", "a.svg", "image/svg+xml"), {400}),
    ("nothing as a document", lambda a: a.upload_file(b""), {400}),
    ("a document that is too large", lambda a: a.upload_file(PDF + bytes(20_000_001)), {400, 413}),
    ("twenty uploads at once", lambda a: [a.upload_file(b"x") for _ in range(20)], {400, 429}),
)  # fmt: skip


@pytest.mark.parametrize(("attack", "statuses"), [row[1:] for row in ATTACKS], ids=[row[0] for row in ATTACKS])
def test_an_attack_stores_and_shows_nothing(attack, statuses, caller, pool):
    supplier = Attack(caller, pool)
    supplier.before = supplier.stored()
    answers = attack(supplier)
    answers = answers if isinstance(answers, list) else [answers]
    assert {answer.status_code for answer in answers} <= statuses
    for answer in answers:
        told = f"{answer.headers} {answer.text}"
        for secret in (*SECRETS, supplier.rival, supplier.rival_sku["id"], "evil.example", "root:x:"):
            assert secret not in told, secret
        assert "<script>alert" not in told
        assert "set-cookie" not in {name.lower() for name in answer.headers}
    assert supplier.stored() == supplier.before
    if len(answers) == 20:
        assert [answer.status_code for answer in answers].count(429) >= 10


def test_an_expired_link_is_none(stopped, clock, pool):
    supplier = Attack(stopped, pool)
    clock.advance(timedelta(days=91))
    supplier.before = supplier.stored()
    for path in (supplier.link, f"{supplier.link}/workbook", supplier.item):
        assert supplier.supplier.get(path).status_code == 404
    assert supplier.upload([["Row"], [1]]).status_code == 404
    assert supplier.stored() == supplier.before


def test_what_a_workbook_carries_beside_its_cells_is_not_read(asked):
    before = asked.form()
    attack = Attack.packed
    for more in (
        {"xl/vbaProject.bin": b"Attribute VB_Name"},
        {"xl/externalLinks/externalLink1.xml": b'<externalLink xmlns="x"><externalBook r:id="rId1"/></externalLink>'},
        {"../../../etc/passwd": b"x", "/abs": b"x", "xl\\..\\evil": b"x"},
    ):
        assert attack(asked, more).status_code in (303, 400)
        assert {**asked.form()} == before


def test_what_is_typed_is_shown_as_text_and_runs_nowhere(asked):
    script, formula = '"><script>alert(1)</script>', "=HYPERLINK(1)"
    saved = asked.send(do="save", **{"1__polymer_or_grade": script, "2__polymer_or_grade": formula})
    assert saved.status_code == 303
    shown = asked.supplier.get(asked.link).text
    assert script not in shown
    assert str(escape(script)) in shown
    cells = {str(cell) for line in asked.workbook() for cell in line}
    assert formula not in cells
    assert any(formula in cell and cell.startswith("'") for cell in cells)
    assert asked.upload(asked.workbook()).status_code == 303
    assert asked.form()["2.polymer_or_grade"] == formula, "back from the workbook it is what was typed"


def test_a_document_is_kept_under_a_plain_name_and_served_to_be_saved(asked):
    script = PDF.replace(b"<< >>", b"<< /OpenAction << /S /JavaScript /JS (app.alert(1)) >> >>")
    sent = {"file": ("../../etc/<b>passwd</b>.html", script + b"<script>alert(1)</script>", "text/html")}
    headers = {"X-Forwarded-For": asked.caller.address}
    answer = asked.caller.http.post(
        f"{asked.link}/files",
        data={"type": "supplier_declaration"},
        files=sent,
        headers=headers,
        follow_redirects=False,
    )
    page = asked.supplier.get(asked.link).text
    assert "<b>passwd" not in page
    assert "../" not in page.partition("certificates")[2].partition("<form")[0]
    if answer.status_code == 303:  # a PDF it is, whatever it does when it is opened
        reviewer = answered(asked)
        reviewer.post("/review/answers", hidden(reviewer.get("/review/answers").text))
        sku_id, _ = parts_of(asked, "CAN-1")
        [file] = asked.caller.get(f"/skus/{sku_id}/files").json()["data"]
        served = reviewer.get(f"/items/{sku_id}/files/{file['id']}")
        assert served.headers["content-type"] == "application/pdf"
        assert served.headers["content-disposition"].startswith("attachment")
        assert served.headers["x-content-type-options"] == "nosniff"


def test_an_answer_that_is_sent_again_is_filed_once(asked):
    asked.send(do="confirm")
    for sent in ("sent=3", "sent=0", "sent=0"):
        assert sent in asked.send(do="send", consent="yes").headers["location"]
    assert len(asked.entries()) == 3


def test_a_foreign_page_has_nothing_to_send_a_supplier_s_browser_with(asked):
    """The address alone lets somebody in, and no cookie does: a page that does not know it changes nothing."""
    assert asked.supplier.get(asked.link).headers.get("set-cookie") is None
    assert asked.supplier.get(asked.link).headers["referrer-policy"] in ("no-referrer", "same-origin")
