"""The protocol's own suite: what it scores in each era, with its fixtures beside the product's own tools, and what a
running service can be asked without them."""

import gc
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from connector import server
from tests.connector.fixtures import mounted
from tests.connector.serving import Served, allowed, served
from tests.waiting import PATIENCE_SECONDS
from tools import mcp_conformance
from tools.ports import free_port


@pytest.fixture(scope="module")
def suite() -> Path:
    program = mcp_conformance.installed()
    if program is None:
        pytest.skip("the conformance suite could not be installed: no npm registry answers here")
    return program


@pytest.fixture
def fitted(monkeypatch, database, pool, company, tmp_path) -> Iterator[Served]:
    """The application whose connector carries the suite's fixtures beside its own tools."""
    product = server.build_server
    monkeypatch.setattr(server, "build_server", lambda service: mounted(product(service)))
    with served(database, pool, company, tmp_path) as place:
        yield place
    gc.collect()


@pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")  # the suite asks for logging
@pytest.mark.parametrize(("revision", "scenarios"), [("2025-11-25", 30), ("2026-07-28", 37)])
def test_every_scored_scenario_passes(suite: Path, fitted: Served, revision: str, scenarios: int):
    with mcp_conformance.Proxy(fitted.port, fitted.token) as proxy:
        found, said = mcp_conformance.run(suite, proxy.port, "--requirements", revision)
    scored, _, unscored = said.partition(f"Not scored for {revision}")
    names = [name for name in found if f" {name} (" not in unscored]
    assert len(names) == scenarios
    assert [name for name in names if not found[name]] == [], scored[-8_000:]


def test_what_needs_no_fixture_passes_without_any(suite: Path, running: Served):
    with mcp_conformance.Proxy(running.port, running.token) as proxy:
        assert mcp_conformance.unfit(suite, proxy.port) == []


def test_the_scenarios_for_authorization_servers_pass(suite: Path, running: Served):
    """The two there are: the rest of the suite's `auth/` scenarios hold clients against servers of its own."""
    back = free_port()
    redirect = f"http://127.0.0.1:{back}/callback"
    said = {"client_name": "Suite", "redirect_uris": [redirect], "token_endpoint_auth_method": "none"}
    registered = httpx2.post(f"{running.base}/oauth/register", json=said, timeout=PATIENCE_SECONDS).json()
    asked = mcp_conformance.authorization(suite, running.base, registered["client_id"], running.url, back)
    output = []
    with subprocess.Popen(asked, stdout=subprocess.PIPE, text=True) as run:
        for line in run.stdout:
            output.append(line)
            if line.startswith(f"{running.base}/oauth/authorize"):
                httpx2.get(allowed(running, line.strip()), timeout=PATIENCE_SECONDS)
    assert run.returncode == 0, "".join(output)
    passed = {"authorization-server-metadata-endpoint": True, "authorization-code-grant": True}
    assert mcp_conformance.results("".join(output)) == passed
