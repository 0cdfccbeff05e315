"""A person with a browser window, and what its browser complains of: foreign requests, faults, refused content."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from playwright.sync_api import BrowserContext, ConsoleMessage, Page, Request

from tests.waiting import PATIENCE_SECONDS
from tools.browser.company import Company

LetIn = Callable[..., Page]


@dataclass(frozen=True)
class Shop:
    """Where the pages of a company are, and the cookies of somebody who is signed in there."""

    service: str
    paths: dict[str, str]
    signed_in: dict[str, Any]


@dataclass(frozen=True)
class Desk:
    """A company at work, and its administrator with the cookies of a sign-in."""

    company: Company
    email: str
    signed_in: dict[str, Any]

    def find(self, code: str) -> list[dict[str, Any]]:
        """The item of this code, where there is one."""
        return [item for item in self.company.get("/skus", q=code) if item["sku_code"] == code]


@dataclass
class Visitor:
    """One window. `home` is the service, the one address that it may speak to."""

    context: BrowserContext
    home: str
    faults: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.home = self.home.rstrip("/") + "/"
        self.context.set_default_timeout(1_000 * PATIENCE_SECONDS)
        self.page = self.context.new_page()
        self.page.on("request", self._asked)
        self.page.on("console", self._said)
        self.page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))

    def left(self) -> list[str]:
        """Close the window; what it met."""
        self.context.close()
        return self.faults

    def _asked(self, request: Request) -> None:
        """An assistant's own redirect address is where the person wanted to go."""
        if not request.url.startswith(self.home) and "/callback?" not in request.url:
            self.faults.append(f"asked for {request.url}")

    def _said(self, message: ConsoleMessage) -> None:
        """What the content security policy refuses is told here too. A page that refuses has its status for it."""
        if message.type in ("error", "warning") and "status of 4" not in message.text:
            self.faults.append(f"{message.type}: {message.text}")
