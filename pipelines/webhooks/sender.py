"""Posts one message to a receiver on the internet: signed (Standard Webhooks), once, with bounds on time and place.

The host's addresses must all be public, and the connection goes to one that was looked at (`pipelines.outside`). No
redirect is followed and no proxy used, and nothing of the answer is read but its status.
"""

import ssl
from datetime import datetime
from typing import Final, NamedTuple, Self
from urllib.parse import SplitResult, urlsplit

import anyio
import httpx2
from standardwebhooks import Webhook

from pipelines.outside import Address, Unreachable, is_public, place_of, resolved
from pipelines.webhooks import secrets
from warehouse.sealing import Seal
from warehouse.settings import Settings

ANSWER_SECONDS: Final = 10.0
"""How long the receiver may take, from its name's resolution to the answer's status."""
_PORTS: Final = {"https": 443, "http": 80}
GONE: Final = 410


class Notice(NamedTuple):
    """What is sent: `id` is the same at every attempt, and each of the secrets signs."""

    url: str
    id: str
    body: str
    secrets: tuple[bytes, ...]


class Outcome(NamedTuple):
    """What came of an attempt: the answer's status, and why it counts as failed."""

    status: int | None
    fault: str | None


class Sender:
    """Sends messages for a deployment."""

    def __init__(self, seal: Seal, *, to_loopback: bool = False, trust: ssl.SSLContext | None = None) -> None:
        """`trust` are the certificates to trust, else those of the system."""
        self.seal, self.to_loopback, self._trust = seal, to_loopback, trust or ssl.create_default_context()

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Return the sender of the settings."""
        return cls(secrets.seal_of(settings), to_loopback=settings.webhooks_to_loopback)

    def may_reach(self, address: Address) -> bool:
        """Return whether messages may go to an address."""
        return is_public(address) or (self.to_loopback and address.is_loopback)

    async def send(self, message: Notice, now: datetime) -> Outcome:
        """Send a message once; never raise for what the other side does."""
        url = urlsplit(message.url)
        try:
            with anyio.fail_after(ANSWER_SECONDS):
                port = url.port or _PORTS[url.scheme]
                address = await resolved(url.hostname or "", port, self.may_reach)
                status = await self._post(url, address, port, message, now)
        except Unreachable:
            return Outcome(None, "no_public_address")
        except TimeoutError:
            return Outcome(None, "no_answer")
        except (OSError, UnicodeError, ValueError, httpx2.HTTPError, httpx2.InvalidURL):
            return Outcome(None, "no_connection")
        return Outcome(status, None if 200 <= status < 300 else "not_taken")

    async def _post(self, url: SplitResult, address: Address, port: int, message: Notice, now: datetime) -> int:
        target = f"{url.scheme}://{place_of(address)}:{port}{url.path or '/'}" + (f"?{url.query}" if url.query else "")
        headers = {"Host": url.netloc, "Content-Type": "application/json", **signed(message, now)}
        named = {"sni_hostname": url.hostname} if url.scheme == "https" else {}
        async with (
            httpx2.AsyncClient(verify=self._trust, trust_env=False, follow_redirects=False, timeout=None) as client,
            client.stream("POST", target, content=message.body, headers=headers, extensions=named) as answer,
        ):
            return answer.status_code


def signed(message: Notice, now: datetime) -> dict[str, str]:
    """Return the headers that identify and sign a message."""
    signatures = [Webhook(secret).sign(message.id, now, message.body) for secret in message.secrets]
    return {
        "webhook-id": message.id,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": " ".join(signatures),
        "User-Agent": "pcds-webhooks/1",
    }
