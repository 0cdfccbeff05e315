"""Runs one operation for a door: opens the company's transaction, repeats collisions, and answers a repeat once.

The door has checked the credential and what it may do (`api.http.auth`, `api.pages.sessions`, `connector.gate`), in the
same statement that looks it up.
"""

from collections.abc import Callable
from typing import Protocol, TypeVar

from schemas.actors import Actor
from warehouse.operate.sessions import Connection, Pool

T = TypeVar("T")
R = TypeVar("R")


class Once(Protocol[R]):
    """A request that its sender may repeat: finds the answer that it had, and keeps the one that it gets."""

    def recall(self, conn: Connection) -> R | None:
        """Return the answer to an equal request, None where this one must be done. Waits for one under way."""

    def keep(self, conn: Connection, answer: R) -> None:
        """Store the answer in the transaction of what it answers."""


def run(
    pool: Pool,
    actor: Actor,
    operation: Callable[[Connection], T],
    render: Callable[[T], R],
    *,
    once: Once[R] | None = None,
    pipelined: bool = False,
    repeatable: bool = False,
) -> R:
    """Return what `render` makes of the result of `operation`, which runs in one transaction of the actor's company.

    `operation` raises refusals, and is called again where writers collide or a connection is lost. `render` does not
    query the database: it runs while the commit is under way, unless its answer is kept in the transaction (`once`).
    With `pipelined` the statements of the operation travel together (`Pool.run`); it is `repeatable` where it does
    nothing twice by itself.
    """
    for attempt in pool.attempts(actor.company_id, pipelined=pipelined, repeatable=repeatable or once is not None):
        with attempt as conn:
            if once is None:
                result = operation(conn)
                attempt.commit()
                answer = render(result)
            elif (earlier := once.recall(conn)) is not None:
                answer = earlier
            else:
                answer = render(operation(conn))
                once.keep(conn, answer)
    return answer
