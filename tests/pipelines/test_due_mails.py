"""Mails of what is due: to those who want them, a month, a week and a day before, each once, by a real mail server."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from pipelines.filings import lead_of, plan_mails
from pipelines.suppliers import Post, send_due
from tests import mailbox, sweeping
from tests.api.portfolios import weigh
from tests.keys import with_keys
from tests.mailbox import Mailbox
from tests.pipelines.conftest import Desk
from warehouse.accounts import people
from warehouse.figures import snapshots
from warehouse.operate.settings import Settings
from warehouse.rules import Rulesets

database, pool = sweeping.database, sweeping.pool
GLASS = "sku_code,name,packaging_level,material,weight_grams,annual_volume_de_{year}\nJAR,Jar,sales,glass,200,1000000\n"


@pytest.fixture
def post() -> Iterator[Mailbox]:
    with mailbox.opened() as opened:
        yield opened


class Calendar:
    """A company with 200 t of glass in Germany in a year, and the daemon's work on a day after it."""

    def __init__(self, desk: Desk, folder: Path, post: Mailbox) -> None:
        self.desk, self.year = desk, desk.clock.now().year
        self.settings = with_keys(Settings.load(data_dir=folder, smtp_url=post.url, mail_from="daten@marque.example"))
        assert desk.finish(desk.send(GLASS.format(year=self.year)))
        rulesets = Rulesets()
        snapshots.publish(desk.pool, desk.company, folder, desk.clock.now(), rulesets)
        weigh(desk.pool, rulesets, folder, desk.company)

    def person(self, language: str | None) -> UUID:
        user_id = uuid4()
        with self.desk.pool.company(self.desk.company) as conn:
            email = f"{user_id}@brand.example"
            people.add(
                conn, self.desk.company, user_id, email=email, password_hash="!", at=self.desk.clock.now(), role=None
            )
            people.choose_due_mails(conn, user_id, language)
        return user_id

    def on(self, month: int, day: int) -> None:
        """Let the time pass until a day of the year after the tonnes; what is stored and sent then."""
        wanted = datetime(self.year + 1, month, day, 0, 5, tzinfo=UTC)
        self.desk.clock.advance(wanted - self.desk.clock.now())
        plan_mails(self.desk.pool, self.settings, self.desk.clock, lambda: None)
        self.send()

    def send(self) -> dict[str, int]:
        made = Post.from_settings(self.settings)
        assert made is not None
        return dict(send_due(self.desk.pool, self.desk.company, made, self.desk.clock, lambda: None))

    def states(self) -> list[tuple[str, str]]:
        with self.desk.pool.company(self.desk.company) as conn:
            return conn.execute("SELECT kind, state FROM supplier_mails ORDER BY created_at, kind").fetchall()


@pytest.fixture
def calendar(desk: Desk, tmp_path: Path, post: Mailbox) -> Calendar:
    return Calendar(desk, tmp_path, post)


def text(mail: object) -> str:
    return str(mail.get_content()).replace("\r\n", "\n")  # type: ignore[attr-defined]


def test_who_wants_it_is_mailed_a_month_a_week_and_a_day_before(calendar: Calendar, post: Mailbox) -> None:
    wants, _ = calendar.person("de"), calendar.person(None)
    sent = {}
    for month, day in ((4, 14), (4, 15), (4, 16), (5, 7), (5, 8), (5, 13), (5, 14), (5, 15), (5, 16)):
        before = len(post.mails)
        for _ in range(2):
            calendar.on(month, day)
        sent[month, day] = [mail["Subject"] for mail in post.mails[before:] if "Mai" in mail["Subject"]]
    subject = f"fällig am 15. Mai {calendar.year + 1}"
    assert {day: len(subjects) for day, subjects in sent.items() if subjects} == {(4, 15): 1, (5, 8): 1, (5, 14): 1}
    mails = [mail for mail in post.mails if "Mai" in mail["Subject"]]
    assert all(subject in mail["Subject"] and mail["To"] == f"{wants}@brand.example" for mail in mails)
    said = text(mails[0])
    assert f"- Deutschland, {calendar.year}: Vollständigkeitserklärung" in said
    assert "Einwegkunststofffonds" in said
    assert "Vereinfachte Meldung" not in said, "200 t are above its limit"
    assert f"{calendar.settings.base_url}/account?lang=de" in said


def test_days_that_were_missed_are_made_up_for_by_the_nearest_mail(calendar: Calendar, post: Mailbox) -> None:
    calendar.person("en")
    calendar.on(5, 10)
    assert [mail["Subject"] for mail in post.mails if "15 May" in mail["Subject"]]
    assert [kind for kind, _ in calendar.states()].count("due_week") == 1


def test_a_mail_whose_sender_was_killed_is_never_sent_again(
    calendar: Calendar, post: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    calendar.person("en")

    def die(*_: object, **__: object) -> None:
        raise OSError("killed")

    with monkeypatch.context() as patched:
        patched.setattr("pipelines.suppliers.supplier_mails.end_mail", die)
        with pytest.raises(OSError, match="killed"):
            calendar.on(5, 8)
    taken = len(post.mails)
    assert taken == 1
    calendar.on(5, 8)
    calendar.desk.clock.advance(timedelta(hours=20))
    calendar.send()
    ids = [mail["Message-ID"] for mail in post.mails]
    assert len(ids) == len(set(ids)), "none is sent twice"
    assert [state for _, state in calendar.states()].count("sending") == 1


def test_what_the_server_does_not_take_is_tried_again(calendar: Calendar, post: Mailbox) -> None:
    calendar.person("fr")
    post.says = "451 Try again later"
    calendar.on(5, 8)
    assert {state for _, state in calendar.states()} == {"waiting"}
    post.says = "250 OK"
    calendar.desk.clock.advance(timedelta(minutes=2))
    calendar.send()
    assert {state for _, state in calendar.states()} == {"sent"}
    assert all("échéance" in mail["Subject"] for mail in post.mails)


def test_who_ends_it_is_not_mailed_any_more(calendar: Calendar, post: Mailbox) -> None:
    person = calendar.person("en")
    calendar.on(4, 15)
    before = len(post.mails)
    assert before
    with calendar.desk.pool.company(calendar.desk.company) as conn:
        people.choose_due_mails(conn, person, None)
    calendar.on(5, 8)
    assert len(post.mails) == before


@pytest.mark.parametrize(
    ("left", "kind"),
    [(31, None), (30, "due_month"), (8, "due_month"), (7, "due_week"), (2, "due_week"), (1, "due_day"), (0, "due_day"),
     (-1, None)],
)  # fmt: skip
def test_the_lead_of_a_mail_is_the_nearest(left: int, kind: str | None) -> None:
    assert lead_of(left) == kind
