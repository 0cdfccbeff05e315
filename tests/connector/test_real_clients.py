"""Clients as people have them: the TypeScript ones of both generations and the inspector, in both eras."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.connector.serving import Served, allowed
from tests.waiting import PATIENCE_SECONDS
from tools import run_mcp_clients
from tools.node_packages import NODE


@pytest.fixture(scope="module")
def home() -> Path:
    found = run_mcp_clients.installed()
    if found is None:
        pytest.skip("the clients could not be installed: no npm registry answers here")
    return found


@pytest.mark.parametrize("script", [("older.mjs",), ("newer.mjs", "legacy"), ("newer.mjs", "2026-07-28")])
def test_a_client_finds_its_way_from_the_address_to_two_answers(home: Path, running: Served, script: tuple[str, ...]):
    """Discovery, registration, the person's consent, the exchange of the code: all of it as the client does it."""
    environment = os.environ | {"MCP_URL": running.url, "MCP_TOKEN": ""}
    command = [NODE, home / script[0], *script[1:]]
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as client:
        asked = json.loads(client.stdout.readline())
        back = allowed(running, asked["authorize"])
        said, _ = client.communicate(f"{back}\n", timeout=PATIENCE_SECONDS)
    assert client.returncode == 0
    told = json.loads(said)
    assert (told["server"], len(told["tools"]), told["items"]) == ("packaging-compliance", 22, 0)


def test_a_client_that_takes_either_era_reads_with_a_token(home: Path, running: Served):
    done = run_mcp_clients.ask(home, running.url, running.token, "newer.mjs", "auto")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["facts"] == 1


def test_the_inspector_finds_nothing_to_say_about_the_tools(home: Path, running: Served):
    for arguments in run_mcp_clients.INSPECTIONS:
        done = run_mcp_clients.inspect(home, running.url, running.token, *arguments)
        assert done.returncode == 0, (arguments, done.stderr, done.stdout)
        json.loads(done.stdout)
