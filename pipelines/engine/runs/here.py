"""Takes a lock for runs that a command executes in its own process, so that run monitoring sees that they live.

Without it the daemon of a service that runs beside the command would take such a run for one that lost its worker.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

from warehouse.launches import queries as launches
from warehouse.sessions import Pool


@contextmanager
def locked_run(pool: Pool) -> Iterator[str]:
    """Yield the id of the run that the block executes."""
    run_id = str(uuid4())
    with pool.listening(launches.CANCELS) as connection:
        me = launches.enrol(connection)
        launches.hold(connection, me, run_id)
        yield run_id
        launches.end(connection, me, run_id)
