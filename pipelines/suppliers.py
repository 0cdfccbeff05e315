"""Sends the mails that are due, one after the other, and tries again what the server did not take.

No transaction is open while the server is asked. Where a process dies between the server's answer and the record of it,
another sends a supplier's mail again, with the same Message-ID; a mail to a person of the company is never sent twice.
"""

import io
import smtplib
import ssl
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from datetime import UTC, date, datetime, time, timedelta
from email.headerregistry import Address
from email.message import EmailMessage
from pathlib import Path
from typing import Final, NamedTuple, Self
from urllib.parse import SplitResult, unquote, urlsplit
from uuid import UUID, uuid4

import structlog
from uuid_utils import uuid7
from xlsxwriter.utility import xl_col_to_name

from pipelines.filings import due_mail
from pipelines.operate import Proceed
from pipelines.reading.values import EMPTY_LIST
from pipelines.writing.workbooks import Cell, Sheet, Workbook
from schemas.actors import Actor, Origin
from schemas.fields import Field
from schemas.json_values import JsonObject
from schemas.messages import Message, day, header, plain, translate, word
from schemas.suppliers import CELLS, MailText, SupplierEnquiryDetail, SupplierEnquiryItem, answer_of
from schemas.texts import as_cell
from schemas.vocabularies import VOCABULARIES
from warehouse import enquiries, supplier_mails, suppliers
from warehouse.accounts import people
from warehouse.accounts.keys import digest
from warehouse.audit import ledger
from warehouse.companies.queries import account_of, every_company, find_company
from warehouse.enquiries import Lapsed, Row
from warehouse.figures.stored import current
from warehouse.operate.clock import Clock
from warehouse.operate.sessions import Connection, Pool
from warehouse.operate.settings import Settings
from warehouse.supplier_mails import Mail
from warehouse.suppliers import EnquiryLinks

_SECONDS: Final = 20.0
"""How long one step of the conversation may be silent."""
_WHOLE_SECONDS: Final = 120.0
"""How long all of it may take: a server that sends a byte at a time is never silent."""
_PORTS: Final = {"smtp": 587, "smtps": 465}
_PERMANENT: Final = 500
"""From this code on, repeating the same mail has no use (RFC 5321, section 4.2.1)."""


WORKBOOK_TYPE: Final = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
WORKBOOK_NAME: Final = "packaging.xlsx"
"""How the workbook that goes with a mail is called."""


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
    def from_settings(cls, settings: Settings) -> Self | None:
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


def workbook(rows: Sequence[Row], lang: str) -> bytes:
    """Write the table of an enquiry, a line for each row: what is filled in, else what is known of its parts."""
    target, titles = io.BytesIO(), list(workbook_headers(lang))
    fields = [None, None, None, None, Field("confirmed", "truth", ""), *(cell.field for cell in CELLS)]
    with Workbook(target, {"in_memory": True}) as book:
        sheet, lists = Sheet(book, "1", titles, frozen_columns=2), book.add_worksheet("2")
        lists.hide()
        for at, (title, field) in enumerate(zip(titles, fields, strict=True)):
            sheet.worksheet.set_column(at, at, max(12, len(title) + 2))
            if field is not None and (words := _words(field, lang)):
                lists.write_column(0, at, words)
                letters = xl_col_to_name(at, col_abs=True)
                source = f"='2'!{letters}$1:{letters}${len(words)}"
                rule = {"validate": "list", "source": source, "show_error": field.kind != "codes"}
                sheet.worksheet.data_validation(1, at, max(1, len(rows)), at, rule)
        for row in rows:
            answer = row.answer if row.answer is not None else answer_of(row.part)
            confirmed = word("truth", "true", lang) if row.is_confirmed else None
            article = as_cell(row.article) if row.article else None
            answered = (_cell(value_at(answer, cell.path), cell.field, lang) for cell in CELLS)
            sheet.add(enumerate([row.number, part_title(row.part, lang), row.parts, article, confirmed, *answered]))
    return target.getvalue()


def workbook_headers(lang: str) -> dict[str, str]:
    """Return what each column of the workbook is, by its title in a language: number, confirmed, or a path."""
    fixed = {
        "number": Message("Row"),
        "part": Message("Part"),
        "parts": Message("Number of parts"),
        "article": Message("Your article number"),
        "confirmed": Message("Confirmed"),
    }
    own = {translate(title, lang): name for name, title in fixed.items()}
    return own | {header("component", cell.name, lang) + unit_shown(cell.field): cell.path for cell in CELLS}


_UNITS: Final = {"percent": "%", "um": "µm", "g/cm3": "g/cm³"}
"""Units as they are shown, where that differs from their name."""


def unit_shown(field: Field) -> str:
    """Return the unit behind a title, in brackets; nothing where there is none."""
    return f" ({_UNITS.get(field.unit, field.unit)})" if field.unit else ""


def part_title(part: Mapping[str, object], lang: str) -> str:
    """Return a part in words: its type, and in brackets its material and weight, as the record has them."""
    polymer, weight = part.get("polymer_or_grade"), part.get("weight_g")
    material = polymer or word("material_family", str(part.get("material_family") or ""), lang)
    details = [str(material), *([f"{plain(float(str(weight)), lang)} g"] if weight is not None else [])]
    return f"{word('component_type', str(part['component_type']), lang)} ({', '.join(filter(None, details))})"


def value_at(answer: Mapping[str, object], path: str) -> object:
    """Return the value at a path of an answer, such as `substances.pfas.status`; None where there is none."""
    value: object = answer
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _cell(value: object, field: Field, lang: str) -> Cell:
    match value:
        case None:
            return None
        case bool():
            return word("truth", "true" if value else "false", lang)
        case int() | float():
            return value
        case list():
            return "; ".join(word(field.vocabulary or "", code, lang) for code in value) or EMPTY_LIST
    return word(field.vocabulary, str(value), lang) if field.vocabulary else as_cell(str(value))


def _words(field: Field, lang: str) -> list[str]:
    if field.kind == "truth":
        return [word("truth", "true", lang), word("truth", "false", lang)]
    return [word(field.vocabulary, code, lang) for code in VOCABULARIES[field.vocabulary]] if field.vocabulary else []


LISTED_ITEMS: Final = 20
"""Most items that a mail names; the page behind the link has all."""
WAITS_FOR_SUPPLIER: Final = ("open", "rejected")


def write(
    kind: str,
    enquiry: SupplierEnquiryDetail,
    company: str,
    address: str,
    now: datetime,
    *,
    articles: Mapping[UUID, str],
) -> MailText | None:
    """Return the mail of a kind (asked, reminder or rejected) from a company; None where it is not needed any more.

    `articles` are the supplier's numbers of the parts, by item. The mail is not needed where the enquiry has
    ended or no item waits for the supplier.
    """
    wanted = ("rejected",) if kind == "rejected" else WAITS_FOR_SUPPLIER
    items = [item for item in enquiry["items"] if item["state"] in wanted]
    if not items or enquiry["withdrawn_at"] is not None or enquiry["expires_at"] <= now:
        return None
    lang, due_on = enquiry["language"], enquiry["due_on"]
    subject, beginning = _beginning(kind, company, len(items))
    paragraphs: list[str] = [beginning]
    if enquiry["message"] and kind != "rejected":
        paragraphs.append(enquiry["message"])
    paragraphs += [
        _list_of(items, articles, lang),
        Message("Answer at this link; no account is needed: {address}", address=f"{address}?lang={lang}"),
    ]
    if due_on is not None and due_on < now.date():
        paragraphs.append(Message("An answer was asked for by {day}.", day=day(due_on, lang)))
    elif due_on is not None:
        paragraphs.append(Message("Please answer by {day}.", day=day(due_on, lang)))
    last_day = day((enquiry["expires_at"] - timedelta(days=1)).date(), lang)
    paragraphs.append(Message("The link works until {day} (UTC). Whoever has it can answer for you.", day=last_day))
    texts = [translate(paragraph, lang) if isinstance(paragraph, Message) else paragraph for paragraph in paragraphs]
    return {"subject": translate(subject, lang), "text": "\n\n".join(texts) + "\n"}


def _beginning(kind: str, company: str, count: int) -> tuple[Message, Message]:
    """Return the subject and the first paragraph of a mail about so many items."""
    match kind:
        case "asked":
            return Message("{company} asks for packaging data", company=company), Message(
                "{company} asks you for data on packaging that you supply: materials, weights, recycled content and "
                "substances. Items: {count}. Regulation (EU) 2025/40 asks {company} to know them.",
                company=company,
                count=count,
            )
        case "reminder":
            return Message("Reminder: {company} waits for packaging data", company=company), Message(
                "{company} waits for your data on packaging. Items without an answer: {count}.",
                company=company,
                count=count,
            )
    return Message("{company} needs packaging data corrected", company=company), Message(
        "{company} could not use your answer. Items to correct: {count}.", company=company, count=count
    )


def _list_of(items: Sequence[SupplierEnquiryItem], articles: Mapping[UUID, str], lang: str) -> str:
    lines = [
        f"- {item['sku_code']}: {item['name']}"
        + (f" ({articles[item['id']]})" if item["id"] in articles else "")
        + (f"\n  {item['note']}" if item["note"] else "")
        for item in items[:LISTED_ITEMS]
    ]
    if len(items) > LISTED_ITEMS:
        lines.append(translate(Message("… and {count} more", count=len(items) - LISTED_ITEMS), lang))
    return "\n".join(lines)


TRIES_AFTER: Final = tuple(timedelta(minutes=minutes) for minutes in (1, 5, 30, 120, 720))
"""How long after each failed try the next one is; after the last the mail has failed."""

log = structlog.get_logger(__name__)


class Post(NamedTuple):
    """What sending needs: the mail server, the addresses that mails name, and where the figures are."""

    server: MailServer
    links: EnquiryLinks
    base_url: str
    data_dir: Path

    @classmethod
    def from_settings(cls, settings: Settings) -> Self | None:
        """Return what the settings name; None where nothing is mailed."""
        server = MailServer.from_settings(settings)
        return None if server is None else cls(server, EnquiryLinks(settings), settings.base_url, settings.data_dir)


def send_due(pool: Pool, company_id: UUID, post: Post, clock: Clock, proceed: Proceed) -> Counter[str]:
    """Send a company's due mails; return how many had which outcome: sent, not_needed, tried or failed.

    Raise `Refused` where this process has another key than the deployment: its links would open nothing.
    """
    with pool.company(company_id) as conn:
        post.links.check(conn)
    outcomes: Counter[str] = Counter()
    with pool.turn(supplier_mails.turn_of(company_id)) as is_ours:
        while is_ours:
            proceed()
            with pool.company(company_id) as conn:
                mail = supplier_mails.next_due_mail(conn, clock.now())
                made = None if mail is None else _message(conn, company_id, mail, post, clock.now())
                if mail is not None and made is not None and mail.user_id is not None:
                    supplier_mails.mark_mail(conn, mail.id, "sending")
            if mail is None:
                break
            failed = None if made is None else _try(post, mail, made)
            with pool.company(company_id) as conn:
                outcomes[_recorded(conn, mail, failed, clock.now(), is_needed=made is not None)] += 1
    return outcomes


def _try(post: Post, mail: Mail, made: EmailMessage) -> NotSent | None:
    """Hand a mail to the server; return why it did not take it, if it did not."""
    try:
        post.server.send(made)
    except NotSent as failed:
        log.warning("mail.not_sent", mail_id=str(mail.id), fault=failed.fault)
        return failed
    return None


def _recorded(conn: Connection, mail: Mail, failed: NotSent | None, now: datetime, *, is_needed: bool) -> str:
    """Record what came of a mail; return that."""
    if failed is not None:
        supplier_mails.mark_mail(conn, mail.id, "waiting")
        if failed.is_final or mail.tries >= len(TRIES_AFTER):
            supplier_mails.end_mail(conn, mail.id, "failed", at=now, fault=failed.fault)
            return "failed"
        # where it takes none, hundreds of mails would wait for the same silence, one after the other
        delayed = None if failed.of_all else mail.id
        supplier_mails.delay_mail(conn, delayed, now, due_at=now + TRIES_AFTER[mail.tries], fault=failed.fault)
        return "tried"
    state = "sent" if is_needed else "not_needed"
    supplier_mails.end_mail(conn, mail.id, state, at=now)
    return state


def _message(conn: Connection, company_id: UUID, mail: Mail, post: Post, now: datetime) -> EmailMessage | None:
    """Return the mail as it is sent; None where it is not needed any more."""
    if mail.enquiry_id is None:
        assert mail.user_id is not None, "a mail is of an enquiry or of a person"
        address, figures = people.address_of(conn, mail.user_id), current(post.data_dir, company_id)
        company, _ = find_company(conn, company_id) or ("", "")
        written = due_mail(conn, figures, mail, company=company, base_url=post.base_url, now=now)
        if address is None or written is None:
            return None
        return message(post.server.sender, address, **written, mail_id=str(mail.id), reply_to=None)
    enquiry = suppliers.find_enquiry(conn, mail.enquiry_id, now)
    if enquiry is None or enquiry["supplier_email"] is None:
        return None
    sender = suppliers.sender_of(conn, mail.enquiry_id)
    address = post.links.address_of(conn, mail.enquiry_id)
    articles = suppliers.articles_of(conn, mail.enquiry_id)
    written = write(mail.kind, enquiry, sender.company_name, address, now, articles=articles)
    if written is None:
        return None
    reply_to = people.address_of(conn, sender.user_id) if sender.user_id else None
    made = message(post.server.sender, enquiry["supplier_email"], **written, mail_id=str(mail.id), reply_to=reply_to)
    if rows := enquiries.rows_of(conn, mail.enquiry_id):
        made.add_attachment(
            workbook(rows, enquiry["language"]),
            maintype="application",
            subtype=WORKBOOK_TYPE.partition("/")[2],
            filename=WORKBOOK_NAME,
        )
    return made


_REMINDER_HOUR: Final = time(7)
REMINDED_AFTER: Final = timedelta(days=1)
"""How long after a mail a person can have the next reminder mailed."""
MAILS_A_DAY: Final = 500
"""From this many mails stored in 24 hours on, a company asks and reminds nobody by mail: nobody's spam is sent here."""
_ANSWERED_WITHIN: Final = timedelta(days=60)
_ENDS_AFTER: Final = timedelta(days=30)
"""How long a supplier has to answer who is asked again, and how long the link works after that."""


def has_mailed_enough(conn: Connection, now: datetime) -> bool:
    """Return whether the company may have no more mails sent within 24 hours."""
    return supplier_mails.count_mails(conn, now - timedelta(days=1)) >= MAILS_A_DAY


def is_mailed(conn: Connection, actor: Actor, address: str | None, links: EnquiryLinks) -> bool:
    """Return whether an enquiry to an address is mailed: this program mails, and the company is no sandbox."""
    return bool(links.mailing and address) and account_of(conn, actor.company_id) is None


def item_token(enquiry_token: str, request_id: UUID) -> str:
    """Return the token of one item of an enquiry: an HMAC of its id with the enquiry's token as the key.

    So the page of the enquiry, which knows its own token from the address, can show the links, and nothing that is
    stored can; an item's token leads to no other item and not to the enquiry.
    """
    return suppliers.derived_token(enquiry_token.encode(), request_id)


def add_enquiry(
    conn: Connection,
    actor: Actor,
    enquiry: JsonObject,
    sku_codes: Sequence[str],
    links: EnquiryLinks,
    *,
    mailing: bool,
) -> UUID:
    """Store an enquiry with its rows, its items with their tokens, and an entry in the ledger for each; return its id.

    `enquiry` has its other columns, and the `last_day` of its links. With `mailing` it is mailed now, and on its
    `reminder_days`, counted from its `due_on`, where it has one; mails that prove needless are not sent.
    """
    enquiry_id, name = UUID(str(uuid7())), enquiry["supplier_name"]
    token = links.new_token(conn, enquiry_id)
    expires_at = datetime.combine(enquiry["last_day"] + timedelta(days=1), time(), UTC)
    row = enquiry | {"id": enquiry_id, "company_id": actor.company_id, "expires_at": expires_at, "at": actor.now}
    suppliers.add_enquiry(conn, row, token)
    after = {"supplier_name": name, "sku_codes": list(sku_codes), "expires_at": expires_at}
    ledger.enter(conn, actor, "supplier_enquiry.created", enquiry_id, before=None, after=after)
    items = enquiries.add_rows(conn, actor.company_id, enquiry_id, codes=sku_codes, supplier_name=name)
    made = [(UUID(str(uuid7())), item) for item in items]
    digests = [(request_id, digest(item_token(token, request_id)), item) for request_id, item in made]
    enquiries.add_items(conn, row | {"enquiry_id": enquiry_id}, digests)
    asked = {"supplier_name": name, "enquiry_id": enquiry_id}
    entered = [
        (request_id, None, {"sku_id": item.sku_id, "component_ids": item.component_ids, **asked})
        for request_id, item in made
    ]
    ledger.enter_many(conn, actor, "supplier_request.created", entered)
    if mailing:
        supplier_mails.add_mail(conn, actor.company_id, enquiry_id, "asked", due_at=actor.now, at=actor.now)
    for days in sorted(set(enquiry["reminder_days"])) if mailing and enquiry["due_on"] else ():
        at = datetime.combine(enquiry["due_on"] + timedelta(days=days), _REMINDER_HOUR, UTC)
        if at > actor.now + REMINDED_AFTER:
            supplier_mails.add_mail(conn, actor.company_id, enquiry_id, "reminder", due_at=at, at=actor.now)
    return enquiry_id


def note_changes(conn: Connection, enquiry_id: UUID, lapsed: Sequence[Lapsed], lang: str) -> None:
    """Say at each row of an enquiry which facts of its parts have changed since the last answer, in a language."""
    sentences = {
        line_id: translate(
            Message(
                "Changed since your last answer: {facts}.",
                facts=", ".join(header("component", name, lang) for name in fields),
            ),
            lang,
        )
        for item in lapsed
        for line_id, fields in item.changed.items()
    }
    enquiries.note_parts(conn, enquiry_id, sentences)


def ask_again(pool: Pool, settings: Settings, clock: Clock, proceed: Proceed) -> int:
    """Ask suppliers again whose answers hold no longer, where their enquiry is to be; return how many were made.

    Whoever does not answer is asked again once in the time for which an answer holds (`enquiries.lapsed`).
    """
    made, links = 0, EnquiryLinks(settings)
    for company_id in every_company(pool):
        proceed()
        with pool.company(company_id) as conn:
            wanted = [each.id for each in enquiries.lapsed_enquiries(conn, clock.now()) if each.asks_again]
        for enquiry_id in wanted:
            origin = Origin("system", None, "enquiries", correlation_id=str(uuid4()))
            with pool.company(company_id) as conn:
                made += _asked_again(conn, Actor(company_id, origin, clock.now()), enquiry_id, links)
    return made


def _asked_again(conn: Connection, actor: Actor, enquiry_id: UUID, links: EnquiryLinks) -> bool:
    """Ask about the SKUs of an enquiry whose answers hold no longer; False where that has become needless."""
    before = suppliers.find_enquiry(conn, enquiry_id, actor.now, locking=True, limit=1)
    lapsed = [item for item in enquiries.lapsed(conn, actor.now, enquiry_id) if item.asks_again]
    if before is None or not lapsed or has_mailed_enough(conn, actor.now):
        return False
    lang, name, email = before["language"], before["supplier_name"], before["supplier_email"]
    codes = list(enquiries.askable(conn, [item.sku_code for item in lapsed], name))
    if not codes:
        return False
    terms = enquiries.terms_of(conn, enquiry_id)
    due_on = due_again(before, actor.today)
    row = terms._asdict() | {
        "supplier_name": name,
        "supplier_email": email,
        "language": lang,
        "message": _why_again(lapsed, terms.valid_months, before["message"] or "", lang),
        "due_on": due_on,
        "last_day": due_on + _ENDS_AFTER,
    }
    made_id = add_enquiry(conn, actor, row, codes, links, mailing=is_mailed(conn, actor, email, links))
    note_changes(conn, made_id, lapsed, lang)
    return True


def due_again(before: SupplierEnquiryDetail, today: date) -> date:
    """Return by when a supplier who is asked again answers: after as many days as the last time, else after 60."""
    within = before["due_on"] - before["created_at"].date() if before["due_on"] else None
    return today + (within or _ANSWERED_WITHIN)


def _why_again(lapsed: Sequence[Lapsed], months: int, message: str, lang: str) -> str:
    """Return why a supplier is asked again, before what the company said the last time, without the reasons of then."""
    changed = Message("Parts have changed since your last answer; their rows say what. Please answer for them again.")
    old = Message(
        "Your last answer is more than {months} months old. Please confirm what is still so, and correct the rest.",
        months=months,
    )
    reasons = {translate(changed, lang): any(item.changed for item in lapsed)}
    reasons[translate(old, lang)] = any(item.is_old for item in lapsed)
    for reason in reasons:
        message = message.replace(reason, "").strip()
    return "\n\n".join(filter(None, [*(reason for reason, is_so in reasons.items() if is_so), message]))
