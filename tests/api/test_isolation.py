"""Two companies, every id of one tried by the other at every route of the app that is not v1, and at every tool.

The routes are read from the app and the tools from the connector: one with an id in its path is of a record, and any
other page is a list of what the company has. What is neither is named here. The same for v1 is
tests/contract/test_isolation.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest
from starlette.routing import WebSocketRoute

from tests.api.asking import ask
from tests.api.people import Browser, added, hidden
from tests.api.portfolios import counted, run
from tests.connector.oauth.authorising import Application, at_home
from tests.services.making import PDF

BY_TOKEN = {
    "POST /api/supplier-data/{token}",
    "GET /supplier-enquiries/{token}",
    "POST /supplier-enquiries/{token}",
    "GET /supplier-enquiries/{token}/workbook",
    "POST /supplier-enquiries/{token}/workbook",
    "POST /supplier-enquiries/{token}/files",
    "GET /supplier-data/{token}",
    "POST /supplier-data/{token}",
    "GET /supplier-data/{token}/thanks",
    "POST /supplier-data/{token}/files",
}
"""Routes of a supplier, whose token is the whole authentication: of its one request."""
OF_NO_RECORD = {
    "POST /imports",
    "POST /words",
    "GET /imports/template.xlsx",
    "GET /figures/items",
    "GET /items/new",
    "POST /items/new",
    "GET /items/change",
    "POST /items/change",
    "POST /items/change/drafts",
    "GET /account",
    "GET /account/second-factor",
    "POST /account/second-factor",
    "POST /account/sessions",
    "POST /account/leave",
    "POST /account/mails",
    "POST /company",
    "POST /roles",
    "POST /registers",
    "POST /people",
    "POST /webhooks",
    "POST /enquiries",
    "POST /review/answers",
    "POST /keys/test",
}
"""Routes of a signed-in person that name no record."""
FORMS = {"POST /library/{kind}", "POST /supplier-requests", "POST /declarations"}
"""Routes that name a record in their form."""
OF_NOBODY = {
    "GET /",
    "GET /healthz",
    "GET /metrics",  # of the deployment: counts without a company
    "GET /readyz",
    "GET /reference",
    "GET /reference/{page}",
    "GET /reference/collection.json",
    "GET /reference/clients/{name}",
    "GET /reference/guides",
    "GET /reference/guides/{name}",
    "GET /reference/guides/{folder}/{picture}",
    "GET /reference/template.xlsx",
    "GET /pages/style.css",
    "GET /pages/live.js",
    "GET /password/forgotten",
    "POST /password/forgotten",
    "GET /sign-in",
    "POST /sign-in",
    "POST /sign-out",
    "GET /oauth/authorize",
    "POST /oauth/authorize",
    "POST /oauth/register",
    "POST /oauth/token",
    "POST /oauth/revoke",
    "GET /password",
    "POST /password",
    "GET /password/{token}",
    "POST /sign-in/code",
    "POST /password/{token}",  # of one's own account alone
}
"""Routes that name no record of a company; those below /.well-known/, and preflights, neither."""
OF_STAFF = {
    "GET /staff",
    "GET /staff/runs",
    "GET /staff/sign-in",
    "POST /staff/sign-in",
    "POST /staff/sign-out",
    "FOLLOW /dagster/graphql",
    *(
        f"{method} {path}"
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE")
        for path in ("/dagster", "/dagster/{path:path}")
    ),
}
"""Routes of the operator's staff, closed to companies' people: tests/journeys/test_dagster_door."""


ALL_OTHERS = OF_NO_RECORD | BY_TOKEN | FORMS | OF_NOBODY | OF_STAFF


def named(routes: Any) -> Iterator[str]:
    """Every route by method and path."""
    for route in routes:
        methods = ("FOLLOW",) if isinstance(route, WebSocketRoute) else route.methods or ()
        yield from (f"{method} {route.path}" for method in methods)


@dataclass(frozen=True)
class Side:
    """A person of a company at their pages, and with an assistant."""

    browser: Browser
    assistant: Application
    token: str

    def tool(self, name: str, **arguments: Any) -> Any:
        params = {"name": name, "arguments": arguments}
        return self.assistant.call(self.token, "tools/call", params).json()["result"]


@pytest.fixture
def sides(caller, join, pool) -> tuple[Side, Side, Any]:
    """The owner, a stranger, and the owner's request to a supplier, answered with a file."""
    made = []
    asked = ask(caller, pool)
    for company in (caller, join()):
        assistant = at_home(caller.http, company.address, added(pool, company.company))
        made.append(Side(assistant.browser, assistant, assistant.connected()["access_token"]))
    file = {"files": {"file": ("a.pdf", PDF, "application/pdf")}, "data": {"type": "test_report"}}
    asked.http.post(f"/supplier-data/{asked.token}/files", headers={"X-Forwarded-For": asked.address}, **file)
    assert asked.answer().status_code == 202
    return made[0], made[1], asked


def issue(browser: Browser, entry: str) -> str:
    """The id of the declaration that a draft became."""
    form = hidden(browser.get(f"/review/{entry}").text)
    asked = ("point.manufacturer", "point.standards", "on_behalf_of", "signatory", "function", "place")
    signed = dict.fromkeys(asked, "x")
    days = {"issued_on": datetime.now(UTC).date().isoformat()}
    assert browser.post(f"/review/{entry}", form | signed | days | {"decision": "accept"}).status_code == 303
    return re.search(r"/declarations/([0-9a-f-]{36})\.pdf", browser.get(f"/review/{entry}").text)[1]


def declared(caller: Any) -> str:
    """The id of a declaration that the company keeps."""
    part = {"component_type": "body", "material_family": "glass", "polymer_or_grade": "glass", "weight_g": 1}
    made = caller.made(components=[part])
    rows = [{"market": "DE", "year": 2025, "units_placed": 1}]
    assert caller.put(f"/skus/{made['id']}/volumes", rows).status_code == 200
    counted(caller)
    answer = caller.post("/declarations", {"market": "DE", "year": 2025, "format": "csv"})
    return answer.json()["data"]["id"]


@pytest.fixture
def of_records(http) -> set[str]:
    """Routes whose path names a record of a company."""
    return {route for route in of_pages(http) - ALL_OTHERS if re.search(r"\{\w*id\}", route)}


@pytest.fixture
def lists(http, of_records) -> set[str]:
    """Pages that show what a company has; of a market, of any."""
    return of_pages(http) - ALL_OTHERS - of_records


def of_pages(http: Any) -> set[str]:
    found = {route for route in named(http.app.routes) if not re.match(r"\S+ (/api/v1/|/\.well-known/)", route)}
    return {route for route in found if not route.startswith(("HEAD", "OPTIONS"))}


def test_every_route_is_known_here(http, of_records, lists):
    assert of_pages(http) >= ALL_OTHERS
    assert {route for route in lists if not route.startswith("GET ")} == set(), "say what these name"
    assert (len(of_records), len(lists)) >= (39, 21)


def test_no_page_shows_or_takes_what_is_another_companys(sides, caller, of_records, lists):
    owner, stranger, asked = sides
    file_with_faults = b"sku_code;name\nB;b\n;c\n"
    imported = caller.post("/imports", None, params={"filename": "a.csv"}, content=file_with_faults).json()["id"]
    run(caller, imported)
    answer = re.search(r"/review/([0-9a-f-]{36})", owner.browser.get("/review").text)[1]
    kept = caller.post(
        f"/skus/{asked.sku_id}/files", None, data={"type": "test_report"}, files={"file": ("a.pdf", PDF)}
    )
    technical_file = kept.json()["data"]["id"]
    file = re.search(r"/files/([0-9a-f-]{36})", owner.browser.get(f"/review/{answer}").text)[1]
    first = owner.tool("generate_doc_draft", sku_code="BOTTLE-1")["structuredContent"]
    draft = owner.tool("generate_doc_draft", sku_code="BOTTLE-1", confirmation=first["confirmation"])
    connection = re.search(r"/connections/([0-9a-f-]{36})/revoke", owner.browser.get("/connections").text)[1]
    drafted = draft["structuredContent"]["entry_id"]
    issued = issue(owner.browser, drafted)
    kept = declared(caller)
    ids = {
        "review": answer,
        "items": asked.sku_id,
        "marks": asked.sku_id,
        "imports": imported,
        "connections": connection,
        "declarations": issued,
        "kept": kept,
        "documents": issued,
        "enquiries": caller.post("/supplier-enquiries", {"supplier_name": "P", "sku_codes": ["BOTTLE-1"]}).json()[
            "data"
        ]["id"],
        "supplier-requests": caller.get("/supplier-requests").json()["data"][0]["id"],
        "people": re.search(r"/people/([0-9a-f-]{36})", owner.browser.get("/people").text)[1],
        "library": caller.post("/brands", {"name": "Theirs"}).json()["data"]["id"],
        "webhooks": caller.post("/webhooks", {"url": "https://erp.example/x"}).json()["data"]["id"],
        "keys": re.search(r"/keys/([0-9a-f-]{36})/revoke", owner.browser.get("/keys").text)[1],
    }
    form = hidden(stranger.browser.get("/connections").text)
    assert "csrf" in form
    for route in sorted(of_records):
        method, _, path = route.partition(" ")
        room = "kept" if "/kept/" in path else path.split("/")[1]
        file_id = technical_file if room == "items" else file
        path = path.replace("{file_id}", file_id).replace("{connection_id}", connection)
        path = path.replace("{id}", drafted if "draft" in path else ids[room]).replace("{kind}", "brand")
        if method == "POST":
            assert (
                stranger.browser.post(
                    path, form | {"decision": "accept", "step": "disable", "answer": "yes"}
                ).status_code
                == 404
            ), route
        else:
            assert owner.browser.get(path).status_code == 200, route
            assert stranger.browser.get(path).status_code == 404, route
    theirs = [kept, answer, drafted, issued, imported, connection, asked.sku_id, "BOTTLE-1", asked.token]
    for route in sorted(lists):
        page = stranger.browser.get(route.removeprefix("GET ").replace("{code}", "FR"))
        without_figures = 404 if route == "GET /portfolio/board.pdf" else 200
        assert page.status_code == without_figures, route
        assert [found for found in theirs if found in page.text] == [], route
    sent = form | {"sku": "BOTTLE-1", "component": asked.components[0]}
    assert stranger.browser.post("/supplier-requests", sent).status_code == 400
    correction = {"market": "DE", "year": "2025", "format": "csv", "corrects": kept}
    assert stranger.browser.post("/declarations", form | correction).status_code == 400
    assert stranger.browser.get(f"/declarations?corrects={kept}").status_code == 404
    assert f"/review/{answer}" in owner.browser.get("/review").text, "nothing of it was decided"
    assert owner.assistant.call(owner.token).status_code == 200, "nor disconnected"


def test_no_tool_tells_or_takes_what_is_another_companys(sides, caller):
    _, stranger, asked = sides
    imported = caller.post("/imports", None, params={"filename": "a.csv"}, content=b"sku_code;name\nB;b\n").json()["id"]
    document = {"type": "test_report", "filename": "a.pdf", "content_base64": "JVBERi0xLjQK"}
    records = {"id": asked.sku_id, "sku_code": "BOTTLE-1", "import_id": imported}
    needed = {
        "propose_sku_update": {"changes": {"name": "Mine"}},
        "check_market_readiness": {"market": "FR"},
        "submit_supplier_document": {"document": document},
        "check_regulation_statement": {"statement": "BOTTLE-1"},
        "check_pricing_statement": {"statement": "BOTTLE-1"},
    }
    tools = stranger.assistant.call(stranger.token).json()["result"]["tools"]
    for tool in tools:
        name, arguments = tool["name"], tool["inputSchema"]["properties"]
        references = [field for field in arguments if field.endswith("id") or field == "sku_code"]
        assert set(references) <= set(records), f"teach this test what {name} refers to"
        for field in references:
            told = stranger.tool(name, **{field: records[field]}, **needed.get(name, {}))
            assert told["isError"], (name, field)
            assert "not_found" in told["content"][0]["text"], (name, field, told)
        if not references:
            told = str(stranger.tool(name, **needed.get(name, {})))
            assert [found for found in (asked.sku_id, imported) if found in told] == [], name
            assert "BOTTLE-1" not in told or name.endswith("_statement"), name
    assert len(tools) == 22


def test_a_suppliers_token_is_of_its_one_request(sides, join, pool):
    _, _, asked = sides
    other = ask(join(), pool)
    mine = other.http.get(f"/supplier-data/{other.token}", headers={"X-Forwarded-For": other.address}).text
    assert [found for found in (asked.sku_id, *asked.components, asked.token) if found in mine] == []
    answer = other.answer({"component_id": asked.components[0], "weight_g": 1})
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_body")
    for route in BY_TOKEN:
        method, _, path = route.partition(" ")
        sent = other.http.request(
            method, path.replace("{token}", str(uuid4())), headers={"X-Forwarded-For": other.address}
        )
        assert sent.status_code in (400, 404), route
