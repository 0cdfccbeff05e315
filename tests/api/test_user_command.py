"""`pcds user` as an operator types it, beside the app that the person then signs in to."""

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from api.app import create
from tests.api.people import BASE, Browser, Person, hidden
from tests.clusters import founded
from tests.commands import Pcds
from warehouse.operate.settings import Settings

PASSWORD = "grün und lang genug"


class Accounts(Pcds):
    """Commands about accounts: each refusal is one line."""

    def refused(self, *arguments: object, said: str = "") -> str:
        told = super().refused(1, *arguments, said=said)
        assert len(told.splitlines()) == 1
        return told


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Accounts, TestClient]]:
    folder = tmp_path_factory.mktemp("users")
    folder.chmod(0o711)
    settings = Settings.load(data_dir=folder / "data", trusted_proxies="127.0.0.1")
    with (
        founded(settings) as database,
        TestClient(create(settings, database), base_url=BASE, client=("127.0.0.1", 50_000)) as http,
    ):
        yield Accounts(settings.data_dir), http


def test_an_account_is_made_used_and_ended(place):
    pcds, http = place
    company = pcds.json("company", "add", "--name", "Acme", "--plan", "starter")["id"]
    add = ("user", "add", "--company", company, "--password-stdin", "--email")
    made = pcds.json(*add, " Ann@Brand.example ", said=f"{PASSWORD}\n")
    assert set(made) == {"id", "email"}
    assert made["email"] == "ann@brand.example"
    ann = Person(made["id"], company, "ann@brand.example", PASSWORD)
    browser = Browser(http, "10.9.9.9")
    assert browser.sign_in(ann).status_code == 303
    assert "Acme" in browser.get("/connections").text
    assert "already" in pcds.refused(*add, "ANN@brand.example", said=PASSWORD)
    assert pcds.json("user", "disable", "ann@brand.example") == made
    assert browser.get("/connections").status_code == 303
    assert browser.sign_in(ann).status_code == 403
    assert pcds.json("user", "disable", "ann@brand.example") == made
    assert "was ended" in pcds.refused("user", "reset", "ann@brand.example")
    audit = pcds.json("audit", "verify", "--company", company)
    assert (audit["entries"], audit["ok"]) == (4, True), "company, account made, signed in, account ended once"


def test_an_address_returns_and_its_password_is_set_by_a_link(place):
    pcds, http = place
    company = pcds.json("company", "add", "--name", "Back", "--plan", "starter")["id"]
    add = ("user", "add", "--company", company, "--password-stdin", "--email", "back@brand.example")
    first = pcds.json(*add, said=PASSWORD)
    pcds.json("user", "disable", "back@brand.example")
    second = pcds.json(*add, said=PASSWORD)
    assert second["id"] != first["id"]
    link = pcds.json("user", "reset", "back@brand.example")
    assert (link["id"], link["email"]) == (second["id"], "back@brand.example")
    browser, path = Browser(http, "10.9.9.8"), link["url"].removeprefix(BASE)
    form = hidden(browser.get(path).text) | {"new": "ganz neu und lang", "again": "ganz neu und lang"}
    assert browser.post(path, form).headers["location"] == "/sign-in"
    assert browser.sign_in(Person(second["id"], company, "back@brand.example", "ganz neu und lang")).status_code == 303


def test_what_nobody_could_sign_in_with_is_refused(place):
    pcds, _ = place
    company = pcds.json("company", "add", "--name", "Brandt", "--plan", "growth")["id"]
    add = ("user", "add", "--company", company, "--password-stdin", "--email")
    assert "10 to 1000" in pcds.refused(*add, "a@b.example", said="nine long")
    assert "guessed first" in pcds.refused(*add, "a@b.example", said="Password123")
    assert "email" in pcds.refused(*add, "nobody", said=PASSWORD)
    assert "company" in pcds.refused(
        "user",
        "add",
        "--company",
        "00000000-0000-7000-8000-000000000000",
        "--email",
        "a@b.example",
        "--password-stdin",
        said=PASSWORD,
    )
    assert "no account" in pcds.refused("user", "disable", "nobody@b.example")
    assert "`pcds user list" in pcds.refused("user", "reset", "nobody@b.example")
    assert pcds.run(*add, "a@b.example", "--role", "owner", said=PASSWORD).returncode == 2
    assert pcds.run(*add[:4], "--email", "a@b.example").returncode == 2, "a password comes by standard input alone"


def test_staff_are_of_the_deployment_and_an_address_that_left_can_come_back(place):
    pcds, http = place
    given = ("staff", "add", "--email", "Ana@operator.example", "--role", "analyst", "--password-stdin")
    added = pcds.json(*given, said=f"{PASSWORD}\n")
    assert (added["email"], added["role"]) == ("ana@operator.example", "analyst")
    assert pcds.refused(*given, said=PASSWORD).startswith("There is a staff account with this email address already")
    assert "characters" in pcds.refused("staff", "password", "ana@operator.example", "--password-stdin", said="short")
    assert pcds.run(*given[:-3], "owner", "--password-stdin", said=PASSWORD).returncode == 2
    for _ in range(2):
        assert pcds.json("staff", "disable", "ana@operator.example")["id"] == added["id"]
    assert "no staff account" in pcds.refused("staff", "disable", "nobody@operator.example")
    again = pcds.json(*given, said=PASSWORD)
    listed = [(each["id"], each["disabled_at"] is None) for each in pcds.json("staff", "list")["staff"]]
    assert listed == [(added["id"], False), (again["id"], True)]
    assert (
        Browser(http, "203.0.113.9").sign_in(Person(again["id"], "", "ana@operator.example", PASSWORD)).status_code
        == 403
    ), "staff do not sign in as a company's people"


def test_a_role_is_changed_from_the_next_request_on_and_one_administrator_stays(place):
    pcds, http = place
    company = pcds.json("company", "add", "--name", "Roles", "--plan", "starter")["id"]
    add = ("user", "add", "--company", company, "--password-stdin", "--email")
    first = Person(
        pcds.json(*add, "one@roles.example", said=f"{PASSWORD}\n")["id"], company, "one@roles.example", PASSWORD
    )
    pcds.json(*add, "two@roles.example", said=f"{PASSWORD}\n")
    assert "only administrator" in pcds.refused("user", "role", first.email, "viewer")
    assert pcds.json("user", "role", "two@roles.example", "administrator")["role"] == "administrator"
    browser = Browser(http, "10.9.9.8")
    browser.sign_in(first)
    form = hidden(browser.get("/imports").text)
    assert browser.post("/words", form).status_code == 303
    pcds.json("user", "role", first.email, "viewer")
    assert browser.post("/words", form).status_code == 403
    pcds.run("user", "disable", first.email)
    assert "ended" in pcds.refused("user", "role", first.email, "editor")


def test_people_are_listed_and_invited_by_a_link(place):
    pcds, http = place
    company = pcds.json("company", "add", "--name", "Invited", "--plan", "starter")["id"]
    invite = ("user", "invite", "--company", company, "--email")
    made = pcds.json(*invite, " Eve@invited.example", "--role", "editor")
    assert (made["email"], made["role"]) == ("eve@invited.example", "editor")
    [listed] = pcds.json("user", "list", "--company", company)["users"]
    assert (listed["id"], listed["email"], listed["role"]) == (made["id"], made["email"], "editor")
    assert (listed["signed_in_at"], listed["link_until"]) == (None, made["until"])
    browser, path = Browser(http, "10.9.9.7"), made["url"].removeprefix(BASE)
    form = hidden(browser.get(path).text) | {"new": "ganz neu und lang", "again": "ganz neu und lang"}
    assert browser.post(path, form).status_code == 303
    assert browser.sign_in(Person(made["id"], company, made["email"], "ganz neu und lang")).status_code == 303
    [after] = pcds.json("user", "list", "--company", company)["users"]
    assert after["signed_in_at"]
    assert after["link_until"] is None
    assert "`pcds user reset EMAIL` makes" in pcds.refused(*invite, "eve@invited.example")
    assert pcds.run(*invite, "x@invited.example", "--role", "owner").returncode == 2
    assert pcds.json("audit", "verify", "--company", company)["ok"]
