"""Two API processes' worth of apps on one database and one data directory: a session of one is reached through both."""

import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn
from starlette.testclient import TestClient

from api.app import create
from connector.owners import Owner, folder_of
from tests.api.people import BASE, Browser
from tests.connector.oauth.authorising import Application
from tests.connector.oauth.conftest import CLOCK
from tests.connector.oauth.test_gate import older, opened
from warehouse.operate.database import Database
from warehouse.operate.settings import Settings

HANDSHAKE = "2025-11-25"


@pytest.fixture
def other(app: TestClient, database: Database) -> Iterator[TestClient]:
    """A second app beside the first, in an event loop of its own."""
    settings: Settings = app.app.state.service.settings
    with TestClient(create(settings, database, CLOCK), base_url=BASE, client=("127.0.0.1", 50_001)) as http:
        yield http


@pytest.fixture
def there(application: Application, other: TestClient) -> Application:
    """The same application, speaking to the second app."""
    return Application(Browser(other, application.browser.address), application.registered)


def session_of(answer) -> dict[str, str]:
    return {"Mcp-Session-Id": answer.headers["mcp-session-id"], "MCP-Protocol-Version": HANDSHAKE}


def test_a_session_is_reached_through_any_process(application, there):
    token = application.connected()["access_token"]
    here, elsewhere = opened(application, token), opened(there, token)
    assert here.headers["mcp-session-id"] != elsewhere.headers["mcp-session-id"]
    for answer in (here, elsewhere):
        for through in (application, there):
            listed = older(through, token, "tools/list", **session_of(answer))
            assert listed.status_code == 200, listed.text
            assert "list_packaging_items" in listed.text
            assert listed.headers["x-correlation-id"]


def test_the_owner_lets_in_or_refuses_whoever_comes_by_another_process(application, there):
    token = application.connected()["access_token"]
    session = session_of(opened(application, token))
    assert older(there, "unknown", "tools/list", **session).status_code == 401
    assert older(there, token, "tools/list", Host="evil.example", **session).status_code == 421
    large = there.browser.http.post("/api/mcp", content=b" " * (2 * 2**20 + 1), headers=session)
    assert large.status_code == 413


def test_a_session_whose_process_has_ended_is_not_found(application, app, database):
    settings, token = app.app.state.service.settings, application.connected()["access_token"]
    with TestClient(create(settings, database, CLOCK), base_url=BASE, client=("127.0.0.1", 50_001)) as http:
        session = session_of(opened(Application(Browser(http, "10.1.1.1"), application.registered), token))
        assert older(application, token, "tools/list", **session).status_code == 200
    assert older(application, token, "tools/list", **session).status_code == 404
    stale = folder_of(settings.data_dir) / f"{'0' * 16}.sock"
    stale.touch()
    killed = session | {"Mcp-Session-Id": f"{'0' * 16}-x"}
    assert older(application, token, "tools/list", **killed).status_code == 404
    with TestClient(create(settings, database, CLOCK)):
        assert not stale.exists(), "the next start removes what was left"


@pytest.mark.anyio
async def test_a_socket_has_its_name_only_once_it_listens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Another process that starts between would take it for one of a process that was killed."""
    folder, named_early = folder_of(tmp_path), list[Path]()
    begin = uvicorn.Server.startup

    async def watched(server: uvicorn.Server, sockets: object = None) -> None:
        await begin(server)
        named_early.extend(folder.glob("*.sock"))

    monkeypatch.setattr(uvicorn.Server, "startup", watched)
    owner = Owner(lambda *_: None, folder)
    async with owner.reachable(lambda *_: None):
        assert named_early == []
        assert [place.name for place in folder.iterdir()] == [f"{owner.name}.sock"]
        with socket.socket(socket.AF_UNIX) as other:
            other.connect(str(folder / f"{owner.name}.sock"))
    assert list(folder.iterdir()) == []


def test_a_session_ends_through_any_process(application, there):
    token = application.connected()["access_token"]
    session = session_of(opened(application, token))
    sent = session | {"Authorization": f"Bearer {token}"}
    assert there.browser.http.delete("/api/mcp", headers=sent).status_code == 200
    assert older(application, token, "tools/list", **session).status_code == 404


@pytest.mark.parametrize("name", ["../../etc/passwd-x", "0000-x", "x" * 5_000, "-", f"{'0' * 16}-"])
def test_a_made_up_name_leads_nowhere(application, name):
    token = application.connected()["access_token"]
    answer = older(application, token, "tools/list", **{"Mcp-Session-Id": name, "MCP-Protocol-Version": HANDSHAKE})
    assert answer.status_code == 404


def test_sockets_are_for_the_services_account_and_fit_under_a_long_path(tmp_path: Path):
    for data_dir in (tmp_path, tmp_path / ("long" * 40)):
        folder = folder_of(data_dir)
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert len(os.fsencode(folder / "0123456789abcdef.sock")) <= 100 or data_dir == tmp_path
        assert folder_of(data_dir) == folder, "every process finds it"
