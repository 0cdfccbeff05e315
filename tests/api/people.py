"""People at their pages: accounts as `pcds user add` makes them, and browsers that keep cookies and fill forms."""

import os
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from html import unescape
from typing import Any
from uuid import UUID, uuid4

from cryptography.hazmat.primitives.kdf.argon2 import Argon2id
from starlette.testclient import TestClient

from schemas.accounts import Role
from warehouse.accounts import people, sign_in
from warehouse.operate.sessions import Pool

BASE = "http://127.0.0.1:8000"
PASSWORD = "a calm horse by the lake"


@dataclass(frozen=True)
class Person:
    """Somebody of a company who may sign in."""

    id: UUID
    company: UUID
    email: str
    password: str = PASSWORD


@cache
def hash_of_password() -> str:
    """The hash of everybody's password, as cheap as Argon2id goes: a sign-in computes it at the hash's own cost."""
    cheapest = Argon2id(salt=os.urandom(16), length=32, iterations=1, lanes=1, memory_cost=8)
    return cheapest.derive_phc_encoded(sign_in.normalised(PASSWORD).encode())


def added(pool: Pool, company: UUID, role: Role | None = None, called: str = "") -> Person:
    """A new person of a company, whose address begins as said."""
    person = Person(uuid4(), company, f"{called}{uuid4()}@brand.example")
    with pool.company(company) as connection:
        people.add(
            connection,
            company,
            person.id,
            email=person.email,
            password_hash=hash_of_password(),
            at=datetime.now(UTC),
            role=role,
        )
    return person


class Browser:
    """Cookies of its own over the app's client; follows no redirect by itself."""

    def __init__(self, http: TestClient, address: str) -> None:
        self.http = TestClient(http.app, base_url=BASE, client=("127.0.0.1", 50_000), follow_redirects=False)
        self.http.portal = http.portal  # the event loop that the app was started in
        self.address = address

    def get(self, path: str, **more: Any) -> Any:
        return self.http.get(path, headers={"X-Forwarded-For": self.address, **more.pop("headers", {})}, **more)

    def post(self, path: str, fields: dict[str, str], **more: Any) -> Any:
        headers = {"X-Forwarded-For": self.address, "Sec-Fetch-Site": "same-origin", **more.pop("headers", {})}
        return self.http.post(path, data=fields, headers=headers, **more)

    def sign_in(self, person: Person, *, password: str | None = None, back: str = "") -> Any:
        """Through the form as the page gives it."""
        form = hidden(self.get("/sign-in", params={"next": back} if back else {}).text)
        return self.post("/sign-in", form | {"email": person.email, "password": password or person.password})


def signed_in(caller: Any, pool: Pool, role: Role | None = None) -> Browser:
    """A browser in which a new person of the caller's company is signed in; without a role its administrator."""
    browser = Browser(caller.http, caller.address)
    assert browser.sign_in(added(pool, caller.company, role)).status_code == 303
    return browser


def hidden(page: str) -> dict[str, str]:
    """The hidden fields of a page's main form, with their values; those of the sign-out form above it are left out."""
    main = page.partition("<main")[2]
    found = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)">', main)
    return {name: unescape(value) for name, value in found}
