"""A real mail server on a port of its own, which keeps what it takes and refuses what a test wants."""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, Envelope, LoginPassword

from tests.waiting import PATIENCE_SECONDS
from tools.ports import free_port


@dataclass
class Mailbox:
    """What the server took, and what it says to the next mails."""

    port: int
    mails: list[EmailMessage] = field(default_factory=list)
    recipients: list[list[str]] = field(default_factory=list)
    says: str = "250 OK"
    """The answer to each mail."""
    says_to_recipient: str = "250 OK"
    sign_in: tuple[bytes, bytes] | None = None

    async def handle_RCPT(self, server: Any, session: Any, envelope: Envelope, address: str, options: Any) -> str:  # noqa: ARG002, N802  (aiosmtpd's)
        """Take or refuse a recipient, as aiosmtpd asks."""
        if self.says_to_recipient.startswith("250"):
            envelope.rcpt_tos.append(address)
        return self.says_to_recipient

    async def handle_DATA(self, server: Any, session: Any, envelope: Envelope) -> str:  # noqa: ARG002, N802  (aiosmtpd's)
        """Take or refuse a mail."""
        if self.says.startswith("250"):
            self.mails.append(message_from_bytes(envelope.content or b"", policy=policy.default))  # type: ignore[arg-type]
            self.recipients.append(envelope.rcpt_tos)
        return self.says

    def authenticate(self, server: Any, session: Any, envelope: Any, mechanism: str, data: Any) -> AuthResult:  # noqa: ARG002
        """Let in who knows name and password."""
        known = isinstance(data, LoginPassword) and (data.login, data.password) == self.sign_in
        return AuthResult(success=known, handled=False)

    @property
    def url(self) -> str:
        return f"smtp://127.0.0.1:{self.port}"


@contextmanager
def opened(**more: Any) -> Iterator[Mailbox]:
    """A server until the block ends; `more` is for aiosmtpd, as a certificate."""
    mailbox = Mailbox(free_port())
    context: ssl.SSLContext | None = more.pop("tls_context", None)
    controller = Controller(
        mailbox,
        hostname="127.0.0.1",
        port=mailbox.port,
        tls_context=context,
        authenticator=mailbox.authenticate,
        ready_timeout=PATIENCE_SECONDS,
        **more,
    )
    controller.start()
    try:
        yield mailbox
    finally:
        controller.stop()
