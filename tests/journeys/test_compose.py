"""The compose file's own commands, started as processes: an import through one API is read through the other.

Without a container engine a container is a process here: its command, the image's variables and those of the
`env_file`, and for each volume a folder, at the places where the file mounts them. What shares a network in the file
has ports of its own here. Not tried: users, the read-only root, and the engine's reading of the file.
"""

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import httpx2
import orjson
import psycopg
import pytest
import yaml

from tests import mailbox as mailboxes
from tests.conftest import migrated
from tests.mailbox import Mailbox
from tests.receiver import Receiver, opened
from tests.waiting import PATIENCE_SECONDS, wait_until
from tools.ports import free_port
from warehouse.operate import dagster_home
from warehouse.operate.dagster_home import answers
from warehouse.operate.database import Database
from warehouse.operate.settings import Settings

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))["services"]
OURS = {name: service for name, service in SERVICES.items() if service["image"] == "pcds"}
FILE = b"SKU code,SKU name\r\n" + b"".join(b"S-%d,Jar %d\r\n" % (number, number) for number in range(40))


@dataclass(slots=True)
class Composed:
    """The file's services on this machine, in a folder of their own."""

    folder: Path
    database: str
    ports: dict[tuple[str, str], int] = field(default_factory=dict)
    """The port here by the service that has the network, and the port there."""
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    more: dict[str, str] = field(default_factory=dict)
    """What an operator adds to compose.env."""

    def port(self, service: str, there: str = "8000") -> int:
        owner = OURS[service].get("network_mode", f"service:{service}").removeprefix("service:")
        return self.ports.setdefault((owner, there), free_port())

    def place(self, service: str) -> Path:
        """What the service has at /data: its first volume, and in it links to what it mounts below, and its secrets."""
        mounts = sorted(volume.split(":") for volume in OURS[service]["volumes"])
        [own] = [name for name, target in mounts if target == "/data"]
        data = self.folder / own
        for name, _ in mounts:
            (self.folder / name).mkdir(mode=0o711, exist_ok=True)
        for name, target in mounts:
            if name != own and not (link := data / Path(target).relative_to("/data")).is_symlink():
                link.symlink_to(self.folder / name)
        for secret in OURS[service].get("secrets", ()):
            key = data / Path(secret["target"]).relative_to("/data")
            key.touch(mode=0o600)
            key.write_bytes(secret["source"].encode().ljust(32, b"k"))
        return data

    def variables(self, service: str) -> dict[str, str]:
        """The image's, then the file's, with what can only be of this machine."""
        found = {**image_variables(), **file_variables(DEPLOY / "compose.env.example")}
        data = str(self.place(service))
        return (
            {name: data if value == "/data" else value for name, value in found.items()}
            | self.more
            | {
                "DATABASE_URL": self.database,
                "PCDS_PORT": str(self.port(service)),
                "PCDS_DAGSTER_PORT": str(self.port(service, "3000")),
                "PATH": found["PATH"].replace("/opt/venv/bin", str(Path(sys.executable).parent)),
            }
        )

    def run(self, service: str, command: list[str]) -> subprocess.CompletedProcess[bytes]:
        """A command in the service's container, to its end."""
        return subprocess.run(
            command, cwd=ROOT, env=self.variables(service), capture_output=True, check=False, timeout=PATIENCE_SECONDS
        )

    def pcds(self, *arguments: str) -> dict[str, Any]:
        """An operator's command, as docs/containers.md has it typed."""
        done = self.run("api-1", ["pcds", *arguments, "--json"])
        assert done.returncode == 0, done.stderr.decode()
        return dict(orjson.loads(done.stdout))

    def up(self) -> None:
        """Start all in the order of `depends_on`; what others wait for to end must succeed."""
        awaited = {name for each in OURS.values() for name in each["depends_on"] if name in OURS}
        for name in awaited:
            done = self.run(name, OURS[name]["command"])
            assert done.returncode == 0, done.stderr.decode()
        for name in OURS.keys() - awaited:
            with (self.folder / f"{name}.log").open("wb") as log:
                self.processes[name] = subprocess.Popen(
                    OURS[name]["command"], cwd=ROOT, env=self.variables(name), stdout=log, stderr=log
                )

    def said(self) -> str:
        return "\n".join(f"{log.stem}: {log.read_text(encoding='utf-8')[-800:]}" for log in self.folder.glob("*.log"))

    def down(self) -> dict[str, int]:
        """Stop all as an engine does, once all have started; return how each ended.

        A code server that is stopped while it loads the definitions ends with 1: Dagster's command is not ready then.
        """
        for name in OURS:
            if OURS[name]["command"][-1] == "dagster-code":
                data = Path(self.variables(name)["PCDS_DATA_DIR"])
                socket = dagster_home.code_socket(Settings.load(data_dir=data))
                wait_until(lambda of=socket: answers(of), otherwise=self.said)
        for process in self.processes.values():
            process.send_signal(signal.SIGTERM)
        return {name: process.wait(PATIENCE_SECONDS) for name, process in self.processes.items()}


def image_variables() -> dict[str, str]:
    text = (DEPLOY / "Containerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    [line] = re.findall(r"^ENV (.+)$", text, re.MULTILINE)
    found = dict(word.split("=", 1) for word in shlex.split(line))
    return found | {"PATH": found["PATH"].replace("$PATH", os.defpath)}


def file_variables(path: Path) -> dict[str, str]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


@pytest.fixture
def composed(server: Database, open_dir: Path) -> Iterator[Composed]:
    """Nothing runs but Postgres, with the empty database that the file's image makes.

    Another database comes first: its roles are the server's, and the operator's logins join them.
    """
    with migrated(server):
        pass
    name = f"pcds_compose_{uuid4().hex[:8]}"
    with psycopg.connect(server.owner_url, autocommit=True) as owner:
        owner.execute(f"CREATE DATABASE {name}")
    composed = Composed(open_dir, server.with_name(name).owner_url)
    try:
        yield composed
    finally:
        for process in composed.processes.values():
            process.kill()
            process.wait()
        with psycopg.connect(server.owner_url, autocommit=True) as owner:
            owner.execute(f"DROP DATABASE {name} WITH (FORCE)")


def audit_key_of(composed: Composed, worker: str, folder: Path) -> str:
    """The public key by which others check the heads that a worker signs."""
    folder.mkdir()
    done = composed.run(worker, ["pcds", "audit", "ship", "--to", str(folder), "--json"])
    assert done.returncode == 0, done.stderr.decode()
    return str(orjson.loads(done.stdout)["public_key"])


def test_an_import_through_one_api_is_read_through_the_other(composed: Composed) -> None:
    """And workers, which have data directories of their own, send its webhook and mail a link that the APIs know."""
    with opened() as receiver, mailboxes.opened() as mailbox:
        composed.more = {
            "PCDS_WEBHOOKS_TO_LOOPBACK": "true",
            "PCDS_SMTP_URL": mailbox.url,
            "PCDS_MAIL_FROM": "packaging@brand.example",
        }
        composed.up()
        use(composed, receiver, mailbox)
        keys = {audit_key_of(composed, name, composed.folder / f"heads-{name}") for name in ("worker-1", "worker-2")}
        assert len(keys) == 1, "all workers sign as one deployment"
        ended = composed.down()
    assert {*ended.values()} <= {0, -signal.SIGTERM}, ended


def use(composed: Composed, receiver: Receiver, mailbox: Mailbox) -> None:
    first, second = (f"http://127.0.0.1:{composed.port(name)}" for name in ("api-1", "api-2"))
    with httpx2.Client(timeout=PATIENCE_SECONDS) as client:

        def ready(address: str) -> bool:
            with suppress(httpx2.TransportError):
                return client.get(f"{address}/readyz").status_code == 200
            return False

        for address in (first, second):
            wait_until(lambda of=address: ready(of), otherwise=composed.said)
        for name in ("api-1", "api-2"):
            _, *probe = OURS[name]["healthcheck"]["test"]
            done = composed.run(name, [word.replace("8000", str(composed.port(name))) for word in probe])
            assert done.returncode == 0, done.stderr.decode()
        company = composed.pcds("company", "add", "--name", "Acme", "--plan", "enterprise")
        issued = composed.pcds("key", "issue", "--company", company["id"], "--name", "ERP")
        key = {"X-API-Key": issued["api_key"]}
        hook = client.post(f"{first}/api/v1/webhooks", headers=key, json={"url": receiver.url})
        assert hook.status_code == 201, hook.text
        sent = client.post(f"{first}/api/v1/imports", headers=key, files={"file": ("portfolio.csv", FILE)})
        assert sent.status_code == 202, sent.text
        poll = f"{second}{sent.json()['poll_url']}"

        def done() -> bool:
            time.sleep(1)  # each poll counts against the key's limit
            return client.get(poll, headers=key).json()["status"] in ("completed", "failed")

        wait_until(done, otherwise=composed.said)
        report = client.get(poll, headers=key).json()
        assert report["status"] == "completed", report
        found = client.get(f"{second}/api/v1/skus", headers=key, params={"limit": 1}).json()
        assert found["pagination"]["total"] == 40
        wait_until(lambda: receiver.got, otherwise=composed.said)
        assert receiver.got[0].is_signed_by(hook.json()["secret"])
        hooked = client.get(f"{second}/api/v1/webhooks/{hook.json()['data']['id']}", headers=key).json()["data"]
        assert hooked["state"] == "active", hooked
        part = {"component_type": "cap", "material_family": "plastic"}
        made = {"sku_code": "S-1", "name": "Jar 1", "components": [part]}
        assert client.post(f"{first}/api/v1/skus", headers=key, json=made).status_code == 200
        body = {"supplier_name": "Caps AG", "supplier_email": "a@caps.example", "sku_codes": ["S-1"]}
        asked = client.post(f"{first}/api/v1/supplier-enquiries", headers=key, json=body)
        assert asked.status_code == 201, asked.text
        wait_until(lambda: mailbox.mails, otherwise=composed.said)
        link = asked.json()["url"]
        assert link in mailbox.mails[0].get_body().get_content(), "the worker's link is the API's"
        assert client.get(f"{second}{urlsplit(link).path}").status_code == 200
