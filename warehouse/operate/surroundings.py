"""Says what is wrong with the machine around a program, and whether it passes: a file, a folder, the database.

What belongs here: faults that the operator of the machine can mend. What does not: faults of the program itself, which
keep their traceback; what a command refuses, which is a sentence already.
"""

import errno
import os
import re
from collections.abc import Iterator
from typing import Final

import psycopg

from schemas.messages import Message

RETRY_AFTER_SECONDS: Final = 5
"""When a request that met a passing fault may be sent again."""
PASSING: Final = Message(
    "The service lacks for the moment what this needs: disk space, memory, a connection or a lock. Send it again in "
    "{seconds} seconds, a write with the same Idempotency-Key.",
    seconds=RETRY_AFTER_SECONDS,
)
"""What a caller is told of a passing fault."""

_PASSING_STATES: Final = (
    "08",  # the connection
    "25006",  # the server takes no writes: a standby, or one that is read-only for now
    "25P03",  # idle in a transaction for too long: the process did not get on
    "40",  # taken back because of other transactions
    "53",  # disk, memory, connections
    "55P03",  # a lock
    "57014",  # a statement that took too long
    "57P0",  # shut down, crashed, starting
    "58",  # the server's own disk
)
"""Beginnings of the SQLSTATEs of faults that pass (PostgreSQL, appendix A)."""
_UNSTORABLE_STATES: Final = ("22021", "22P05")
_PASSING_ERRNOS: Final = frozenset(
    {
        errno.EAGAIN,
        errno.EDQUOT,
        errno.EIO,
        errno.EMFILE,
        errno.ENFILE,
        errno.ENOBUFS,
        errno.ENOLCK,
        errno.ENOMEM,
        errno.ENOSPC,
        errno.EROFS,
        errno.ESTALE,
    }
)
_PASSING_KINDS: Final = frozenset(
    {"psycopg2.OperationalError", "psycopg2.InterfaceError", "sqlalchemy.exc.TimeoutError"}
)
"""Errors without a state that say that no connection is to be had. By name: most programs do not load the libraries."""
_OS_ERROR: Final = re.compile(r"\(os error (\d+)\)")
"""How libraries that are written in Rust quote the system's error; theirs do not carry its number."""
_IS_FULL: Final = os.strerror(errno.ENOSPC)
_OF_RUST: Final = ("obstore.", "polars.")


def is_passing(error: BaseException | None) -> bool:
    """Return whether a fault of the machine that passes caused the error: the same work can be done a little later.

    The disk is full, no connection, file or memory is left, a lock is taken, the database restarts. Errors that wrap
    another one, as Dagster's and SQLAlchemy's do, are what they wrap.
    """
    return any(_passes(cause) for cause in _causes(error, set()))


def is_unstorable(error: BaseException) -> bool:
    """Return whether a text that came from a caller holds what no record can: a NUL, or half of a surrogate pair."""
    state = getattr(error, "sqlstate", None)
    if isinstance(error, psycopg.DataError):  # psycopg refuses texts itself, the server what is inside JSON
        return state in _UNSTORABLE_STATES or (state is None and "NUL" in str(error))
    return isinstance(error, UnicodeEncodeError) and error.reason == "surrogates not allowed"


def _causes(error: BaseException | None, seen: set[int]) -> Iterator[BaseException]:
    """Yield the error and everything that it was raised from, or in the handling of, or that it contains."""
    if error is None or id(error) in seen:
        return
    seen.add(id(error))
    yield error
    inner = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    before = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    original = getattr(error, "orig", None)
    for cause in (before, original if isinstance(original, BaseException) else None, *inner):
        yield from _causes(cause, seen)


def _passes(error: BaseException) -> bool:
    state = getattr(error, "sqlstate", None) or getattr(error, "pgcode", None)  # psycopg, psycopg2
    if isinstance(state, str):
        return state.startswith(_PASSING_STATES)
    if isinstance(error, (MemoryError, ConnectionError, TimeoutError)):
        return True
    kinds = [f"{kind.__module__}.{kind.__qualname__}" for kind in type(error).__mro__]
    if (isinstance(error, OSError) and error.errno is None) or kinds[0].startswith(_OF_RUST):
        quoted = _OS_ERROR.search(str(error))
        return quoted is not None and int(quoted[1]) in _PASSING_ERRNOS
    if isinstance(error, OSError):
        return error.errno in _PASSING_ERRNOS
    if isinstance(error, psycopg.OperationalError):  # no connection to be had; else another statement has the cause
        return not isinstance(error, psycopg.errors.PipelineAborted)
    return not _PASSING_KINDS.isdisjoint(kinds)


def sentence_of(error: BaseException) -> str | None:
    """Return what is wrong with the machine around the program; None where the program is at fault."""
    cause = getattr(error, "orig", None) or error  # SQLAlchemy wraps the database's error
    if isinstance(cause, ConnectionError) and cause.errno is None:  # of the object store, which says it in a sentence
        return str(cause)
    if isinstance(cause, OSError) and cause.errno in (errno.ENOSPC, errno.EDQUOT):  # a write names no file
        return (
            "The disk is full: free space on it, and try again."
            if cause.filename is None
            else (f"The disk of {cause.filename} is full: free space on it, and try again.")
        )
    if isinstance(cause, OSError) and cause.filename is not None:
        return f"{cause.filename} cannot be used: {cause.strerror}. Make it usable, or name another place."
    if isinstance(cause, psycopg.OperationalError) and _IS_FULL in str(cause):  # a refused connection has no SQLSTATE
        return f"The database's disk is full: {_first_line(cause)}. Free space there; what waits goes on by itself."
    if isinstance(cause, psycopg.OperationalError):  # as is the error of a pool that gets no connection
        return f"The database cannot be reached: {_first_line(cause)}. Check DATABASE_URL."
    if isinstance(cause, psycopg.Error):
        return f"The database refuses: {_first_line(cause)}. Check DATABASE_URL and the rights of its role."
    return None


def _first_line(error: psycopg.Error) -> str:
    """Return the database's message, without the statement and the position that may follow."""
    message = error.diag.message_primary or " ".join(str(error).split())
    return message.rstrip(".")
