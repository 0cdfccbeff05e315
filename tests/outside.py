"""No test may see a call to the outside while a transaction is open: one that hangs would keep locks from others.

The outside is the object store, the mail server, receivers of webhooks, Dagster's webserver and documents on the web.
Every test runs so, in this process: the next call inside a transaction fails the test that reaches it.
"""

from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

import psycopg
import pytest

from api.operate.launching import Launching
from connector.oauth import clients
from pipelines.changes import Sender
from pipelines.suppliers import MailServer
from warehouse.operate.objects import Deadlines
from warehouse.operate.sessions import Connection, Transaction

_OPEN: ContextVar[int] = ContextVar("open transactions of this task or thread", default=0)
_CALLS = ((Deadlines, "_watched"), (MailServer, "send"), (Sender, "send"), (Launching, "_ask"), (clients, "_got"))


def check() -> None:
    """Fail where a transaction is open."""
    assert not _OPEN.get(), "the outside is called while a transaction is open"


def _checked(call: Callable[..., Any]) -> Callable[..., Any]:
    def checked(*given: object, **named: object) -> object:
        check()
        return call(*given, **named)

    return checked


def _begun(begin: Callable[[Transaction], Connection]) -> Callable[[Transaction], Connection]:
    def begun(transaction: Transaction) -> Connection:
        connection = begin(transaction)
        _OPEN.set(_OPEN.get() + 1)
        return connection

    return begun


def _ended(end: Callable[..., bool | None]) -> Callable[..., bool | None]:
    def ended(transaction: Transaction, *fault: object) -> bool | None:
        _OPEN.set(_OPEN.get() - 1)
        return end(transaction, *fault)

    return ended


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


def watch() -> Iterator[None]:
    """Watch every call and every transaction of this process until the generator ends."""
    with pytest.MonkeyPatch.context() as patched:
        for owner, name in _CALLS:
            patched.setattr(owner, name, _checked(getattr(owner, name)))
        patched.setattr(Transaction, "__enter__", _begun(Transaction.__enter__))
        patched.setattr(Transaction, "__exit__", _ended(Transaction.__exit__))
        patched.setattr(psycopg.Connection, "__enter__", _enter)
        patched.setattr(psycopg.Connection, "__exit__", _leave(psycopg.Connection.__exit__))
        yield
