"""Says in one sentence what is wrong with the machine around a program: a file, a folder, the database.

What belongs here: faults that the operator of the machine can mend. What does not: faults of the program itself, which
keep their traceback; what a command refuses, which is a sentence already.
"""

import psycopg


def sentence_of(error: BaseException) -> str | None:
    """Return what is wrong with the machine around the program; None where the program is at fault."""
    cause = getattr(error, "orig", None) or error  # SQLAlchemy wraps the database's error
    if isinstance(cause, ConnectionError) and cause.errno is None:  # of the object store, which says it in a sentence
        return str(cause)
    if isinstance(cause, OSError) and cause.filename is not None:
        return f"{cause.filename} cannot be used: {cause.strerror}. Make it usable, or name another place."
    if isinstance(cause, psycopg.OperationalError):  # as is the error of a pool that gets no connection
        return f"The database cannot be reached: {_first_line(cause)}. Check DATABASE_URL."
    if isinstance(cause, psycopg.Error):
        return f"The database refuses: {_first_line(cause)}. Check DATABASE_URL and the rights of its role."
    return None


def _first_line(error: psycopg.Error) -> str:
    """Return the database's message, without the statement and the position that may follow."""
    message = error.diag.message_primary or " ".join(str(error).split())
    return message.rstrip(".")
