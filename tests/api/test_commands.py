"""`pcds` as an operator types it, on a data directory where no service runs."""

import re
import stat
from importlib.metadata import version
from itertools import groupby
from uuid import UUID

import psycopg
import pytest

from api import cli
from api.operate.prepare import banner, prepare_demo
from api.operate.program import as_operator
from compliance import catalogue
from tests import buckets
from tests.commands import called, started
from warehouse.accounts import keys as keys_accounts
from warehouse.imports import words
from warehouse.operate.revisions import head
from warehouse.operate.settings import Settings

NOBODY = "00000000-0000-7000-8000-000000000000"


@pytest.fixture(scope="module")
def company(pcds):
    return pcds.json("company", "add", "--name", "Acme", "--plan", "starter")["id"]


MODULES = groupby(sorted(cli.COMMANDS, key=cli.COMMANDS.__getitem__), key=lambda name: cli.COMMANDS[name][0])


@pytest.mark.processes
@pytest.mark.parametrize("commands", [list(names) for _, names in MODULES], ids=" ".join)
def test_each_command_starts_in_a_process_of_its_own(commands):
    """Commands of one module import the same: one of them starts a process, the others are called."""
    for command in commands:
        done = (started if command == commands[0] else called)(command, "--help")
        assert (done.returncode, done.stderr) == (0, "")
        assert re.match(rf"\s*Usage: \S.* {command}\b", done.stdout)
        assert (done := called(command, "--no-such-option")).returncode == 2
        assert done.stdout == ""


NEW_COMPANY = ("company", "add", "--name", "Other", "--plan", "enterprise")


def test_a_company_is_added_moved_and_listed(pcds):
    added = pcds.json("company", "add", "--name", "Brandt", "--plan", "growth")
    assert (added["name"], added["plan"]) == ("Brandt", "growth")
    moved = pcds.json("company", "set-plan", added["id"], "professional")
    assert moved == {**added, "plan": "professional"}
    assert moved in pcds.json("company", "list")["companies"]
    assert "no plan gold" in pcds.refused(1, "company", "set-plan", added["id"], "gold")


def test_a_key_is_issued_where_the_plan_has_keys_shown_once_and_revoked(pcds, company):
    assert "--allow-any-plan" in pcds.refused(1, "key", "issue", "--company", company)
    issued = pcds.json("key", "issue", "--company", company, "--allow-any-plan", "--scopes", "read", "--name", "erp")
    assert issued["scopes"] == ["read"]
    assert issued["api_key"].startswith("svc_")
    assert len(issued["api_key"]) >= 36
    [listed] = pcds.json("key", "list", "--company", company)["keys"]
    assert (listed["client_id"], listed["revoked_at"]) == (issued["client_id"], None)
    assert issued["api_key"] not in str(listed)
    first = pcds.json("key", "revoke", issued["client_id"])
    assert first["revoked_at"]
    assert pcds.json("key", "revoke", issued["client_id"]) == first


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("regrade", "--company", "abc"), "'--company': “abc” is no UUID."),
        (("key", "revoke", "abc"), "'CLIENT_ID': “abc” is no UUID."),
        (("window", "open", "--key", NOBODY, "--per-minute", "many"), "'--per-minute': Send a whole number."),
        (("window", "open", "--key", NOBODY, "--per-minute", "1"), "Send a number of at least 121."),
    ],
)
def test_a_value_that_cannot_be_read_is_refused_in_the_apis_sentence(pcds, arguments, sentence):
    assert pcds.refused(2, *arguments).endswith(f"{sentence}\n")


def test_a_key_is_rolled_with_its_name_scopes_and_window(pcds, company):
    issue = ("key", "issue", "--company", company, "--allow-any-plan", "--name", "ERP", "--scopes", "read")
    old = pcds.json(*issue)
    pcds.json("window", "open", "--key", old["client_id"], "--per-minute", 700, "--from", "2126-01-01")
    new = pcds.json("key", "roll", old["client_id"])
    assert new["api_key"] != old["api_key"]
    assert (new["scopes"], new["old_client_id"], new["old_revoked_at"]) == (["read"], old["client_id"], None)
    listed = {key["client_id"]: key for key in pcds.json("key", "list", "--company", company)["keys"]}
    assert listed[new["client_id"]]["name"] == "ERP"
    assert listed[old["client_id"]]["revoked_at"] is None
    shown = {each["client_id"]: each for each in pcds.json("window", "list", "--company", company)["windows"]}
    assert shown[new["client_id"]] | {"client_id": ""} == shown[old["client_id"]] | {"client_id": ""}
    assert (shown[new["client_id"]]["per_minute"], shown[new["client_id"]]["state"]) == (700, "to_come")
    last = pcds.json("key", "roll", new["client_id"], "--end-old")
    assert last["old_revoked_at"]
    assert "revoked" in pcds.refused(1, "key", "roll", new["client_id"])
    assert "no key" in pcds.refused(1, "key", "roll", NOBODY)


def test_a_test_key_reaches_the_sandbox_which_goes_with_its_company(pcds, tmp_path):
    company = pcds.json("company", "add", "--name", "Brandt", "--plan", "enterprise")["id"]
    own = pcds.json("key", "issue", "--company", company)
    tests = [pcds.json("key", "issue", "--company", company, "--test") for _ in range(2)]
    assert not own["api_key"].startswith("svc_test_")
    assert all(key["api_key"].startswith("svc_test_") for key in tests)
    listed = {key["client_id"]: key["test"] for key in pcds.json("key", "list", "--company", company)["keys"]}
    assert listed == {own["client_id"]: False, **{key["client_id"]: True for key in tests}}
    rolled = pcds.json("key", "roll", tests[0]["client_id"])
    assert rolled["api_key"].startswith("svc_test_")
    pcds.json("company", "set-plan", company, "growth")
    [sandbox] = [each for each in pcds.json("company", "list")["companies"] if each.get("sandbox_of") == company]
    assert (sandbox["name"], sandbox["plan"]) == ("Brandt (sandbox)", "growth")
    assert "no API keys" in pcds.refused(1, "key", "issue", "--company", company, "--test")
    done = pcds.json("sandbox", "reset", "--company", company)
    assert done["skus_removed"] == 0
    certificate = tmp_path / "certificate.json"
    removal = ("--name", "Brandt", "--certificate", certificate, "--without-export")
    pcds.json("company", "remove", company, *removal)
    left = {each["id"] for each in pcds.json("company", "list")["companies"]}
    assert not {company, sandbox["id"]} & left
    assert "no sandbox" in pcds.refused(1, "sandbox", "reset", "--company", pcds.json(*NEW_COMPANY)["id"])


def test_windows_are_listed_with_what_they_are_now(pcds, company):
    client = pcds.json("key", "issue", "--company", company, "--allow-any-plan")["client_id"]
    pcds.json("window", "open", "--key", client, "--per-minute", 700)

    def state():
        return {each["client_id"]: each["state"] for each in pcds.json("window", "list")["windows"]}[client]

    assert state() == "open"
    pcds.json("window", "close", client)
    assert state() == "over"
    other = pcds.json("company", "add", "--name", "Without", "--plan", "starter")["id"]
    assert pcds.json("window", "list", "--company", other) == {"windows": []}


def test_the_release_is_printed(pcds):
    assert called("--version").stdout == f"pcds {version('packaging-compliance-data-service')}\n"


def test_a_doctor_says_what_is_wrong_and_what_to_do(pcds, monkeypatch):
    secret = pcds.data_dir / "backup.key"
    secret.write_bytes(b"key")
    secret.chmod(0o644)
    monkeypatch.setenv("PCDS_HOST", "0.0.0.0")
    monkeypatch.setenv("PCDS_TEST_CLOCK_OFFSET", "3600")
    found = {each["check"]: each for each in pcds.json("doctor")["problems"]}
    assert {"secrets", "clock", "base_url", "worker"} <= {*found}
    assert found["secrets"]["remedy"] == f"Run: chmod 600 {secret}"
    monkeypatch.setenv("PCDS_BASE_URL", "https://packaging.example")
    secret.unlink()
    with psycopg.connect(pcds.database().owner_url) as owner:
        owner.execute("UPDATE alembic_version SET version_num = '9999'")
    try:
        later = {each["check"]: each["remedy"] for each in pcds.json("doctor")["problems"]}
    finally:
        with psycopg.connect(pcds.database().owner_url) as owner:
            owner.execute("UPDATE alembic_version SET version_num = %s", [head()])
    assert "newer" in later.pop("migration")
    assert {*later} == {"clock"}


def test_a_doctor_without_a_database_says_so(pcds, monkeypatch):
    monkeypatch.setenv("DATABASE_URL", "postgresql://nobody:x@127.0.0.1:1/none")
    assert "database" in {each["check"] for each in pcds.json("doctor")["problems"]}


def test_a_window_is_opened_replaced_closed_and_audited(pcds, company):
    client = pcds.json("key", "issue", "--company", company, "--allow-any-plan")["client_id"]
    begin, end = "2026-12-01T08:00:00Z", "2026-12-01T20:00:00Z"
    assert "no window" in pcds.refused(1, "window", "close", client)
    opened = pcds.json("window", "open", "--key", client, "--per-minute", 600, "--from", begin, "--until", end)
    assert opened == {"client_id": client, "per_minute": 600, "from": begin, "until": end}
    shifted = ("--from", "2026-12-01", "--until", "2026-12-01T21:00:00+01:00")
    moved = pcds.json("window", "open", "--key", client, "--per-minute", 900, *shifted)
    assert moved == {"client_id": client, "per_minute": 900, "from": "2026-12-01T00:00:00Z", "until": end}
    now = pcds.json("window", "open", "--key", client, "--per-minute", 900)
    assert now["until"] is None
    windows = pcds.json("window", "list", "--company", company)["windows"]
    [listed] = [each for each in windows if each["client_id"] == client]
    assert listed == {**now, "state": "open"}
    closed = pcds.json("window", "close", client)
    assert {**listed, "until": closed["until"], "state": "over"} in pcds.json("window", "list")["windows"]
    assert client in [each["client_id"] for each in pcds.json("window", "list")["windows"]]
    assert closed["from"] == now["from"] < closed["until"]
    assert pcds.json("window", "close", client) == closed
    with psycopg.connect(pcds.database().owner_url) as owner:
        entered = owner.execute(
            "SELECT action, before, after FROM audit_entries WHERE resource_id = %s AND action LIKE 'window.%%' "
            "ORDER BY id",
            [client],
        ).fetchall()
    shown = [{name: value for name, value in each.items() if name != "client_id"} for each in (opened, moved, now)]
    assert entered == [
        ("window.opened", None, shown[0]),
        ("window.opened", shown[0], shown[1]),
        ("window.opened", *shown[1:]),
        ("window.closed", {"until": None}, {"until": closed["until"]}),
    ]


def test_a_window_to_come_that_is_closed_never_begins(pcds, company):
    client = pcds.json("key", "issue", "--company", company, "--allow-any-plan")["client_id"]
    pcds.json("window", "open", "--key", client, "--per-minute", "500", "--from", "2126-01-01T00:00:00Z")
    assert pcds.json("window", "close", client)["until"] == "2126-01-01T00:00:00Z"


def test_records_are_added_with_every_field_and_audited(pcds, company):
    brand = pcds.json("brand", "add", "--company", company, "--name", "B", "--owner-name", "O")
    site = pcds.json(
        "site",
        "add",
        "--company",
        company,
        "--name",
        "S",
        "--roles",
        "manufacturing,packing",
        "--country",
        "fr",
        "--city",
        "Lyon",
    )
    supplier = pcds.json("supplier", "add", "--company", company, "--name", "P", "--email", "p@example.org")
    cap = ("--code", "C", "--name", "Cap", "--component-type", "cap", "--material-family", "plastic")
    part = pcds.json(
        "component", "add", "--company", company, *cap, "--weight-g", "1.9", "--supplier-id", supplier["id"]
    )
    assert list(brand) == ["id", "name", "owner_name", "created_at", "updated_at"]
    assert (site["roles"], site["country"]) == (["manufacturing", "packing"], "FR")
    assert (part["weight_g"], part["supplier_id"], part["colour"]) == (1.9, supplier["id"], None)
    with psycopg.connect(pcds.database().owner_url) as owner:
        entered = owner.execute(
            "SELECT action, resource_id, actor_type FROM audit_entries JOIN audit_transactions ON transaction_id = "
            "audit_transactions.id WHERE audit_entries.company_id = %s",
            [company],
        ).fetchall()
    for action, record in (("brand", brand), ("site", site), ("supplier", supplier), ("library_component", part)):
        assert (f"{action}.created", record["id"], "operator") in entered


def test_a_portfolio_is_exported_as_a_workbook_and_half_a_file_never_stands_there(pcds, company, tmp_path):
    target = tmp_path / "portfolio.xlsx"
    assert pcds.json("export", "--company", company, target) == {
        "file": str(target),
        "skus": 0,
        "components": 0,
        "volumes": 0,
    }
    assert target.read_bytes().startswith(b"PK")
    assert [path.name for path in tmp_path.iterdir()] == ["portfolio.xlsx"]
    target.write_text("kept")
    assert "There is no company" in pcds.refused(1, "export", "--company", NOBODY, target)
    assert target.read_text() == "kept"
    assert "name it .xlsx" in pcds.refused(2, "export", "--company", company, tmp_path / "a.csv")
    assert "no folder" in pcds.refused(2, "export", "--company", company, tmp_path / "none" / "a.xlsx")


def test_what_cannot_be_done_is_refused_in_one_sentence(pcds, company):
    pcds.json("brand", "add", "--company", company, "--name", "Twice")
    assert "already" in pcds.refused(1, "brand", "add", "--company", company, "--name", "Twice")
    nobody = NOBODY
    assert nobody in pcds.refused(1, "key", "issue", "--company", nobody)
    assert nobody in pcds.refused(1, "key", "revoke", nobody)
    assert nobody in pcds.refused(1, "window", "open", "--key", nobody, "--per-minute", 500)
    assert nobody in pcds.refused(1, "window", "close", nobody)
    part = ("--code", "X", "--name", "X", "--component-type", "cap", "--material-family", "glass")
    assert nobody in pcds.refused(1, "component", "add", "--company", company, *part, "--supplier-id", nobody)


@pytest.mark.parametrize("kind", ["company", "key", "user", "word", "window"])
def test_a_list_for_people_has_its_fields_names_above_the_columns(pcds, kind):
    company = pcds.json("company", "add", "--name", f"Listed {kind}", "--plan", "enterprise")["id"]
    of = () if kind == "company" else ("--company", company)
    keys = [pcds.json("key", "issue", "--company", company, "--name", name)["client_id"] for name in ("ERP", "x")]
    pcds.json("user", "invite", "--company", company, "--email", f"{kind}@listed.example")
    pcds.json("word", "add", "--company", company, "--field", "material", "--text", "Holz", "--value", "wood")
    pcds.json("window", "open", "--key", keys[0], "--per-minute", 500)
    [records] = pcds.json(kind, "list", *of).values()
    header, *lines = pcds.run(kind, "list", *of).stdout.splitlines()
    names = list(dict.fromkeys(name for record in records for name in record))
    assert header.split() == names
    assert len(lines) == len(records) > 0
    starts = [f" {header} ".index(f" {name} ") for name in names]
    for line, record in zip(lines, records, strict=True):
        for start, name in zip(starts, names, strict=True):
            value = record.get(name)
            told = ",".join(value) if isinstance(value, list) else "-" if value is None else str(value)
            assert line[start:].startswith(told), (name, line)


def test_a_companys_own_words_are_added_listed_and_removed(pcds):
    company = pcds.json("company", "add", "--name", "Words", "--plan", "starter")["id"]
    of = ("--company", company, "--field", "material", "--text", "Weißblech")
    pcds.json("word", "add", *of, "--value", "metal")
    listed = pcds.json("word", "list", "--company", company)["words"]
    assert listed == [{"field": "material", "text": "Weißblech", "value": "metal"}]
    assert "unobtainium" in pcds.refused(1, "word", "add", *of, "--value", "unobtainium")
    assert "no field" in pcds.refused(
        1, "word", "add", "--company", company, "--field", "x", "--text", "y", "--value", "z"
    )
    pcds.json("word", "remove", "--company", company, "--field", "material", "--text", "WEISSBLECH")
    assert pcds.json("word", "list", "--company", company)["words"] == []


def test_a_folder_is_watched_for_one_company_by_a_kept_mapping(pcds, tmp_path):
    one, two = (pcds.json("company", "add", "--name", name, "--plan", "starter")["id"] for name in ("F1", "F2"))
    inbox, of = tmp_path / "inbox", ("--mapping-name", "ERP", "--company")
    (inbox / "done").mkdir(parents=True)
    assert "no mapping under the name ERP" in pcds.refused(1, "folder", "add", inbox, *of, one)
    with as_operator(pcds.data_dir) as operator:
        for company in (one, two):
            with operator.company(UUID(company)) as connection:
                words.keep_mapping(connection, UUID(company), "ERP", {"decimal": ","}, operator.clock.now())
    assert "email" in pcds.refused(1, "folder", "add", inbox, *of, one, "--mail", "nobody")
    assert "no folder" in pcds.refused(1, "folder", "add", tmp_path / "gone", *of, one)
    assert "belong to two" in pcds.refused(1, "folder", "add", pcds.data_dir, *of, one)
    added = pcds.json("folder", "add", inbox, *of, one, "--mail", "erp@brand.example")
    named = {"company_id": one, "path": str(inbox), "mapping_name": "ERP", "mail_to": "erp@brand.example"}
    assert added == named | {"language": "en"}
    link = tmp_path / "link"
    link.symlink_to(inbox)
    for path in (inbox, link, tmp_path, inbox / "done"):
        assert "belong to two" in pcds.refused(1, "folder", "add", path, *of, two)
    assert pcds.json("folder", "list") == {"folders": [added]}
    assert "not watched" in pcds.refused(1, "folder", "remove", tmp_path)
    assert pcds.json("folder", "remove", inbox) == added
    assert pcds.json("folder", "list") == {"folders": []}


def test_a_prefix_of_a_bucket_is_watched_where_its_credentials_have_the_rights(pcds, monkeypatch):
    one, two = (pcds.json("company", "add", "--name", name, "--plan", "starter")["id"] for name in ("B1", "B2"))
    prefix = "s3://packaging/erp"
    with buckets.opened() as bucket:
        for name in bucket.variables.keys() - {"PCDS_OBJECTS_URL"}:
            monkeypatch.setenv(name, bucket.variables[name])
        assert "no prefix" in pcds.refused(1, "folder", "add", "s3://packaging//x", "--company", one)
        for method in ("GET", "PUT"):
            bucket.refused = {method}
            assert "refuses the credentials" in pcds.refused(1, "folder", "add", prefix, "--company", one)
        bucket.refused = set()
        assert pcds.json("folder", "list") == {"folders": []}
        added = pcds.json("folder", "add", f"{prefix}/", "--company", one)
        assert (added["path"], bucket.files) == (prefix, {})
        for path in (prefix, f"{prefix}/taken", "s3://packaging"):
            assert "belong to two" in pcds.refused(1, "folder", "add", path, "--company", two)
        assert pcds.json("folder", "remove", prefix) == added


@pytest.mark.parametrize(
    "arguments",
    [
        ("key", "issue"),
        ("key", "issue", "--company", "12"),
        ("site", "add", "--company", "00000000-0000-7000-8000-000000000000", "--name", "S", "--roles", "selling"),
        ("serve", "--port", "70000"),
        ("window", "open", "--key", NOBODY, "--per-minute", "120"),
        ("window", "open", "--key", NOBODY, "--per-minute", "500", "--from", "tomorrow"),
        ("window", "open", "--key", NOBODY, "--per-minute", "500", "--from", "2026-12-01T08:00:00"),
        ("window", "open", "--key", NOBODY, "--per-minute", "500", "--from", "2026-12-02", "--until", "2026-12-01"),
        ("nothing",),
    ],
)
def test_wrong_usage_is_status_2(pcds, arguments):
    pcds.refused(2, *arguments)


@pytest.mark.processes
def test_the_catalogue_is_refreshed_from_the_release_and_from_a_file(pcds, tmp_path):
    assert pcds.json("catalogue", "refresh")["added"] == sorted(entry.code for entry in catalogue.pinned())
    file = tmp_path / "ours.csv"
    file.write_text(catalogue.PINNED.read_text(encoding="utf-8").replace("AU,Australia,", "AU,Down under,"), "utf-8")
    assert pcds.json("catalogue", "refresh", "--file", file)["changed"] == ["AU"]
    assert "changed: AU" in pcds.run("catalogue", "refresh").stdout.splitlines()


@pytest.mark.processes
@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (None, "ours.csv cannot be read: No such file or directory."),
        (b"\xff\xfe", "ours.csv is no CSV file in UTF-8; save it as one."),
        (("AU,Australia,", "QQ,Australia,"), "ours.csv: QQ: no ISO 3166 code."),
        (("AU,Australia,", "AU,Australia from AUD 9 or 9 EUR,"), "ours.csv: AU: name holds an amount of money"),
    ],
)
def test_a_catalogue_that_may_not_be_served_is_refused_in_one_sentence(pcds, tmp_path, content, fault):
    file = tmp_path / "ours.csv"
    if isinstance(content, tuple):
        content = catalogue.PINNED.read_text(encoding="utf-8").replace(*content).encode()
    if content is not None:
        file.write_bytes(content)
    said = pcds.refused(1, "catalogue", "refresh", "--file", file)
    assert said.startswith(f"The catalogue was not refreshed. {fault}")
    assert len(said.splitlines()) == 1


def test_a_database_that_is_not_there_is_one_sentence(pcds, monkeypatch):
    monkeypatch.setenv("DATABASE_URL", "postgresql://nobody:s3cret@127.0.0.1:9/none")
    said = pcds.refused(1, "company", "list")
    assert "cannot be reached" in said
    assert "s3cret" not in said


def test_the_demo_is_made_once_and_finished_where_a_start_was_cut_off(pcds):
    settings = Settings.load(data_dir=pcds.data_dir)
    first = prepare_demo(settings, pcds.database())
    assert prepare_demo(settings, pcds.database()) == first
    assert stat.S_IMODE((pcds.data_dir / "demo.json").stat().st_mode) == 0o600
    with psycopg.connect(pcds.database().owner_url) as owner:
        owner.execute("DELETE FROM api_keys WHERE key_hash = %s", [keys_accounts.digest(first.api_key)])
    assert prepare_demo(settings, pcds.database()) == first
    [listed] = pcds.json("key", "list", "--company", first.company_id)["keys"]
    assert listed["client_id"] == first.client_id
    again = banner(settings, first, first_start=False, with_dagster_ui=True)
    greeting = banner(settings, first, first_start=True, with_dagster_ui=False)
    assert first.api_key in greeting
    assert first.password in greeting
    assert first.password not in again
    assert first.api_key not in again
    assert "demo.json" in again
