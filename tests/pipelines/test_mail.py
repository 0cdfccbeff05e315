"""Mails to suppliers, by the sensor and its runs, to a real mail server: what is sent when, and what is not."""

import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, datetime, timedelta
from email.message import EmailMessage
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from pipelines import suppliers
from pipelines.definitions import defs
from pipelines.defs.sensors import due_companies
from pipelines.engine.runs import partition_of
from pipelines.suppliers import TRIES_AFTER, MailServer, NotSent, Post, message, send_due
from schemas.actors import Actor, Origin
from schemas.messages import day
from schemas.refusals import Refused
from schemas.suppliers import SupplierEnquiryInput
from services import suppliers as operations
from services.review import decide as decide_review
from services.skus.write import write_records
from tests import mailbox, sweeping
from tests.keys import with_keys
from tests.mailbox import Mailbox
from tests.pipelines.conftest import ORIGIN, Desk
from tests.pipelines.sensing import follow, requested_by, tick
from tools.ports import free_port
from warehouse import enquiries
from warehouse import suppliers as suppliers_table
from warehouse.accounts import people
from warehouse.operate.settings import Settings
from warehouse.rules import Rulesets
from warehouse.suppliers import EnquiryLinks

database, pool = sweeping.database, sweeping.pool
PARTS = [{"component_type": "body", "material_family": "plastic", "polymer_or_grade": "PET", "weight_g": 20.0}]


@pytest.fixture
def post() -> Iterator[Mailbox]:
    with mailbox.opened() as opened:
        yield opened


class Asker:
    """A company that asks by mail, and the daemon that sends."""

    def __init__(self, desk: Desk, folder: Path, post: Mailbox | None) -> None:
        self.settings = with_keys(
            Settings.load(
                data_dir=folder, smtp_url=post.url if post else None, mail_from="Marque <daten@marque.example>"
            )
        )
        self.desk, self.links = desk, EnquiryLinks(self.settings)
        self.resources = desk.resources._replace(settings=self.settings)

    def ask(self, *codes: str, origin: Origin = ORIGIN, asks_again: bool = False, **fields: Any) -> UUID:
        body = {"supplier_name": "Préformes", "sku_codes": list(codes), "supplier_email": "quality@preformes.example"}
        with self.desk.pool.company(self.desk.company) as conn:
            for code in codes:
                record = {"sku_code": code, "name": f"Bottle {code}", "components": PARTS}
                write_records(
                    conn,
                    Actor(self.desk.company, ORIGIN, self.desk.clock.now()),
                    {0: record},
                    rulesets=Rulesets(),
                    dry_run=False,
                )
            sent = SupplierEnquiryInput.model_validate(body | fields)
            actor = Actor(self.desk.company, origin, self.desk.clock.now())
            asked = operations.create_enquiry(conn, actor, sent, self.links, asks_again=asks_again)
        assert asked.enquiry is not None
        return asked.enquiry["id"]

    def answer(self, enquiry: UUID, number: int, *, reject: str | None = None) -> None:
        """Answer an item as its supplier does, and accept or reject that."""
        actor, rulesets = Actor(self.desk.company, ORIGIN, self.desk.clock.now()), Rulesets()
        with self.desk.pool.company(self.desk.company) as conn:
            item = operations.load_enquiry(conn, enquiry, actor.now)["items"][number]
            response = {"components": [{"weight_g": 21.0}], "consent": True}
            entry = operations.submit(conn, actor, item["id"], response, rulesets=rulesets)  # type: ignore[arg-type]
            if reject is None:
                decide_review.accept(conn, actor, entry.id, rulesets=rulesets)
            else:
                decide_review.reject(conn, actor, entry.id, rulesets=rulesets, note=reject)

    def ask_again(self) -> int:
        """Let the daily step look; how many enquiries it made."""
        before = self.count()
        suppliers.ask_again(self.desk.pool, self.settings, self.desk.clock, lambda: None)
        return self.count() - before

    def count(self) -> int:
        with self.desk.pool.company(self.desk.company) as conn:
            return suppliers_table.enquiries_page(self.desk.clock.now(), 1, 0).read(conn)["pagination"]["total"]

    def stages(self) -> list[str]:
        """How far each enquiry is, the newest first."""
        now = self.desk.clock.now()
        with self.desk.pool.company(self.desk.company) as conn:
            stale = {each.id for each in enquiries.lapsed_enquiries(conn, now) if each.old}
            return [stage.stage for stage in enquiries.stages(conn, now, stale)]

    def send(self, later: timedelta = timedelta(0)) -> int:
        """Let the time pass and the daemon look; how many runs it had."""
        self.desk.clock.advance(later)
        runs = follow(
            due_companies, self.desk.instance, self.resources, only=requested_by(self.desk.company, "send_mails")
        )
        assert all(run.success for run in runs)
        return len(runs)

    def post(self) -> Post:
        made = Post.from_settings(self.settings)
        assert made is not None
        return made

    def states(self, enquiry: UUID) -> list[tuple[str, str, str | None]]:
        with self.desk.pool.company(self.desk.company) as conn:
            return conn.execute(
                "SELECT kind, state, fault FROM supplier_mails WHERE enquiry_id = %s ORDER BY due_at, id", [enquiry]
            ).fetchall()


@pytest.fixture
def asker(desk: Desk, tmp_path: Path, post: Mailbox) -> Asker:
    return Asker(desk, tmp_path, post)


def text(mail: EmailMessage) -> str:
    return str(mail.get_body().get_content()).replace("\r\n", "\n")


def test_the_supplier_is_asked_and_reminded_until_the_last_answer(desk: Desk, asker: Asker, post: Mailbox) -> None:
    today = desk.clock.now().date()
    due = today + timedelta(days=10)
    enquiry = asker.ask("MAIL-1", "MAIL-2", message="For our declaration", due_on=due.isoformat(), language="de")
    assert asker.send() == 1
    assert asker.send() == 0, "each mail goes once"
    [mail] = post.mails
    assert (mail["To"], mail["From"]) == ("quality@preformes.example", "Marque <daten@marque.example>")
    assert "Verpackungsdaten" in mail["Subject"]
    said = text(mail)
    assert "For our declaration" in said
    with desk.pool.company(desk.company) as conn:
        assert asker.links.address_of(conn, enquiry) + "?lang=de" in said
    assert "- MAIL-1: Bottle MAIL-1" in said
    assert f"Bitte antworten Sie bis zum {day(due, 'de')}." in said
    asker.answer(enquiry, 0)
    until_reminder = datetime.combine(due - timedelta(days=3), desk.clock.now().time().replace(hour=8)) - (
        desk.clock.now().replace(tzinfo=None)
    )
    assert asker.send(until_reminder) == 1
    said = text(post.mails[1])
    assert ("MAIL-1" in said, "MAIL-2" in said) == (False, True), "what is answered is not asked again"
    asker.answer(enquiry, 1)
    assert asker.send(timedelta(days=5)) == 1
    assert len(post.mails) == 2
    assert [state for _, state, _ in asker.states(enquiry)] == ["sent", "sent", "not_needed"]


def test_who_does_not_answer_again_is_reminded_on_the_days_chosen_and_asked_once_in_a_validity(
    desk: Desk, asker: Asker, post: Mailbox
) -> None:
    due = (desk.clock.now() + timedelta(days=20)).date().isoformat()
    chosen = {"due_on": due, "reminder_days": [-7, 2], "valid_months": 6, "language": "de"}
    first = asker.ask("AGAIN-1", message="Bitte!", asks_again=True, **chosen)
    asker.send()
    asker.answer(first, 0)
    assert asker.ask_again() == 0, "it holds"
    post.mails.clear()
    desk.clock.advance(timedelta(days=190))
    assert asker.ask_again() == 1
    assert asker.send() == 1
    [mail] = post.mails
    said = text(mail)
    assert (mail["To"], "Verpackungsdaten" in mail["Subject"]) == ("quality@preformes.example", True)
    assert "Ihre letzte Antwort ist mehr als 6 Monate alt." in said
    assert said.index("Monate alt") < said.index("Bitte!") < said.index("- AGAIN-1: Bottle AGAIN-1")
    assert [part.get_filename() for part in mail.iter_attachments()] == ["packaging.xlsx"]
    assert asker.stages() == ["asked", "accepted"]
    days = [0] * 30
    for each in range(30):
        assert asker.ask_again() == 0
        days[each] = asker.send(timedelta(days=1))
    assert [each + 1 for each, sent in enumerate(days) if sent] in ([13, 22], [14, 23]), "on the days that were chosen"
    assert [mail["Subject"].startswith("Erinnerung") for mail in post.mails] == [False, True, True]
    for _ in range(5):
        desk.clock.advance(timedelta(days=20))
        assert asker.ask_again() == 0, "once in the time for which an answer holds"
    assert asker.stages() == ["ended", "stale"]
    desk.clock.advance(timedelta(days=60))
    assert asker.ask_again() == 1
    assert asker.send() == 1
    with desk.pool.company(desk.company) as conn:
        newest = suppliers_table.enquiries_page(desk.clock.now(), 1, 0).read(conn)["data"][0]["id"]
    asker.answer(UUID(str(newest)), 0)
    assert (asker.ask_again(), asker.stages()) == (0, ["accepted", "ended", "accepted"])


def test_nobody_is_asked_again_by_itself_whose_new_link_a_person_has_withdrawn(desk: Desk, asker: Asker) -> None:
    first = asker.ask("AGAIN-2", valid_months=1, asks_again=True)
    asker.answer(first, 0)
    desk.clock.advance(timedelta(days=32))
    assert asker.ask_again() == 1
    with desk.pool.company(desk.company) as conn:
        newest = suppliers_table.enquiries_page(desk.clock.now(), 1, 0).read(conn)["data"][0]["id"]
        operations.withdraw(conn, Actor(desk.company, ORIGIN, desk.clock.now()), UUID(str(newest)))
    desk.clock.advance(timedelta(days=40))
    assert (asker.ask_again(), asker.stages()) == (0, ["ended", "stale"])
    with desk.pool.company(desk.company) as conn:
        again = operations.ask_again(conn, Actor(desk.company, ORIGIN, desk.clock.now()), first, asker.links)
    assert again.enquiry is not None, "a person still can"
    assert again.enquiry["due_on"] == desk.clock.now().date() + timedelta(days=60)


def test_one_mail_names_the_answers_that_were_rejected_and_why(asker: Asker, post: Mailbox) -> None:
    enquiry = asker.ask("MAIL-3", "MAIL-4", language="fr")
    asker.send()
    asker.answer(enquiry, 0, reject="Le poids est celui du carton.")
    asker.answer(enquiry, 1, reject="Unit missing")
    assert asker.send() == 0, "others may follow"
    assert asker.send(timedelta(minutes=6)) == 1
    said = text(post.mails[1])
    assert "Le poids est celui du carton." in said
    assert "Unit missing" in said
    assert "corriger" in said


def test_a_withdrawn_enquiry_is_not_mailed(desk: Desk, asker: Asker, post: Mailbox) -> None:
    enquiry = asker.ask("MAIL-5")
    with desk.pool.company(desk.company) as conn:
        operations.withdraw(conn, Actor(desk.company, ORIGIN, desk.clock.now()), enquiry)
    asker.send()
    assert post.mails == []
    assert asker.states(enquiry) == [("asked", "not_needed", None)]


def test_what_the_server_does_not_take_is_tried_again_and_given_up_in_the_end(asker: Asker, post: Mailbox) -> None:
    post.says = "451 Try again later"
    enquiry = asker.ask("MAIL-6")
    assert asker.send() == 1
    assert asker.states(enquiry) == [("asked", "waiting", "mail_refused")]
    assert asker.send() == 0, "not before its time"
    post.says = "250 OK"
    assert asker.send(TRIES_AFTER[0]) == 1
    assert asker.states(enquiry) == [("asked", "sent", None)]
    assert len(post.mails) == 1
    post.says_to_recipient = "550 No such mailbox"
    refused = asker.ask("MAIL-7")
    asker.send()
    assert asker.states(refused) == [("asked", "failed", "recipient_refused")]
    post.says_to_recipient = "450 Busy"
    busy = asker.ask("MAIL-8")
    for pause in (timedelta(0), *TRIES_AFTER):
        assert asker.states(busy)[0][1] == "waiting"
        asker.send(pause)
    assert asker.states(busy) == [("asked", "failed", "recipient_refused")]


def test_a_silent_server_postpones_every_due_mail_at_once(desk: Desk, tmp_path: Path, post: Mailbox) -> None:
    asker = Asker(desk, tmp_path, post)
    there, away = asker.resources, Settings.load(data_dir=tmp_path, smtp_url=f"smtp://127.0.0.1:{free_port()}")
    enquiries_asked = [asker.ask(f"MAIL-2{number}") for number in range(3)]
    asker.resources = there._replace(settings=away)
    assert asker.send() == 1
    assert [asker.states(each) for each in enquiries_asked] == [[("asked", "waiting", "server_unreachable")]] * 3
    assert asker.send() == 0, "none is due before its time"
    asker.resources = there
    assert asker.send(TRIES_AFTER[0]) == 1
    assert len(post.mails) == 3


def test_a_server_that_sends_a_byte_at_a_time_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is never silent for long, and would keep the run that sends for hours."""
    monkeypatch.setattr(suppliers, "_WHOLE_SECONDS", 1.0)
    mail = message("a@b.example", "c@d.example", "Hello", "Text", mail_id="1", reply_to=None)
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def drip() -> None:
            caller = listener.accept()[0]
            with caller, contextlib.suppress(OSError):
                while True:
                    caller.sendall(b"2")
                    time.sleep(0.1)

        threading.Thread(target=drip, daemon=True).start()
        begun = time.monotonic()
        with pytest.raises(NotSent, match="server_unreachable"):
            MailServer(f"smtp://127.0.0.1:{listener.getsockname()[1]}", "a@b.example").send(mail)
        assert time.monotonic() - begun < 5


def test_a_run_that_dies_after_the_server_took_a_mail_sends_it_again_under_the_same_id(
    desk: Desk, asker: Asker, post: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object, **__: object) -> None:
        raise OSError("killed")

    enquiry = asker.ask("MAIL-30")
    with monkeypatch.context() as patched:
        patched.setattr("pipelines.suppliers.supplier_mails.end_mail", die)
        runs = follow(due_companies, desk.instance, asker.resources, only=requested_by(desk.company, "send_mails"))
        assert [run.success for run in runs] == [False]
    assert asker.states(enquiry) == [("asked", "waiting", None)]
    owed = send_due(desk.pool, desk.company, asker.post(), desk.clock, lambda: None)
    assert (owed["sent"], len(post.mails)) == (1, 2)
    assert post.mails[0]["Message-ID"] == post.mails[1]["Message-ID"]


def test_a_person_reminds_once_a_day(desk: Desk, asker: Asker, post: Mailbox) -> None:
    enquiry = asker.ask("MAIL-40")
    reminded = []
    for pause in (timedelta(0), timedelta(hours=23), timedelta(hours=2)):
        asker.send(pause)
        for _ in range(2):
            with desk.pool.company(desk.company) as conn:
                actor = Actor(desk.company, ORIGIN, desk.clock.now())
                reminded.append(operations.remind(conn, actor, enquiry, asker.links).outcome)
    assert reminded == ["unchanged", "unchanged", "unchanged", "unchanged", "updated", "unchanged"]
    asker.send()
    assert ["Reminder: " in mail["Subject"] for mail in post.mails] == [False, True]


def test_answers_to_a_mail_go_to_the_person_who_asked(desk: Desk, asker: Asker, post: Mailbox) -> None:
    person, email = uuid4(), f"{uuid4()}@brand.example"
    with desk.pool.company(desk.company) as conn:
        people.add(conn, desk.company, person, email=email, password_hash="!", at=desk.clock.now(), role=None)
    asker.ask("MAIL-9", origin=replace(ORIGIN, actor_type="user", actor_id=str(person)))
    asker.send()
    assert post.mails[0]["Reply-To"] == email


def test_without_a_mail_server_nothing_waits(desk: Desk, tmp_path: Path) -> None:
    asker = Asker(desk, tmp_path, None)
    enquiry = asker.ask("MAIL-10")
    assert asker.states(enquiry) == []
    asked = tick(due_companies, desk.instance, asker.resources).run_requests or ()
    assert "send_mails" not in {request.job_name for request in asked}


def test_a_company_has_no_more_mails_a_day_than_the_limit(
    desk: Desk, asker: Asker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suppliers, "MAILS_A_DAY", 2)
    asker.ask("MAIL-11", due_on=(desk.clock.now().date() + timedelta(days=1)).isoformat())
    with pytest.raises(Refused) as refused:
        asker.ask("MAIL-12")
    assert [issue.field for issue in refused.value.issues] == ["supplier_email"]


def test_a_name_that_would_be_two_lines_is_one_line_of_the_subject() -> None:
    mail = message("a@b.example", "c@d.example", "One\r\nBcc: everyone@e.example", "x", mail_id="1", reply_to=None)
    assert mail["Subject"] == "One Bcc: everyone@e.example"
    assert mail["Bcc"] is None


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The files of a certificate for 127.0.0.1 and of its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "mail")])
    day = datetime.combine(date.today(), datetime.min.time())  # noqa: DTZ011  (as the library checks it)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(day - timedelta(days=2))
        .not_valid_after(day + timedelta(days=2))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    folder = tmp_path_factory.mktemp("certificate")
    (folder / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    plain = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "key.pem").write_bytes(key.private_bytes(*plain))
    return folder / "cert.pem", folder / "key.pem"


def test_a_password_is_sent_over_an_encrypted_connection_alone(
    certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    mail = message("a@b.example", "c@d.example", "Hello", "Text", mail_id="1", reply_to=None)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    with mailbox.opened(tls_context=context) as opened:
        opened.sign_in = (b"pcds", b"p@ss")
        url = f"smtp://pcds:p%40ss@127.0.0.1:{opened.port}"
        with pytest.raises(NotSent, match="not_encrypted"):
            MailServer(url, "a@b.example").send(mail)  # nobody has vouched for the certificate
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
        MailServer(url, "a@b.example").send(mail)
        assert len(opened.mails) == 1
        with pytest.raises(NotSent, match="sign_in_refused"):
            MailServer(url.replace("p%40ss", "wrong"), "a@b.example").send(mail)
    with mailbox.opened() as plain:
        with pytest.raises(NotSent, match="not_encrypted"):
            MailServer(f"smtp://pcds:p@127.0.0.1:{plain.port}", "a@b.example").send(mail)
        assert plain.mails == []
    with pytest.raises(NotSent, match="server_unreachable"):
        MailServer(f"smtp://127.0.0.1:{plain.port}", "a@b.example").send(mail)


def test_without_a_mail_server_a_run_by_hand_says_so_and_sends_nothing(desk: Desk, tmp_path: Path) -> None:
    asker = Asker(desk, tmp_path, None)
    enquiry = asker.ask("MAIL-1")
    before = asker.states(enquiry)
    ran = defs.resolve_job_def("send_mails").execute_in_process(
        partition_key=partition_of(desk.instance, desk.pool, desk.company),
        instance=desk.instance,
        resources=asker.resources.as_definitions(),
    )
    assert ran.success
    [output] = [event.step_output_data for event in ran.all_events if event.event_type_value == "STEP_OUTPUT"]
    assert output.metadata["nothing_sent"].value == "Nothing is mailed: PCDS_SMTP_URL is not set."
    assert asker.states(enquiry) == before
