"""An application in the hands of a test: it registers, sends a person to consent, and exchanges what comes back."""

import hashlib
import secrets
from base64 import urlsafe_b64encode
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.api.people import BASE, Browser, Person, hidden

RESOURCE = f"{BASE}/api/mcp"
REDIRECT = "https://assistant.example/callback"
RPC = {"jsonrpc": "2.0", "id": 1}


def challenge_of(verifier: str) -> str:
    return urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")


def answer_of(response: Any) -> dict[str, str]:
    """The parameters that a redirect carries back to the application."""
    assert response.status_code == 303, response.text
    return {name: value for name, [value] in parse_qs(urlsplit(response.headers["location"]).query).items()}


@dataclass
class Application:
    """A public client unless it registers otherwise."""

    browser: Browser
    registered: dict[str, Any] = field(default_factory=dict)
    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(48))

    def register(self, **said: Any) -> Any:
        asked = {"client_name": "Helper", "redirect_uris": [REDIRECT], "token_endpoint_auth_method": "none"} | said
        response = self.browser.http.post(
            "/oauth/register", json=asked, headers={"X-Forwarded-For": self.browser.address}
        )
        if response.status_code == 201:
            self.registered = response.json()
        return response

    @property
    def id(self) -> str:
        return self.registered["client_id"]

    def asks(self, **other: str | None) -> dict[str, str]:
        asked = {
            "response_type": "code",
            "client_id": self.id,
            "redirect_uri": REDIRECT,
            "state": "s t&a=te",
            "code_challenge": challenge_of(self.verifier),
            "code_challenge_method": "S256",
            "resource": RESOURCE,
        } | other
        return {name: value for name, value in asked.items() if value is not None}

    def authorize(self, **other: str | None) -> Any:
        return self.browser.get("/oauth/authorize", params=self.asks(**other))

    def decide(self, decision: str = "allow", **other: str | None) -> Any:
        page = self.authorize(**other)
        assert page.status_code == 200, (page.status_code, page.headers.get("location"), page.text)
        return self.browser.post("/oauth/authorize", hidden(page.text) | {"decision": decision})

    def code(self, **other: str | None) -> str:
        return answer_of(self.decide(**other))["code"]

    def token(self, path: str = "/oauth/token", **fields: Any) -> Any:
        sent = {"client_id": self.id} | fields
        headers = sent.pop("headers", {})
        return self.browser.http.post(
            path, data={name: value for name, value in sent.items() if value is not None}, headers=headers
        )

    def redeem(self, code: str, **other: Any) -> Any:
        sent = {
            "grant_type": "authorization_code",
            "code": code,
            "code_verifier": self.verifier,
            "redirect_uri": REDIRECT,
        }
        return self.token(**(sent | other))

    def refresh(self, token: str, **other: Any) -> Any:
        return self.token(grant_type="refresh_token", refresh_token=token, **other)

    def connected(self, **other: str | None) -> dict[str, str]:
        """Tokens, after a person's yes."""
        response = self.redeem(self.code(**other))
        assert response.status_code == 200, response.text
        return response.json()

    def call(
        self, token: str | None, method: str = "tools/list", params: Any = None, *, can: Any = None, **headers: str
    ) -> Any:
        """One request of the stateless revision; `can` are the capabilities of the application."""
        meta = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": can or {},
        }
        sent = {
            "MCP-Protocol-Version": "2026-07-28",
            "Mcp-Method": method,
            "Accept": "application/json, text/event-stream",
        }
        if token is not None:
            sent["Authorization"] = f"Bearer {token}"
        if params and "name" in params:
            sent["Mcp-Name"] = params["name"]
        body = RPC | {"method": method, "params": {**(params or {}), "_meta": meta}}
        return self.browser.http.post("/api/mcp", json=body, headers=sent | headers)


def at_home(http: Any, address: str, person: Person) -> Application:
    """A registered application with a person signed in."""
    application = Application(Browser(http, address))
    assert application.register().status_code == 201
    assert application.browser.sign_in(person).status_code == 303
    return application
