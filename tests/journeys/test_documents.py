"""Every command of the operators' documents, run as it is printed, in the order of the pages; the integrator's loops.

`tests.documented` finds the operators', and lists those that are not run here. A word in capitals stands for a value of
the reader's: `VALUES`, or what an earlier command answered.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import httpx2
import orjson
import psycopg
import pytest

from compliance.tables import RULES
from tests import buckets, documented, preloaded
from tests.documented import SQL, Command
from tests.servers import RELEASES, on, operators
from tests.waiting import PATIENCE_SECONDS, wait_until
from tools.ports import free_port
from warehouse.operate.database import Database
from warehouse.operate.settings import Settings

ROOT = Path(__file__).parents[2]
VALUES = {
    "E": "eva@acme.example",
    "R": "editor",
    "EMAIL": "eva@acme.example",
    "ROLE": "approver",
    "FOLDER": "exported",
    "FILE": str(RULES / "catalogue" / "jurisdictions.csv"),
    "OUT": "portfolio",
    "SHARE": "share",
}
_PLACEHOLDER = re.compile(r'(?<!")\b[A-Z][A-Z_]*\b(?!")')


@dataclass(slots=True)
class Reader:
    """Who follows the documents: a shell in a folder, and what its commands answered so far."""

    folder: Path
    variables: dict[str, str]
    values: dict[str, str] = field(default_factory=lambda: dict(VALUES))
    ran: list[str] = field(default_factory=list)

    def type(self, text: str) -> dict[str, str]:
        """Run a line; what it answered by field."""
        missing = {*_PLACEHOLDER.findall(text)} - {*self.values}
        assert not missing, f"{text}: no value for {missing}; add it to VALUES"
        line = _PLACEHOLDER.sub(lambda found: self.values[found[0]], text)
        printed = self.shell(line)
        self.ran.append(text)
        return dict(re.findall(r"^(\w+): (.+)$", printed, re.MULTILINE))

    def shell(self, script: str) -> str:
        """Run lines as they are; what they printed."""
        done = subprocess.run(
            ["bash", "-c", f"set -eu -o pipefail\n{script}"],
            cwd=self.folder,
            env=self.variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_SECONDS,
        )
        assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
        return done.stdout

    @contextmanager
    def serving(self, text: str) -> Iterator[str]:
        """Start a service as printed; its address, once it is ready."""
        port = free_port()
        variables = self.variables | {"PCDS_PORT": str(port), "PCDS_DAGSTER_PORT": str(free_port())}
        self.variables |= {"PCDS_DAGSTER_PORT": variables["PCDS_DAGSTER_PORT"]}
        address, log = f"http://127.0.0.1:{port}", self.folder / "log"
        with (
            log.open("ab") as output,
            subprocess.Popen(
                ["bash", "-c", f"exec {text}"], cwd=self.folder, env=variables, stdout=output, stderr=output
            ) as process,
            httpx2.Client() as http,
        ):

            def is_ready() -> bool:
                assert process.poll() is None, log.read_text(encoding="utf-8")[-3000:]
                with suppress(httpx2.TransportError):
                    return http.get(f"{address}/readyz").status_code == 200
                return False

            try:
                wait_until(is_ready, otherwise=lambda: log.read_text(encoding="utf-8")[-3000:])
                yield address
            finally:
                process.terminate()
                process.wait(PATIENCE_SECONDS)


@pytest.fixture
def reader(open_dir: Path) -> Reader:
    (open_dir / "bin").mkdir()
    (open_dir / VALUES["SHARE"]).mkdir()
    (open_dir / "password.txt").write_text("correct horse battery staple\n", encoding="utf-8")
    path = f"{preloaded.shell(open_dir / 'bin')}{os.pathsep}{os.environ['PATH']}"
    without = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    return Reader(open_dir, without | {"PATH": path, "PYTHONPATH": str(ROOT)})


def run(deployment: str) -> list[Command]:
    return [each for each in documented.pages() if each.deployment == deployment and not each.parsed]


@pytest.mark.timeout(1800)  # dozens of programs, one after the other: ten minutes where two cores do much besides
def test_each_command_works_on_a_service_with_its_own_postgres(reader: Reader) -> None:
    """The service runs meanwhile, as the pages say; the last commands are those of a restore beside it.

    A line that is printed several times is run once: what it would show again costs a run of the service's workers.
    """
    commands = {command.text: command for command in run("embedded")}.values()
    with reader.serving("pcds serve --no-dagster-ui"):
        settings = Settings.load(data_dir=reader.folder / "data")
        demo = orjson.loads((reader.folder / "data" / "demo.json").read_bytes())
        for command in commands:
            if command.text.split()[0] in SQL:
                with psycopg.connect(Database.from_settings(settings).owner_url) as owner:
                    owner.execute(command.text)
                continue
            if "--key backup.key" in command.text:  # "Copy that key once to a place apart from the backups"
                shutil.copy(reader.folder / "data" / "backup.key", reader.folder / "backup.key")
            answered = reader.type(command.text)
            match command.words[1:3]:
                case ["company", "add"]:
                    reader.values["ID"] = answered["id"]
                case ["key", "issue"]:
                    reader.values["CLIENT_ID"] = answered["client_id"]
                case ["user", "disable"]:  # that account is ended
                    reader.values |= dict.fromkeys(("E", "EMAIL"), "otto@acme.example")
                    reader.type("pcds user invite --company ID --email E --role R")
                case ["audit", "verify"] if "--exported" in command.words:  # that company is gone
                    assert answered["ok"] == "True", answered
                    reader.values |= {"ID": demo["company_id"], "FOLDER": "backup-apart"}
                    reader.type("pcds user invite --company ID --email E --role R")
    with reader.serving("pcds serve --data-dir data-2"):
        verified = reader.type("pcds audit verify --company ID --data-dir data-2")
        assert verified["ok"] == "True", verified


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("release", RELEASES)
def test_each_command_works_on_a_postgres_of_the_operators(reader: Reader, open_dir: Path, release: str) -> None:
    """Its owner is no superuser; a backup needs one, and comes back in another database. Files are in a bucket."""
    block = [each.text for each in run("embedded") if each.page == "backup" and each.is_block and not each.section]
    people, leaving = (
        [each.text for each in run("embedded") if each.section == section and each.is_block]
        for section in ("People, keys and windows", "A company leaves")
    )
    with operators(release, open_dir) as server, buckets.opened() as bucket:
        reader.variables |= bucket.variables
        with psycopg.connect(server.owner_url, autocommit=True) as superuser:
            superuser.execute("CREATE ROLE owner LOGIN CREATEROLE PASSWORD 'owner'")
            for name in ("packaging", "restored"):
                superuser.execute(f"CREATE DATABASE {name} OWNER owner")
            reader.variables["DATABASE_URL"] = on(server, "packaging", "owner", "owner")
            for command in run("external"):
                if command.text.split()[0] in SQL:
                    superuser.execute(command.text)
                else:
                    reader.type(command.text)
        for text in people:
            reader.values["ID"] = reader.type(text).get("id", reader.values.get("ID", ""))
        make, back_up, restore = block
        reader.variables["DATABASE_URL"] = on(server, "packaging")
        reader.type(make)
        reader.type(back_up)
        shutil.copy(reader.folder / "data" / "backup.key", reader.folder / "backup.key")
        reader.variables["DATABASE_URL"] = on(server, "restored", "owner", "owner")
        reader.type(restore)
        assert reader.type("pcds audit verify --company ID --data-dir data-2")["ok"] == "True"
        reader.variables["DATABASE_URL"] = on(server, "packaging", "owner", "owner")
        kept, of_company = b"a test report", f"pcds/{reader.values['ID']}/files/{uuid4()}"
        bucket.files |= {of_company: kept, f"pcds/{uuid4()}/files/{uuid4()}": b"another company's"}
        for text in leaving:
            reader.type(text)
        assert len([key for key in bucket.files if "/files/" in key]) == 1, "the company's file is gone"
        exported = [path.read_bytes() for path in (reader.folder / "exported").rglob("*") if path.is_file()]
        assert kept in exported


@pytest.mark.timeout(1800)
def test_the_four_loops_of_the_guide_work_as_they_are_printed(reader: Reader) -> None:
    """The feed's cursor is taken before the load, as the guide says, so that the load is in the feed."""
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8").partition("## One item")[0]
    blocks = re.findall(r"```(?:console|python)\n(.*?)```", text, re.DOTALL)
    setting, load, sync, cursor, page, webhook, receiver = blocks
    shutil.copy(ROOT / "examples" / "portfolio.csv", reader.folder)
    reader.variables["PCDS_WEBHOOKS_TO_LOOPBACK"] = "true"
    with reader.serving("pcds serve --no-dagster-ui") as address:
        demo = orjson.loads((reader.folder / "data" / "demo.json").read_bytes())
        setting = setting.replace("http://127.0.0.1:8000", address).replace("svc_…", demo["api_key"])
        answers = reader.shell("\n".join([setting, "echo", cursor, load, sync, "echo", page])).splitlines()
        me, report, synced, feed = map(orjson.loads, answers)
        assert (me["data"]["credential"]["client_id"], report["status"]) == (demo["client_id"], "completed")
        assert [row["outcome"] for row in synced["results"]] == ["updated", "created"]
        assert {"WTR-01", "WTR-99"} <= {change["record"]["sku_code"] for change in feed["data"] if change["sku_id"]}
        port = free_port()
        hook = webhook.replace("https://erp.example/hooks/packaging", f"http://127.0.0.1:{port}/")
        secret = reader.shell("\n".join([setting, "echo", hook, 'echo "$SECRET"'])).splitlines()[-1]
        log = reader.folder / "received"
        with (
            log.open("wb") as output,
            subprocess.Popen(
                [sys.executable, "-c", receiver.replace("9000", str(port))],
                env=reader.variables | {"SECRET": secret},
                stdout=output,
            ) as process,
        ):
            try:
                body = {"sku_code": "WTR-99", "name": "Water bottle 200 cl"}
                httpx2.post(
                    f"{address}/api/v1/skus", headers={"X-API-Key": demo["api_key"]}, json=body
                ).raise_for_status()
                wait_until(lambda: "sku.updated WTR-99" in log.read_text(encoding="utf-8"))
            finally:
                process.terminate()
