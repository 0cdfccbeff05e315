import os
import re
import subprocess
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from warehouse.operate import logs
from warehouse.operate import settings as settings_operate
from warehouse.operate.settings import Settings, SettingsError, misspelt


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith("PCDS_") or name == "DATABASE_URL":
            monkeypatch.delenv(name)


@pytest.mark.parametrize(("value", "seconds"), [("86400", 86400), ("-3600", -3600), ("0", 0), ("", 0)])
def test_the_clock_offset_is_whole_seconds(monkeypatch: pytest.MonkeyPatch, value: str, seconds: int) -> None:
    monkeypatch.setenv("PCDS_TEST_CLOCK_OFFSET", value)
    assert Settings.load().test_clock_offset == seconds


@pytest.mark.parametrize("value", ["1.0", "1e3", "1_000", " 5", "+5", "--5", "one", "-", "99999999999999"])
def test_any_other_clock_offset_refuses_to_start(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("PCDS_TEST_CLOCK_OFFSET", value)
    with pytest.raises(SettingsError, match=r"^PCDS_TEST_CLOCK_OFFSET is not usable: .*\.$"):
        Settings.load()


def test_a_refused_secret_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "mysql://me:hunter2@host/db")
    with pytest.raises(
        SettingsError, match=r"^DATABASE_URL is not usable: must begin with postgresql://\.$"
    ) as refused:
        Settings.load()
    assert "hunter2" not in repr(refused.value)
    assert "hunter2" not in repr(Settings.load(database_url="postgresql://me:hunter2@host/db"))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SMTP_URL", "mail.example:25"),
        ("SMTP_URL", "https://mail.example"),
        ("SMTP_URL", "smtp://:hunter2@"),
        ("SMTP_URL", "smtp://mail.example:port"),
        ("MAIL_FROM", "Packaging data"),
        ("MAIL_FROM", "a@b.example\nBcc: c@d.example"),
    ],
)
def test_a_mail_server_and_a_sender_are_addresses(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(f"PCDS_{name}", value)
    with pytest.raises(
        SettingsError, match=rf"^PCDS_{name} is not usable: must be an address such as .*\.$"
    ) as refused:
        Settings.load()
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    ("given", "base_url"),
    [
        ({}, "http://127.0.0.1:8000"),
        ({"host": "0.0.0.0", "port": 80}, "http://0.0.0.0:80"),
        ({"public_url": "https://data.example/"}, "https://data.example"),
    ],
)
def test_the_base_address_is_host_and_port_as_given(given: dict[str, object], base_url: str) -> None:
    assert Settings.load(**given).base_url == base_url


def test_a_child_process_reads_the_very_same_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings.load(
        data_dir="somewhere",
        port=8123,
        public_url="https://data.example",
        database_url="postgresql://a:b@c/d",
        trusted_proxies="10.0.0.1, 10.2.0.0/16",
        test_clock_offset=-5,
        objects_url="s3://bucket/prefix",
        smtp_url="smtps://pcds:p%40ss@mail.example",
        mail_from="Packaging data <data@brand.example>",
    )
    for name, value in settings.environment().items():
        monkeypatch.setenv(name, value)
    assert Settings.load() == settings


def test_a_misspelt_variable_is_named_at_the_start_with_the_nearest(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PCDS_PROT", "PCDS_TRUSTED_PROXY", "PCDS_QQQ", "PCDS_DATABASE_URL", "PCDS_BASE_URL", "PCDS_KEY"):
        monkeypatch.setenv(name, "8001")
    assert misspelt() == {
        "PCDS_DATABASE_URL": "DATABASE_URL",
        "PCDS_PROT": "PCDS_PORT",
        "PCDS_QQQ": None,
        "PCDS_TRUSTED_PROXY": "PCDS_TRUSTED_PROXIES",
    }
    with capture_logs() as said:
        logs.name_misspelt()
    assert {(line["variable"], line["nearest"]) for line in said} == set(misspelt().items())


def test_every_variable_that_the_repository_names_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a place that is in order would be told that one of its own variables is misspelt."""
    root = Path(__file__).parents[2]
    files = ("*.py", "*.yaml", "*.md", "Makefile", ".ci/run", "*.service", "*.example")
    listed = subprocess.run(["git", "ls-files", *files], cwd=root, capture_output=True, text=True, check=True).stdout
    own = {"tests/warehouse/test_settings.py", "tests/api/test_states.py"}
    for name in {path for path in listed.split() if path not in own and not path.startswith("docs/spec/")}:
        for variable in re.findall(r"\bPCDS_[A-Z][A-Z_]*[A-Z]\b(?![*…])", (root / name).read_text(encoding="utf-8")):
            monkeypatch.setenv(variable, "x")
    assert misspelt() == {}
    assert {name for name in os.environ if name.startswith("PCDS_")} >= settings_operate.OTHERS
