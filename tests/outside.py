"""No test may see a call to the outside while a transaction is open: one that hangs would keep locks from others.

The outside is the object store, the mail server, receivers of webhooks, Dagster's webserver and documents on the web.
Every test runs so, in this process: the next call inside a transaction fails the test that reaches it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import psycopg
import pytest

from api.operate.launching import Launching
from connector.oauth import clients
from pipelines.changes import Sender
from pipelines.suppliers import MailServer
from warehouse.operate.objects import Deadlines
from warehouse.operate.sessions import Connection, Pool

_OPEN: ContextVar[int] = ContextVar("open transactions of this task or thread", default=0)
_CALLS = ((Deadlines, "_watched"), (MailServer, "send"), (Sender, "send"), (Launching, "_ask"), (clients, "_got"))
_TRANSACTIONS = ((Pool, "_transaction"),)


def check() -> None:
    """Fail where a transaction is open."""
    assert not _OPEN.get(), "the outside is called while a transaction is open"


@contextmanager
def _counted() -> Iterator[None]:
    token = _OPEN.set(_OPEN.get() + 1)
    try:
        yield
    finally:
        _OPEN.reset(token)


def _checked(call: Callable[..., Any]) -> Callable[..., Any]:
    def checked(*given: object, **named: object) -> object:
        check()
        return call(*given, **named)

    return checked


class _Watched:
    """A transaction that is counted while it is open."""

    def __init__(self, inner: Any) -> None:
        self._inner, self._count = inner, _counted()

    def __enter__(self) -> object:
        opened = self._inner.__enter__()
        self._count.__enter__()
        return opened

    def __exit__(self, *fault: object) -> object:
        self._count.__exit__(None, None, None)
        return self._inner.__exit__(*fault)


def _enter(connection: Connection) -> Connection:
    """Enter a connection outside a pool, which is one transaction to its end unless it commits each statement."""
    if not connection.autocommit:
        _OPEN.set(_OPEN.get() + 1)
    return connection


def _leave(leave: Callable[..., None]) -> Callable[..., None]:
    def left(connection: Connection, *fault: object) -> None:
        if not connection.autocommit:
            _OPEN.set(_OPEN.get() - 1)
        leave(connection, *fault)

    return left


def _watched(transaction: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *given, **named: _Watched(transaction(*given, **named))


def watch() -> Iterator[None]:
    """Watch every call and every transaction of this process until the generator ends."""
    with pytest.MonkeyPatch.context() as patched:
        for owner, name in _CALLS:
            patched.setattr(owner, name, _checked(getattr(owner, name)))
        for owner, name in _TRANSACTIONS:
            patched.setattr(owner, name, _watched(getattr(owner, name)))
        patched.setattr(psycopg.Connection, "__enter__", _enter)
        patched.setattr(psycopg.Connection, "__exit__", _leave(psycopg.Connection.__exit__))
        yield
