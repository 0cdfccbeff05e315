"""Bridges Dagster's web socket, over which its pages follow runs, for signed-in staff, frame by frame.

Dagster's side answers subscriptions only (`pipelines.engine.ui`). The session is checked again each minute.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

import anyio
import psycopg
import websockets
from psycopg_pool import PoolTimeout
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState
from websockets.asyncio.client import ClientConnection, connect

from api.service import service_of
from api.staff.addressed import is_from_our_page, is_to_us
from api.staff.sessions import member_of
from api.staff.upstream import GRAPHQL, upstream_of

PROTOCOL: Final = "graphql-ws"
RECHECK_SECONDS: Final = 60.0
_LARGEST_QUESTION: Final = 2**18
_LARGEST_FRAME: Final = 16 * 2**20
"""Largest frames to Dagster, in characters, and from it, in bytes: the events of a run come in batches."""
_DISCONNECTED: Final = (websockets.ConnectionClosed, WebSocketDisconnect, RuntimeError, psycopg.Error, PoolTimeout)
"""One side has disconnected, or the session cannot be checked any more: the bridge ends."""
_REFUSED: Final = 1008  # RFC 6455, section 7.4.1
_GONE: Final = 1011


async def bridge_socket(socket: WebSocket) -> None:
    """Bridge a page of Dagster, or refuse: closing before accepting answers with 403."""
    is_allowed = service_of(socket).settings.dagster_ui and is_to_us(socket) and is_from_our_page(socket)
    if not (is_allowed and PROTOCOL in socket.scope["subprotocols"] and await member_of(socket) is not None):
        await socket.close(_REFUSED)
        return
    dagster = upstream_of(socket)
    try:
        async with connect(
            f"ws://{dagster.address}{GRAPHQL}",
            subprotocols=[websockets.Subprotocol(PROTOCOL)],
            proxy=None,
            additional_headers=dagster.key_header,
            max_size=_LARGEST_FRAME,
            compression=None,
            open_timeout=5,
            close_timeout=1,
        ) as upstream:
            await socket.accept(PROTOCOL)
            await _bridge(socket, upstream)
    except (OSError, TimeoutError, websockets.WebSocketException):
        pass  # Dagster does not answer; its pages reconnect by themselves
    if socket.application_state != WebSocketState.DISCONNECTED != socket.client_state:
        await socket.close(_GONE)


async def _bridge(socket: WebSocket, upstream: ClientConnection) -> None:
    async with anyio.create_task_group() as tasks:

        async def until(work: Callable[[WebSocket, ClientConnection], Awaitable[None]]) -> None:
            with suppress(*_DISCONNECTED):
                await work(socket, upstream)
            tasks.cancel_scope.cancel()

        for work in (_forward_to_dagster, _forward_to_page, _check_session):
            tasks.start_soon(until, work)


async def _forward_to_dagster(socket: WebSocket, upstream: ClientConnection) -> None:
    while frame := (await socket.receive()).get("text"):  # bytes and empty frames are not part of this protocol
        if len(frame) > _LARGEST_QUESTION:
            return
        await upstream.send(frame)


async def _forward_to_page(socket: WebSocket, upstream: ClientConnection) -> None:
    async for frame in upstream:
        await (socket.send_text(frame) if isinstance(frame, str) else socket.send_bytes(frame))


async def _check_session(socket: WebSocket, _: ClientConnection) -> None:
    while await member_of(socket) is not None:
        await anyio.sleep(RECHECK_SECONDS)
    await socket.close(_REFUSED)
