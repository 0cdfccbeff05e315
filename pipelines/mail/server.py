"""Hands a mail to the mail server of `PCDS_SMTP_URL` (RFC 5321), and says why that failed.

What belongs here: the connection and its faults as codes. What does not: texts, and when a mail is tried again.
"""

import smtplib
import ssl
import threading
from concurrent.futures import Future
from email.headerregistry import Address
from email.message import EmailMessage
from typing import Final, Self
from urllib.parse import SplitResult, unquote, urlsplit

from warehouse.settings import Settings

_SECONDS: Final = 20.0
"""How long one step of the conversation may be silent."""
_WHOLE_SECONDS: Final = 120.0
"""How long all of it may take: a server that sends a byte at a time is never silent."""
_PORTS: Final = {"smtp": 587, "smtps": 465}
_PERMANENT: Final = 500
"""From this code on, repeating the same mail has no use (RFC 5321, section 4.2.1)."""


class NotSent(Exception):  # noqa: N818  (an outcome of a try)
    """The server did not take the mail; `is_final` where it never will, `of_all` where it takes no other either."""

    def __init__(self, fault: str, *, is_final: bool = False, of_all: bool = False) -> None:
        """`fault` is a code that is stored and shown."""
        super().__init__(fault)
        self.fault, self.is_final, self.of_all = fault, is_final, of_all


class MailServer:
    """The operator's mail server."""

    def __init__(self, url: str, sender: str) -> None:
        """`url` is as `Settings.smtp_url`, `sender` as `Settings.mail_from`."""
        self._url: SplitResult = urlsplit(url)
        self.sender = sender

    @classmethod
    def of(cls, settings: Settings) -> Self | None:
        """Return the server of the settings; None where mails are not sent."""
        return None if settings.smtp_url is None else cls(settings.smtp_url.get_secret_value(), settings.mail_from)

    def send(self, mail: EmailMessage) -> None:
        """Hand over a mail. Raise `NotSent`, also where the conversation is left because it takes too long."""
        outcome: Future[None] = Future()

        def settle() -> None:
            try:
                self._send(mail)
                outcome.set_result(None)
            except BaseException as error:
                outcome.set_exception(error)

        threading.Thread(target=settle, name="mail", daemon=True).start()
        try:
            outcome.result(_WHOLE_SECONDS)
        except TimeoutError:
            raise NotSent("server_unreachable", of_all=True) from None

    def _send(self, mail: EmailMessage) -> None:
        try:
            with self._connected() as connection:
                connection.send_message(mail)
        except smtplib.SMTPRecipientsRefused as refused:
            codes = [code for code, _ in refused.recipients.values()]
            raise NotSent("recipient_refused", is_final=min(codes) >= _PERMANENT) from None
        except smtplib.SMTPAuthenticationError:
            raise NotSent("sign_in_refused", of_all=True) from None
        except smtplib.SMTPNotSupportedError:
            raise NotSent("not_encrypted", of_all=True) from None
        except smtplib.SMTPResponseException as refused:
            raise NotSent("mail_refused", is_final=refused.smtp_code >= _PERMANENT) from None
        except ssl.SSLError:
            raise NotSent("not_encrypted", of_all=True) from None
        except (OSError, smtplib.SMTPException):
            raise NotSent("server_unreachable", of_all=True) from None

    def _connected(self) -> smtplib.SMTP:
        """Return a connection that is encrypted where the server can, and always before a password is sent."""
        url, context = self._url, ssl.create_default_context()
        host, port = url.hostname or "", url.port or _PORTS[url.scheme]
        if url.scheme == "smtps":
            connection: smtplib.SMTP = smtplib.SMTP_SSL(host, port, timeout=_SECONDS, context=context)
        else:
            connection = smtplib.SMTP(host, port, timeout=_SECONDS)
        try:
            if url.scheme == "smtp" and self._can_encrypt(connection):
                connection.starttls(context=context)
            if url.username is not None:
                connection.login(unquote(url.username), unquote(url.password or ""))
        except BaseException:
            connection.close()
            raise
        return connection

    def _can_encrypt(self, connection: smtplib.SMTP) -> bool:
        """Return whether the server offers STARTTLS; raise where a password would be sent without it."""
        connection.ehlo_or_helo_if_needed()
        if not connection.has_extn("starttls") and self._url.username is not None:
            raise smtplib.SMTPNotSupportedError("STARTTLS is not offered.")
        return connection.has_extn("starttls")


def message(sender: str, to: str, subject: str, text: str, *, mail_id: str, reply_to: str | None) -> EmailMessage:
    """Return a mail in plain text; its Message-ID is the same at every try, so that a repeat is recognised."""
    mail = EmailMessage()
    mail["From"], mail["Subject"] = sender, " ".join(subject.split())
    mail["To"] = Address(addr_spec=to)
    if reply_to is not None:
        mail["Reply-To"] = Address(addr_spec=reply_to)
    domain = mail["From"].addresses[0].domain or "localhost"
    mail["Message-ID"] = f"<{mail_id}@{domain}>"
    mail["Auto-Submitted"] = "auto-generated"  # RFC 3834: no automatic answers, please
    mail.set_content(text, cte="quoted-printable")
    return mail
