"""Connections of the application's role: one transaction each, with its company set where it has one.

A session without a company sees no row of a company: row-level security compares every row with the setting that
`company` makes for its transaction. What belongs here: pools, transactions, and what to do when a
connection was lost because Postgres restarted. What does not: queries.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, nullcontext, suppress
from typing import Any, Final, Self, TypeAlias, TypeVar
from uuid import UUID

import psycopg
from psycopg import errors, sql
from psycopg_pool import AsyncConnectionPool, ConnectionPool

from warehouse.audit.visible import STAMP, STAMP_ALL
from warehouse.clock import Clock

Connection: TypeAlias = psycopg.Connection[Any]
AsyncConnection: TypeAlias = psycopg.AsyncConnection[Any]
T = TypeVar("T")

_BECOME: Final = "SELECT set_config('app.company_id', %s, true)"
_BECOME_AND_LET_GO: Final = f"{_BECOME}, set_config('synchronous_commit', 'off', true)"
_DURABLE: Final = f"{_BECOME}, pg_logical_emit_message(true, 'pcds', '')"
"""What gives a transaction a commit that makes durable all that was committed before it (decision 0016)."""
_COMMITS: Final = (
    "SELECT current_setting('transaction_read_only') = 'off' AND pg_logical_emit_message(true, 'pcds', '') IS NOT NULL"
)
"""A transaction of nothing but its commit."""
_NOBODY: Final = ""
_ATTEMPTS: Final = 8
_PAUSE_SECONDS: Final = 0.05
_REUNION_SECONDS: Final = 10.0
"""How long a caller waits for a database that restarts: the embedded one takes well under a second."""
_COLLIDED: Final = (errors.SerializationFailure, errors.DeadlockDetected, errors.UniqueViolation)
"""What ends a transaction because of another; the second time what the other has made is there to be found."""
_ENDED: Final = (errors.AdminShutdown, errors.CrashShutdown)
"""What a server that stops says to a connection, before it ends it."""


def _nothing(*_: object) -> None:
    """What there is to do meanwhile, where there is nothing."""


def become(connection: Connection, company_id: UUID) -> None:
    """Make the session one of the company until the transaction ends."""
    connection.execute(_BECOME, (str(company_id),))


class TransactionLost(psycopg.OperationalError):
    """The connection was lost before its transaction was known to be committed.

    `in_doubt`: the commit was sent and its answer did not come. Otherwise nothing of the transaction was done.
    """

    def __init__(self, *, in_doubt: bool) -> None:
        super().__init__("the connection was lost " + ("at the commit" if in_doubt else "before the commit"))
        self.in_doubt = in_doubt


class Pool:
    """Connections for threads: writes, workers, commands. Thread-safe; enter it or `open` it before use."""

    def __init__(self, url: str, *, size: int = 8, clock: Clock | None = None) -> None:
        self._url, self._clock = url, clock or Clock()
        self._pool: ConnectionPool[Connection] = ConnectionPool(
            url,
            min_size=1,
            max_size=size,
            open=False,
            timeout=_REUNION_SECONDS,
            num_workers=1,
            kwargs={"autocommit": True, "client_encoding": "utf8"},  # digests depend on it (warehouse.audit.chain)
        )

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(self, *exception: object) -> None:
        self.close()

    def open(self) -> Self:
        """Begin to serve; the database need not answer yet."""
        self._pool.open()
        return self

    def close(self) -> None:
        """End every connection."""
        self._pool.close()

    @contextmanager
    def company(
        self, company_id: UUID, *, pipelined: bool = False, durable_behind: bool = False
    ) -> Iterator[Connection]:
        """A transaction of one company: committed at the end of the block, rolled back when it raises.

        With `pipelined` its statements travel together: one that fails is told where a result is next looked at, or at
        the commit, and COPY is not possible. With `durable_behind` it lets go of its locks before it is durable, and
        waits for that afterwards, together with others (decision 0016). Raises `TransactionLost`.
        """
        with self._transaction(str(company_id), pipelined=pipelined, durable_behind=durable_behind) as connection:
            yield connection

    @contextmanager
    def system(self) -> Iterator[Connection]:
        """A transaction of no company, for tables that belong to none and functions across companies."""
        with self._transaction(_NOBODY) as connection:
            yield connection

    @contextmanager
    def listening(self, channel: str) -> Iterator[Connection]:
        """A connection beside the pool and outside transactions that hears what is notified on the channel."""
        with psycopg.connect(self._url, autocommit=True) as connection:
            connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
            yield connection

    def run(
        self,
        company_id: UUID,
        work: Callable[[Connection], T],
        *,
        then: Callable[[T], object] = _nothing,
        pipelined: bool = False,
        repeatable: bool = False,
    ) -> T:
        """The result of `work` in one transaction of the company, durable behind it, repeated as `retrying` says.

        `then` is called with the result while the commit travels: what it does costs the caller no time, and it holds
        no lock. What it raises is raised when the commit is done.
        """

        def once() -> T:
            with self._transaction(
                str(company_id), pipelined=pipelined, durable_behind=True, meanwhile=lambda: then(result)
            ) as connection:
                result = work(connection)
            return result

        return self.retrying(once, repeatable=repeatable)

    def asked(self, query: str, parameters: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """The rows of a query that is its own transaction and of no company; asked again where a connection died."""
        deadline = time.monotonic() + _REUNION_SECONDS
        while True:
            with self._pool.connection() as connection:
                try:
                    return connection.execute(query, parameters).fetchall()
                except psycopg.OperationalError:
                    if not connection.closed or time.monotonic() > deadline:
                        raise

    def retrying(self, work: Callable[[], T], *, repeatable: bool = False) -> T:
        """The result of `work`, which opens one transaction of its own, repeated where that is safe.

        That is where the database undid it because others were in its way, and where the connection was lost before
        the commit was sent. Was it lost after that, then the work may be done: it is repeated only when it is
        `repeatable`, which says that it finds that out for itself.
        """
        deadline, collisions = time.monotonic() + _REUNION_SECONDS, 0
        while True:
            try:
                return work()
            except _COLLIDED:
                collisions += 1
                if collisions == _ATTEMPTS:
                    raise
                time.sleep(_PAUSE_SECONDS * collisions)
            except TransactionLost as lost:
                if (lost.in_doubt and not repeatable) or time.monotonic() > deadline:
                    raise
                time.sleep(_PAUSE_SECONDS)

    @contextmanager
    def _transaction(
        self,
        company: str,
        *,
        pipelined: bool = False,
        durable_behind: bool = False,
        meanwhile: Callable[[], object] = _nothing,
    ) -> Iterator[Connection]:
        connection = self._pool.getconn() if pipelined else self._begun(company, durable_behind)
        committing = False
        try:
            with connection.pipeline() if pipelined else nullcontext():
                if pipelined:
                    _begin(connection, company, durable_behind)
                yield connection
                committing = True
                with connection.pipeline() if durable_behind and not pipelined else nullcontext():
                    connection.execute("COMMIT")
                    if durable_behind:
                        self._make_durable(connection, company)
                    meanwhile()
        except BaseException as error:
            if _was_lost(error, connection):
                raise TransactionLost(in_doubt=committing) from error
            _undo(connection)
            raise
        finally:
            self._pool.putconn(connection)

    def stamp(self, company_id: UUID | None = None) -> None:
        """Say of what was committed that it can be seen: of a company, or of all (decision 0033).

        `run` does so by itself. Where nobody does, a list of changes shows such a write until somebody has.
        """
        if company_id is None:
            with self.system() as connection:
                connection.execute(STAMP_ALL, (self._clock.moved(),))
        else:
            with self.company(company_id) as connection:
                connection.execute(STAMP, (self._clock.moved(),))

    def _make_durable(self, connection: Connection, company: str) -> None:
        """One transaction behind the commit, up to the pipeline's end: waits for the disk, stamps what it sees."""
        connection.execute(_DURABLE, (company,))
        connection.execute(STAMP, (self._clock.moved(),))

    def _begun(self, company: str, durable_behind: bool) -> Connection:
        """A connection with its transaction begun, in one round trip; one that proves dead is replaced."""
        deadline = time.monotonic() + _REUNION_SECONDS
        while True:
            connection = self._pool.getconn()
            try:
                with connection.pipeline():
                    _begin(connection, company, durable_behind)
            except BaseException as error:
                self._pool.putconn(connection)
                if not (_was_lost(error, connection) and time.monotonic() < deadline):
                    raise
                time.sleep(_PAUSE_SECONDS)
            else:
                return connection


class AsyncPool:
    """Connections for the event loop: reads. They commit each statement, or each pipeline up to its sync, by itself."""

    def __init__(self, url: str, *, size: int = 8) -> None:
        self._pool: AsyncConnectionPool[AsyncConnection] = AsyncConnectionPool(
            url,
            min_size=1,
            max_size=size,
            open=False,
            timeout=_REUNION_SECONDS,
            num_workers=1,
            kwargs={"autocommit": True},
        )

    async def __aenter__(self) -> Self:
        await self._pool.open()
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self._pool.close()

    def connection(self) -> AbstractAsyncContextManager[AsyncConnection]:
        """A connection without company and transaction, for statements that bring both in one pipeline.

        It may prove dead at its first use, as nothing is sent to find that out.
        """
        return self._pool.connection()

    @asynccontextmanager
    async def company(self, company_id: UUID) -> AsyncIterator[AsyncConnection]:
        """A transaction of one company, as `Pool.company`."""
        connection = await self._begun(str(company_id))
        try:
            yield connection
            await connection.execute("COMMIT")
        except BaseException:
            if not connection.closed:
                await connection.execute("ROLLBACK")
            raise
        finally:
            await self._pool.putconn(connection)

    async def _begun(self, company: str) -> AsyncConnection:
        deadline = time.monotonic() + _REUNION_SECONDS
        while True:
            connection = await self._pool.getconn()
            try:
                async with connection.pipeline():
                    await connection.execute("BEGIN")
                    await connection.execute(_BECOME, (company,))
            except BaseException as error:
                await self._pool.putconn(connection)
                if not (_was_lost(error, connection) and time.monotonic() < deadline):
                    raise
                await asyncio.sleep(_PAUSE_SECONDS)
            else:
                return connection


@contextmanager
def owning(owner_url: str, company_id: UUID | None = None) -> Iterator[Connection]:
    """A transaction of the owner on a connection of its own, with a company set where it has one.

    It may do what the application's role may not: see all companies, and change one.
    """
    with psycopg.connect(owner_url) as connection:
        connection.execute(_BECOME, [str(company_id or _NOBODY)])
        yield connection


async def first_row(
    connection: AsyncConnection, company_id: UUID, query: str, parameters: Mapping[str, Any]
) -> tuple[Any, ...] | None:
    """The first row of a query in a read-only transaction of the company, in one round trip; None where there is none.

    The connection is one of `AsyncPool.connection`.
    """
    async with connection.pipeline():
        await connection.execute("BEGIN READ ONLY")
        await connection.execute(_BECOME, [str(company_id)])
        found = await connection.execute(query, parameters)
        await connection.execute("COMMIT")
        return await found.fetchone()


async def commits(connection: AsyncConnection) -> bool:
    """Whether the database takes a commit: one that writes to its log and to no table."""
    return await (await connection.execute(_COMMITS)).fetchone() == (True,)


def _begin(connection: Connection, company: str, durable_behind: bool) -> None:
    connection.execute("BEGIN")
    connection.execute(_BECOME_AND_LET_GO if durable_behind else _BECOME, (company,))


def _undo(connection: Connection) -> None:
    with suppress(psycopg.OperationalError):  # a connection that is lost now has undone it already
        connection.rollback()


def _was_lost(error: BaseException, connection: Connection | AsyncConnection) -> bool:
    """Whether the connection is gone, and with it what of its transaction was not committed."""
    return isinstance(error, psycopg.OperationalError) and (connection.closed or isinstance(error, _ENDED))
