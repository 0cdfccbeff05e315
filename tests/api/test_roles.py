"""Roles in the pages: each route declares the role that it needs, and nobody below that role gets past it."""

import re
from collections.abc import Iterator
from uuid import uuid4

import pytest
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from api.pages.routes import router
from api.pages.sessions import Requires
from schemas.accounts import ROLES, includes
from tests.api.people import added, hidden, signed_in

WITHOUT_ROLE = {
    "POST /sign-in/code",
    "GET /supplier-enquiries/{token}",
    "POST /supplier-enquiries/{token}",
    "GET /supplier-enquiries/{token}/workbook",
    "POST /supplier-enquiries/{token}/workbook",
    "POST /supplier-enquiries/{token}/files",
    "GET /",
    "GET /oauth/authorize",
    "GET /pages/style.css",
    "GET /pages/live.js",
    "GET /password/forgotten",
    "GET /password/{token}",
    "POST /password/forgotten",
    "GET /sign-in",
    "GET /supplier-data/{token}",
    "GET /supplier-data/{token}/thanks",
    "POST /password/{token}",
    "POST /sign-in",
    "POST /supplier-data/{token}",
    "POST /supplier-data/{token}/files",
}
"""What somebody without an account opens; the consent page shows its application to a signed-in person alone."""

ABOVE_VIEWER = {
    "POST /enquiries": "editor",
    "POST /supplier-requests/{id}/withdraw": "editor",
    "POST /enquiries/{id}/remind": "editor",
    "POST /enquiries/{id}/again": "editor",
    "POST /enquiries/{id}/withdraw": "editor",
    "POST /review/answers": "approver",
    "POST /company": "administrator",
    "POST /roles": "administrator",
    "POST /registers": "administrator",
    "POST /items/{id}/roles": "editor",
    "POST /marks/{id}": "editor",
    "GET /people": "administrator",
    "POST /people": "administrator",
    "POST /people/{id}": "administrator",
    "GET /keys": "administrator",
    "POST /keys/test": "administrator",
    "POST /keys/{id}/revoke": "administrator",
    "GET /webhooks": "administrator",
    "POST /webhooks": "administrator",
    "GET /webhooks/{id}": "administrator",
    "POST /webhooks/{id}": "administrator",
    "GET /audit": "administrator",
    "POST /imports": "editor",
    "POST /imports/{id}/columns": "editor",
    "POST /supplier-requests": "editor",
    "POST /imports/{id}/rejected": "editor",
    "POST /imports/{id}/values": "editor",
    "POST /words": "editor",
    "POST /library/{kind}": "editor",
    "POST /library/{kind}/{id}": "editor",
    "POST /library/{kind}/{id}/merge": "editor",
    "GET /items/new": "editor",
    "POST /items/new": "editor",
    "GET /items/change": "editor",
    "POST /items/change": "editor",
    "POST /items/change/drafts": "editor",
    "GET /items/{id}/copy": "editor",
    "GET /items/{id}/edit": "editor",
    "POST /items/{id}/edit": "editor",
    "POST /items/{id}/answer": "editor",
    "POST /items/{id}/archive": "editor",
    "POST /items/{id}/facts": "editor",
    "POST /items/{id}/free-code": "editor",
    "POST /items/{id}/return": "editor",
    "GET /imports/{id}/undo": "editor",
    "POST /imports/{id}/undo": "editor",
    "POST /items/{id}/documents": "editor",
    "POST /items/{id}/files": "editor",
    "POST /documents/{id}/renew": "editor",
    "POST /documents/{id}/withdraw": "approver",
    "POST /declarations": "approver",
    "POST /review/{id}": "approver",
}


PART = {"component_type": "body", "material_family": "glass"}


def required(dependant: Dependant) -> Iterator[str]:
    if isinstance(dependant.call, Requires):
        yield dependant.call.role
    for each in dependant.dependencies:
        yield from required(each)


DECLARED = {
    f"{method} {route.path}": list(required(route.dependant))
    for route in router.routes
    if isinstance(route, APIRoute)
    for method in route.methods
}
WITH_ROLE = {name: roles[0] for name, roles in DECLARED.items() if roles}


def test_each_route_declares_one_role_or_is_for_people_without_an_account():
    assert {name for name, roles in DECLARED.items() if not roles} == WITHOUT_ROLE
    assert all(len(roles) == 1 for roles in DECLARED.values() if roles)
    assert {name: role for name, role in WITH_ROLE.items() if role != "viewer"} == ABOVE_VIEWER


@pytest.mark.parametrize("role", ROLES)
def test_each_address_lets_a_role_in_or_names_the_role_that_may(caller, pool, role):
    browser = signed_in(caller, pool, role)
    for name, needed in WITH_ROLE.items():
        method, _, path = name.partition(" ")
        if path == "/sign-out":
            continue
        path = re.sub(r"\{[^}]+\}", str(uuid4()), path)
        answer = browser.get(path) if method == "GET" else browser.post(path, {})
        refused = f"This needs the role {needed} or a higher one." in answer.text
        assert refused == (not includes(role, needed)), (name, answer.status_code)
        if refused:
            assert answer.status_code == 403
            assert f"Your role is {role}." in answer.text


def test_the_refusal_is_in_the_language_of_the_person_and_nothing_is_written(caller, pool):
    browser = signed_in(caller, pool, "viewer")
    form = hidden(browser.get("/imports").text)
    for lang, words in (("fr", "Votre rôle est lecteur"), ("de", "Ihre Rolle ist Leser")):
        answer = browser.post(f"/imports?lang={lang}", form | {"rows": "sku_code\tname\nA-1\tFlasche\n"})
        assert answer.status_code == 403
        assert words in answer.text
    with pool.company(caller.company) as connection:
        assert connection.execute("SELECT FROM imports").rowcount == 0


def test_the_first_person_of_a_company_is_its_administrator_and_the_others_are_approvers(caller, pool):
    first, second, third = (added(pool, caller.company, role) for role in (None, None, "editor"))
    with pool.company(caller.company) as connection:
        found = dict(connection.execute("SELECT id, role FROM users").fetchall())
    assert found == {first.id: "administrator", second.id: "approver", third.id: "editor"}


@pytest.mark.parametrize("role", ROLES)
def test_a_page_shows_a_role_the_forms_that_it_may_send_and_no_other(caller, pool, role):
    sku = caller.post("/skus", {"name": "Jar", "sku_code": "R-1", "components": [PART]}).json()["data"]["id"]
    browser = signed_in(caller, pool, role)
    pages = ("/imports", "/declarations", "/supplier-requests?sku=R-1", f"/items/{sku}", f"/items/{sku}/documents")
    shown = set()
    for page in pages:
        answer = browser.get(page)
        assert answer.status_code == 200, page
        main = answer.text.partition("<main")[2]
        actions = re.findall(r'<form[^>]*method="post"[^>]*action="([^"?]+)', main)
        shown |= {"POST " + action.replace(str(sku), "{id}") for action in actions}
    possible = {
        "POST /supplier-requests",
        "POST /imports",
        "POST /declarations",
        "POST /items/{id}/answer",
        "POST /items/{id}/archive",
        "POST /items/{id}/documents",
        "POST /items/{id}/files",
    }
    assert shown == {name for name in possible if includes(role, ABOVE_VIEWER[name])}
