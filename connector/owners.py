"""Routes sessions of the older handshake between API processes: a request goes to the process with its session.

A session is in the memory of the process that accepted it, and the next request of its client may reach another one.
A session id therefore begins with the name of its owner; a process that receives another's id passes the request on
unchanged over that process's socket in the data directory. The owner admits or refuses it; nothing is decided here.
The stateless revision has no sessions, so the process that receives a request answers it (decision 0020).
"""

import asyncio
import os
import re
import secrets
import socket
import stat
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from tempfile import gettempdir
from typing import Final

import anyio
import httpx2
import uvicorn
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from connector.gate import Refusal, body_of, replay_body

_HEADER: Final = "mcp-session-id"
_OWNED: Final = re.compile(r"([0-9a-f]{16})-([\x21-\x7e]+)")
_LONGEST_PATH: Final = 100
"""Bytes of a socket's path: Linux accepts 107, other systems 103."""
_PAUSE_SECONDS: Final = 0.01
_CORRELATION: Final = "x-correlation-id"
_OF_THE_HOP: Final = ("connection", "keep-alive", "transfer-encoding", "upgrade", "date", "server")
"""Headers that are not passed on (RFC 9110, section 7.6.1), and two that our own server adds."""


class Owner:
    """ASGI application around the gate: serves this process's sessions, and passes on requests for others."""

    def __init__(self, app: ASGIApp, folder: Path) -> None:
        """Wrap `app`, which answers this process's sessions; `folder` contains the sockets of all processes."""
        self._app, self._folder, self.name = app, folder, secrets.token_hex(8)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request here, or pass it to its owner."""
        match = _OWNED.fullmatch(Headers(scope=scope).get(_HEADER, ""))
        if match and match[1] != self.name and self._socket(match[1]).exists():
            try:
                body = await body_of(Request(scope, receive))
            except Refusal as refusal:
                await refusal.response(scope["state"]["correlation_id"])(scope, receive, send)
                return
            receive, passed = replay_body(body, receive), _Passed(send)
            with suppress(httpx2.TransportError):  # the owner has died with its sessions: the answer below says so
                await _pass_on(self._socket(match[1]), Request(scope), body, receive, passed)
            if passed.begun:
                return  # an answer that broke off stays incomplete: its client begins a new session
        if match and match[1] == self.name:
            scope = {**scope, "headers": list(scope["headers"])}
            MutableHeaders(scope=scope)[_HEADER] = match[2]

        async def send_with_owner(message: Message) -> None:
            if message["type"] == "http.response.start" and _HEADER in (headers := MutableHeaders(scope=message)):
                headers[_HEADER] = f"{self.name}-{headers[_HEADER]}"
            await send(message)

        await self._app(scope, receive, send_with_owner)

    @asynccontextmanager
    async def reachable(self, app: ASGIApp) -> AsyncIterator[None]:
        """Accept requests from other processes while the block runs; `app` answers them."""
        _clean(self._folder)
        place, new = self._socket(self.name), self._folder / self.name
        server = _Inner(
            uvicorn.Config(
                app,
                uds=str(new),
                lifespan="off",
                log_config=None,
                log_level="warning",
                access_log=False,
                proxy_headers=False,
                server_header=False,
                date_header=False,
                timeout_graceful_shutdown=1,
            )
        )
        serving = asyncio.create_task(server.serve())
        try:
            while not (server.started or serving.done()):
                await asyncio.sleep(_PAUSE_SECONDS)
            new.rename(place)  # not before it listens: `_clean` of another process would remove it
            yield
        finally:
            place.unlink(missing_ok=True)
            server.should_exit = True
            await serving

    def _socket(self, name: str) -> Path:
        return self._folder / f"{name}.sock"


class _Passed:
    """Sends messages, and records whether an answer has begun."""

    def __init__(self, send: Send) -> None:
        self._send, self.begun = send, False

    async def __call__(self, message: Message) -> None:
        self.begun = True
        await self._send(message)


class _Inner(uvicorn.Server):
    """A server beside the process's own, which leaves signals to that one."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def folder_of(data_dir: Path) -> Path:
    """Return the folder of the processes' sockets: only its own account may use it, and its path is short enough."""
    folder = data_dir / "connector"
    if len(str(folder).encode()) + len("/0123456789abcdef.sock") > _LONGEST_PATH:
        folder = Path(gettempdir()) / f"pcds-{sha256(str(data_dir).encode()).hexdigest()[:16]}"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = folder.stat()
    if status.st_uid != os.getuid():
        raise PermissionError(f"{folder} belongs to another account; requests with tokens pass through it.")
    if stat.S_IMODE(status.st_mode) & 0o077:
        folder.chmod(0o700)
    return folder


def _clean(folder: Path) -> None:
    """Remove the sockets of processes that were killed."""
    for place in folder.glob("*.sock"):
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.connect(str(place))
            except OSError:
                place.unlink(missing_ok=True)


async def _pass_on(place: Path, request: Request, body: bytes, receive: Receive, send: Send) -> None:
    """Pass a request to the process behind a socket, until the client disconnects. Raises `httpx2.TransportError`."""
    identifier = request.state.correlation_id
    kept = [(name, value) for name, value in request.headers.items() if name not in (*_OF_THE_HOP, _CORRELATION)]
    async with (
        httpx2.AsyncClient(transport=httpx2.AsyncHTTPTransport(uds=str(place), verify=False), timeout=None) as client,
        client.stream(
            request.method,
            f"http://connector{request.url.path}",
            headers=[*kept, (_CORRELATION, identifier)],
            content=body,
        ) as answer,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(_until_gone, receive, tasks.cancel_scope)
        await _answer(answer, send)
        tasks.cancel_scope.cancel()


async def _answer(answer: httpx2.Response, send: Send) -> None:
    headers = [(name, value) for name, value in answer.headers.raw if name.decode().lower() not in _OF_THE_HOP]
    await send({"type": "http.response.start", "status": answer.status_code, "headers": headers})
    async for chunk in answer.aiter_raw():
        await send({"type": "http.response.body", "body": chunk, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _until_gone(receive: Receive, scope: anyio.CancelScope) -> None:
    """Cancel the owner's stream when the client has disconnected."""
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()
