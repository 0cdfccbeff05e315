"""Acts as an assistant on a person's machine: it registers, sends the person to consent, and calls tools by its token.

It is a public client with PKCE whose redirect address is a port of the loopback, as desktop assistants have it
(RFC 8252, section 7.3). It uses the stateless revision of the protocol.
"""

import hashlib
import secrets
import threading
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2

_REVISION: Final = "2026-07-28"
_BACK: Final = (
    b"<!doctype html><html lang=en><title>Back</title><link rel=icon href='data:,'><h1>You can go back now</h1>"
)


class Assistant:
    """One application at one service; use `listening` while a person decides."""

    def __init__(self, service: str, name: str = "Packaging helper") -> None:
        self._http = httpx2.Client(base_url=service, timeout=120)
        self._service, self._name = service, name
        self._verifier, self._state = secrets.token_urlsafe(48), secrets.token_urlsafe(16)
        self.answers: list[dict[str, str]] = []
        """The parameters of each request to the redirect address."""
        self._redirect = self._client = self._token = ""

    @contextmanager
    def listening(self) -> Iterator["Assistant"]:
        """Serve its redirect address during the block."""
        answers = self.answers

        class Redirected(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                answers.append({name: value for name, [value] in parse_qs(urlsplit(self.path).query).items()})
                self.send_response(200)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.end_headers()
                self.wfile.write(_BACK)

            def log_message(self, *_: object) -> None:
                """Log nothing: a line would contain the code."""

        with ThreadingHTTPServer(("127.0.0.1", 0), Redirected) as server, self._http:
            thread = threading.Thread(target=server.serve_forever, daemon=True)
            thread.start()
            self._redirect = f"http://127.0.0.1:{server.server_port}/callback"
            try:
                yield self
            finally:
                server.shutdown()
                thread.join()

    def register(self) -> None:
        """Register the application (RFC 7591), without a secret."""
        asked = {"client_name": self._name, "redirect_uris": [self._redirect], "token_endpoint_auth_method": "none"}
        answer = self._http.post("/oauth/register", json=asked)
        answer.raise_for_status()
        self._client = answer.json()["client_id"]

    @property
    def consent(self) -> str:
        """Return the address that the person is sent to."""
        challenge = urlsafe_b64encode(hashlib.sha256(self._verifier.encode()).digest()).decode().rstrip("=")
        asked = {
            "response_type": "code",
            "client_id": self._client,
            "redirect_uri": self._redirect,
            "state": self._state,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
            "resource": f"{self._service}/api/mcp",
        }
        return f"/oauth/authorize?{urlencode(asked)}"

    def redeem(self) -> None:
        """Exchange the returned code for a token. The state must be ours and `iss` the service's (RFC 9207)."""
        back = self.answers[-1]
        if (back["state"], back["iss"]) != (self._state, self._service):
            raise ValueError("The answer is to another question, or from another service.")
        answer = self._http.post(
            "/oauth/token",
            data={
                "grant_type": "authorization_code",
                "code": back["code"],
                "code_verifier": self._verifier,
                "redirect_uri": self._redirect,
                "client_id": self._client,
            },
        )
        answer.raise_for_status()
        self._token = answer.json()["access_token"]

    def call(self, tool: str, **arguments: Any) -> httpx2.Response:
        """Call a tool."""
        meta = {
            "io.modelcontextprotocol/protocolVersion": _REVISION,
            "io.modelcontextprotocol/clientInfo": {"name": self._name, "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        headers = {
            "MCP-Protocol-Version": _REVISION,
            "Mcp-Method": "tools/call",
            "Mcp-Name": tool,
            "Accept": "application/json, text/event-stream",
            "Authorization": f"Bearer {self._token}",
        }
        params = {"name": tool, "arguments": arguments, "_meta": meta}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        return self._http.post("/api/mcp", json=body, headers=headers)

    def filed(self, tool: str, **arguments: Any) -> str:
        """Call a drafting tool and confirm it as the person would; return the filed entry of the review queue."""
        shown = self._told(tool, **arguments)
        return str(self._told(tool, **arguments, confirmation=shown["confirmation"])["entry_id"])

    def _told(self, tool: str, **arguments: Any) -> dict[str, Any]:
        answer = self.call(tool, **arguments)
        answer.raise_for_status()
        told: dict[str, Any] = answer.json()["result"]["structuredContent"]
        return told
