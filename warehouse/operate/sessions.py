"""Opens transactions as the application's role, with their company set where they have one.

A session without a company sees no company's rows: row-level security compares every row with the setting that
`company` makes for its transaction. What belongs here: pools, transactions, and the retries after a lost connection
when Postgres restarts. What does not: queries.
"""

import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self, TypeAlias, TypeVar  # Any: rows, whose types the statement says
from urllib.parse import urlsplit, urlunsplit
from uuid import UUID
from weakref import WeakKeyDictionary

import psycopg
from psycopg import errors, sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import AsyncConnectionPool, ConnectionPool

from warehouse.audit.visible import STAMP, STAMP_ALL
from warehouse.operate.clock import Clock

Connection: TypeAlias = psycopg.Connection[Any]
AsyncConnection: TypeAlias = psycopg.AsyncConnection[Any]
Cursor: TypeAlias = psycopg.Cursor[Any]
AsyncCursor: TypeAlias = psycopg.AsyncCursor[Any]
"""Rows are tuples of any values: a query is a text, and what it selects is known to the module that has it."""
T = TypeVar("T")

_BECOME: Final = "SELECT set_config('app.company_id', %s, true)"
_BECOME_AND_LET_GO: Final = f"{_BECOME}, set_config('synchronous_commit', 'off', true)"
_DURABLE: Final = f"{_BECOME}, pg_logical_emit_message(true, 'pcds', '')"
"""Begins a transaction whose commit also makes all earlier commits durable (decision 0016)."""
_COMMITS: Final = (
    "SELECT current_setting('transaction_read_only') = 'off' AND pg_logical_emit_message(true, 'pcds', '') IS NOT NULL"
)
"""A transaction that does nothing but commit."""
_TAKE_TURN: Final = "SELECT pg_try_advisory_lock(hashtextextended(%s, 0))"
_END_TURN: Final = "SELECT pg_advisory_unlock(hashtextextended(%s, 0))"
_NOBODY: Final = ""
_PAUSE_SECONDS: Final = 0.05
_LONGEST_PAUSE_SECONDS: Final = 0.4
_ATTEMPTS: Final = 8
_COLLISIONS_SECONDS: Final = 30.0
"""How long work is repeated that others undo, and how often where it takes longer.

A writer of sixty new codes among twenty writers was undone eight times in four seconds: each time another had stored
some of them, so that it ends, but no count says when.
"""
_NEWER: Final = """
WITH now AS (SELECT pg_snapshot_xmin(current)::text::bigint AS oldest, pg_snapshot_xmax(current)::text::bigint AS next
    FROM pg_current_snapshot() AS current)
SELECT oldest, %(since)s::bigint IS NOT NULL AND EXISTS (
    SELECT FROM {table} AS held WHERE next - ((next - held.xmin::text::bigint) & 4294967295) >= %(since)s::bigint)
FROM now"""
"""The oldest transaction under way, and whether a row of the session's company was written since `since` was that one.

Rows have the last 32 bits of their transaction's number.
"""
_REUNION_SECONDS: Final = 10.0
"""How long a caller waits for a database that restarts: the embedded one takes well under a second."""
_COLLIDED: Final = (errors.SerializationFailure, errors.DeadlockDetected, errors.UniqueViolation)
"""Errors that end a transaction because of another one; a second attempt finds the other's rows."""
_ENDED: Final = (errors.AdminShutdown, errors.CrashShutdown)
"""Errors that a stopping server sends before it closes a connection."""


_LATER: Final[WeakKeyDictionary[Connection, list[Callable[[], object]]]] = WeakKeyDictionary()
"""What each open transaction has put off until its commit."""


def _in_utc(url: str) -> str:
    """Return the address of sessions whose instants come out in UTC, whatever the server is set to."""
    options = conninfo_to_dict(url).get("options") or ""
    return make_conninfo(url, options=f"{options} -c timezone=UTC".lstrip())


def become(connection: Connection, company_id: UUID) -> None:
    """Set the session's company until the transaction ends."""
    connection.execute(_BECOME, (str(company_id),))


def after_commit(connection: Connection, work: Callable[[], object]) -> None:
    """Put off work until the transaction of a `Pool` has committed and its connection is free for others.

    For calls to the outside, which must not keep locks; they are dropped where the transaction is rolled back.
    """
    _LATER.setdefault(connection, []).append(work)


class TransactionLost(psycopg.OperationalError):
    """The connection was lost before the service knew that its transaction was committed.

    `in_doubt`: the commit was sent and its answer did not come. Otherwise no part of the transaction was done.
    """

    def __init__(self, *, in_doubt: bool) -> None:
        super().__init__("the connection was lost " + ("at the commit" if in_doubt else "before the commit"))
        self.in_doubt = in_doubt


@dataclass(slots=True)
class Savepoint:
    """A part of a transaction; what it wrote is taken back at its end, unless `keep` is set."""

    keep: bool = False


@contextmanager
def savepoint(connection: Connection) -> Iterator[Savepoint]:
    """Open a part of the caller's transaction that can be taken back alone."""
    part = Savepoint()
    connection.execute("SAVEPOINT part")
    try:
        yield part
    finally:
        connection.execute("RELEASE SAVEPOINT part" if part.keep else "ROLLBACK TO SAVEPOINT part")


class _LatestFirst(deque[T]):
    """The free connections of a pool: the one that was put back last is taken first.

    Its session has the statements and the pages at hand; taken in turns, eight sessions cost Postgres a third more.
    """

    def popleft(self) -> T:
        """Take the last one."""
        return self.pop()


class Pool:
    """A pool of connections for threads: writes, workers, commands. Thread-safe; enter it or `open` it before use."""

    def __init__(self, url: str, *, size: int = 8, clock: Clock | None = None) -> None:
        self._url, self._clock = url, clock or Clock()
        self._pool: ConnectionPool[Connection] = ConnectionPool(
            _in_utc(url),
            min_size=1,
            max_size=size,
            open=False,
            timeout=_REUNION_SECONDS,
            num_workers=1,
            kwargs={"autocommit": True, "client_encoding": "utf8"},  # digests depend on the encoding
        )
        self._pool._pool = _LatestFirst()  # the library has no option for it

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(self, *exception: object) -> None:
        self.close()

    def stats(self) -> Mapping[str, int]:
        """Return the pool's numbers, as its library names them."""
        return self._pool.get_stats()

    def open(self) -> Self:
        """Start the pool; the database need not answer yet."""
        self._pool.open()
        return self

    def close(self) -> None:
        """Close every connection."""
        self._pool.close()

    def company(self, company_id: UUID) -> AbstractContextManager[Connection]:
        """Open a transaction of one company: committed at the end of the block, rolled back when the block raises.

        Raises `TransactionLost`.
        """
        return Transaction(self._pool, str(company_id))

    def system(self) -> AbstractContextManager[Connection]:
        """Open a transaction of no company, for tables that belong to none and functions across companies."""
        return Transaction(self._pool, _NOBODY)

    @contextmanager
    def turn(self, name: str) -> Iterator[bool]:
        """Take a turn that one process at a time has, for the block; the value is false where another one has it.

        Holds a connection and no transaction: the block may call the outside.
        """
        with self._pool.connection() as connection, _turn(connection, name) as is_ours:
            yield is_ours

    @contextmanager
    def listening(self, channel: str) -> Iterator[Connection]:
        """Open a connection outside the pool and outside transactions that receives notifications of the channel."""
        with psycopg.connect(self._url, autocommit=True) as connection:
            connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
            yield connection

    def attempts(
        self, company_id: UUID, *, pipelined: bool = False, repeatable: bool = False
    ) -> Iterator["Transaction"]:
        """Yield a transaction of the company, and another one as long as it is undone where it may be repeated.

        Each is for one `with`, whose body is the whole work. It releases its locks before it is durable, and waits for
        the disk afterwards, with others (decision 0016). With `pipelined` its statements are sent together: an error is
        raised where a result is next read, or at the commit, and COPY is not possible. `_Patience` says when work is
        repeated, and what `repeatable` means.
        """
        patience = _Patience(self._pool, str(company_id), repeatable=repeatable)
        attempt = None
        while attempt is None or attempt.is_undone:
            attempt = Transaction(self._pool, str(company_id), self._clock, patience, pipelined=pipelined)
            yield attempt

    def run(
        self, company_id: UUID, work: Callable[[Connection], T], *, pipelined: bool = False, repeatable: bool = False
    ) -> T:
        """Return the result of `work` in one transaction of the company, durable and repeated as by `attempts`."""
        for attempt in self.attempts(company_id, pipelined=pipelined, repeatable=repeatable):
            with attempt as connection:
                result = work(connection)
        return result

    def fetch_rows(self, query: str, parameters: Mapping[str, object]) -> list[tuple[object, ...]]:
        """Return the rows of a query that is its own transaction, of no company.

        Repeat it where a connection was lost.
        """
        deadline = time.monotonic() + _REUNION_SECONDS
        while True:
            with self._pool.connection() as connection:
                try:
                    return connection.execute(query, parameters).fetchall()
                except psycopg.OperationalError:
                    if not connection.closed or time.monotonic() > deadline:
                        raise

    def retrying(self, company_id: UUID, work: Callable[[], T]) -> T:
        """Return the result of `work`, which opens one transaction of the company, repeated where that is safe."""
        patience = _Patience(self._pool, str(company_id), repeatable=False)
        while True:
            try:
                return work()
            except psycopg.Error as error:
                if not patience.allows(error):
                    raise

    def stamp(self, company_id: UUID | None = None) -> None:
        """Stamp the committed writes of one company, or of all, as visible (decision 0033).

        `run` stamps its own writes. A write without a stamp stays in every list of changes until it is stamped.
        """
        if company_id is None:
            with self.system() as connection:
                connection.execute(STAMP_ALL, (self._clock.moved(),))
        else:
            with self.company(company_id) as connection:
                connection.execute(STAMP, (self._clock.moved(),))


class _Patience:
    """Says whether work that failed is repeated.

    That is safe where the database undid the transaction because of others, and where the connection was lost before
    the commit was sent. If the connection was lost later, the work may be done: it is repeated only when it is
    `repeatable`, that is, when it can find out by itself whether it was done.

    A unique value that is taken is a collision where another writer was first. Under row-level security Postgres does
    not name the value, so a second collision is one where somebody has written to the table since the first. Else the
    work itself is at fault, and its caller hears of it. Time bounds collisions: nothing else ends them where new ones
    keep coming.
    """

    def __init__(self, pool: ConnectionPool[Connection], company: str, *, repeatable: bool) -> None:
        self._pool, self._company = pool, company
        self._repeatable, self._collisions = repeatable, 0
        self._since: int | None = None
        self._reunion_ends = time.monotonic() + _REUNION_SECONDS
        self._collisions_end = time.monotonic() + _COLLISIONS_SECONDS

    def allows(self, failure: BaseException) -> bool:
        """Return whether there is another attempt after this failure, for which it pauses."""
        if isinstance(failure, _COLLIDED):
            self._collisions += 1
            is_safe = self._collisions < _ATTEMPTS or time.monotonic() <= self._collisions_end
            if isinstance(failure, errors.UniqueViolation):
                is_safe = self._met_another(failure) and is_safe
        elif isinstance(failure, TransactionLost):
            is_safe = (self._repeatable or not failure.in_doubt) and time.monotonic() <= self._reunion_ends
        else:
            is_safe = False
        if is_safe:
            time.sleep(min(_PAUSE_SECONDS * max(self._collisions, 1), _LONGEST_PAUSE_SECONDS))
        return is_safe

    def _met_another(self, failure: errors.UniqueViolation) -> bool:
        """Return whether another writer may have taken the value; at the first collision nothing tells."""
        table = sql.Identifier(*filter(None, (failure.diag.schema_name, failure.diag.table_name)))
        since, newer = self._since, True
        with suppress(psycopg.Error), Transaction(self._pool, self._company) as connection:
            query = sql.SQL(_NEWER).format(table=table)
            self._since, newer = connection.execute(query, {"since": since}).fetchone() or (None, True)
        return since is None or newer


class Transaction(AbstractContextManager[Connection]):
    """A transaction of a company: the block begins it, its end commits it, or undoes it where the block raised.

    With a `clock` it is one of `Pool.attempts`, which lets go of its locks before it is durable and stamps what it
    wrote; `patience` then says whether a failure is raised or kept as `is_undone`.
    """

    def __init__(
        self,
        pool: ConnectionPool[Connection],
        company: str,
        clock: Clock | None = None,
        patience: _Patience | None = None,
        *,
        pipelined: bool = False,
    ) -> None:
        self._pool, self._company, self._clock, self._patience = pool, company, clock, patience
        self._pipelined, self._pipeline, self._committing = pipelined, ExitStack(), False
        self.is_undone = False

    def __enter__(self) -> Connection:
        """Begin it in one round trip, and replace a dead connection; in a pipeline, together with what follows."""
        deadline = time.monotonic() + _REUNION_SECONDS
        begin = _BECOME if self._clock is None else _BECOME_AND_LET_GO
        while True:
            self._connection = connection = self._pool.getconn()
            try:
                with ExitStack() as pipeline:
                    pipeline.enter_context(connection.pipeline())
                    connection.execute("BEGIN")
                    connection.execute(begin, (self._company,))
                    if self._pipelined:
                        self._pipeline = pipeline.pop_all()
            except BaseException as error:
                self._pool.putconn(connection)
                if not (_was_lost(error, connection) and time.monotonic() < deadline):
                    raise
                time.sleep(_PAUSE_SECONDS)
            else:
                return connection

    def commit(self) -> None:
        """Send the commit; the end of the block waits for it, and then for the disk.

        What the block does after this costs its caller no time and holds no lock. Its errors do not undo the commit.
        """
        self._committing = True
        if self._clock is None:
            self._connection.execute("COMMIT")
            return
        if not self._pipelined:
            self._pipeline.enter_context(self._connection.pipeline())
        self._connection.execute("COMMIT")
        self._connection.execute(_DURABLE, (self._company,))
        self._connection.execute(STAMP, (self._clock.moved(),))

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        """Wait for the commit, or undo; then do what was put off. Raise `TransactionLost`."""
        connection, failure = self._connection, raised
        try:
            try:
                try:
                    if raised is None and not self._committing:
                        self.commit()
                except BaseException as error:
                    kind, failure, trace = type(error), error, error.__traceback__
                # Left always: a pipeline that nobody leaves is ended when it is collected, while others use its
                # connection, and waits for ever for the lock that the collecting thread holds itself.
                self._pipeline.__exit__(kind, failure, trace)
            except BaseException as error:
                failure = error
            later = _LATER.pop(connection, [])
            if failure is not None and _was_lost(failure, connection):
                lost = TransactionLost(in_doubt=self._committing)
                lost.__cause__, failure = failure, lost
            elif failure is not None:
                with suppress(psycopg.OperationalError):  # a connection that is lost now has undone it already
                    connection.rollback()
        finally:
            self._pool.putconn(connection)
        if failure is None:
            for work in later:
                work()
            return None
        self.is_undone = self._patience is not None and self._patience.allows(failure)
        if not self.is_undone and failure is not raised:
            raise failure
        return self.is_undone


class AsyncPool:
    """A pool of connections for the event loop: reads. They commit each statement, or each pipeline up to its sync."""

    def __init__(self, url: str, *, size: int = 8) -> None:
        self._pool: AsyncConnectionPool[AsyncConnection] = AsyncConnectionPool(
            _in_utc(url),
            min_size=1,
            max_size=size,
            open=False,
            timeout=_REUNION_SECONDS,
            num_workers=1,
            kwargs={"autocommit": True},
        )
        self._pool._pool = _LatestFirst()

    def stats(self) -> Mapping[str, int]:
        """Return the pool's numbers, as its library names them."""
        return self._pool.get_stats()

    async def __aenter__(self) -> Self:
        await self._pool.open()
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self._pool.close()

    async def run(self, work: Callable[[AsyncConnection], Awaitable[T]]) -> T:
        """Return the result of a read on a connection without a company, repeated where the connection was dead.

        Its statements set company and transaction themselves, in one pipeline. Nothing is sent to check a connection
        before its use, and nothing to end a transaction that was not begun.
        """
        deadline = time.monotonic() + _REUNION_SECONDS
        while True:
            connection = await self._pool.getconn()
            try:
                return await work(connection)
            except BaseException as error:
                if not connection.closed:
                    with suppress(psycopg.Error):  # the pool replaces a connection that cannot be used again
                        await connection.rollback()
                    raise
                if not isinstance(error, psycopg.OperationalError) or time.monotonic() > deadline:
                    raise
            finally:
                await self._pool.putconn(connection)


def telling_whether_done(connection: Connection) -> Callable[[], bool]:
    """Return what tells, once a pipeline is over, whether everything that was sent in it until now was done."""
    cursor = connection.execute("SELECT")
    return lambda: cursor.statusmessage is not None


def make_seen_durable(connection: Connection) -> None:
    """Have the commit of this transaction, which waits for the disk, make durable whatever it has seen (decision 0016).

    For what is told once: a write that others can see may still be lost with the machine.
    """
    connection.execute("SELECT pg_logical_emit_message(true, 'pcds', '')")


@contextmanager
def owner_transaction(owner_url: str, company_id: UUID | None = None) -> Iterator[Connection]:
    """Open a transaction of the owner on its own connection, with a company set where one is given.

    The owner may do what the application's role may not: see all companies, and change one.
    """
    with psycopg.connect(owner_url) as connection:
        connection.execute(_BECOME, [str(company_id or _NOBODY)])
        yield connection


@contextmanager
def dagster_transaction(dagster_url: str) -> Iterator[Connection]:
    """Open a transaction of Dagster's role; `dagster_url` is `Database.dagster_url`."""
    with psycopg.connect(urlunsplit(urlsplit(dagster_url)._replace(scheme="postgresql"))) as connection:
        yield connection


@contextmanager
def owner_turn(owner_url: str, name: str) -> Iterator[bool]:
    """Take a turn as `Pool.turn` does, on a connection of the owner."""
    with psycopg.connect(owner_url, autocommit=True) as connection, _turn(connection, name) as is_ours:
        yield is_ours


@contextmanager
def _turn(connection: Connection, name: str) -> Iterator[bool]:
    is_ours = connection.execute(_TAKE_TURN, (name,)).fetchone() == (True,)
    try:
        yield is_ours
    finally:
        if is_ours:
            with suppress(psycopg.OperationalError):  # a connection that is lost has given its turn back
                connection.execute(_END_TURN, (name,))


async def all_rows(
    connection: AsyncConnection, company_id: UUID, query: str, parameters: Mapping[str, object]
) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Return column names and rows of a query in a read-only transaction of the company, in one round trip.

    The connection is one of `AsyncPool.run`.
    """
    async with connection.pipeline():
        await connection.execute("BEGIN READ ONLY")
        await connection.execute(_BECOME, [str(company_id)])
        cursor = await connection.execute(query, parameters)
        await connection.execute("COMMIT")
        rows = await cursor.fetchall()
        return [column.name for column in cursor.description or ()], rows


async def first_row(
    connection: AsyncConnection, company_id: UUID, query: str, parameters: Mapping[str, object]
) -> tuple[Any, ...] | None:
    """Return the first row of a query as `all_rows` does; None without a row."""
    _, rows = await all_rows(connection, company_id, query, parameters)
    return rows[0] if rows else None


def takes_writes(conn: Connection) -> bool:
    """Return the same as `commits`, for a connection of a thread."""
    return conn.execute(_COMMITS).fetchone() == (True,)


def clock_skew_seconds(conn: Connection, now: Callable[[], float] = time.time) -> float:
    """Return how far the server's clock is ahead of this machine's, as far as the time of the question tells."""
    begin = now()
    row = conn.execute("SELECT extract(epoch FROM clock_timestamp())::float8").fetchone()
    answered = now()
    assert row is not None
    ahead, doubt = float(row[0]) - (begin + answered) / 2, abs(answered - begin) / 2
    return ahead if abs(ahead) > doubt else 0.0


async def commits(connection: AsyncConnection) -> bool:
    """Return whether the database accepts a commit; tests it with one that writes to its log and to no table."""
    return await (await connection.execute(_COMMITS)).fetchone() == (True,)


def _was_lost(error: BaseException, connection: Connection | AsyncConnection) -> bool:
    """Return whether the connection is gone, with the uncommitted part of its transaction."""
    return isinstance(error, psycopg.OperationalError) and (connection.closed or isinstance(error, _ENDED))
