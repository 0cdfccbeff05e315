"""One regrade: a run of `regrade_portfolios`, by whoever starts it, and the worker's eye on those that wait for one.

An activation asks for a regrade of every company. The command that activates runs it; what it leaves, because it was
ended or the machine was, the worker goes on with within seconds of its start. Where a release brings newer rules and
none are activated, the first worker of that release asks. One of them at a time: the others wait
or look again. Runs that Dagster's own launchers start need no lock: where a regrade is, the database says.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final
from uuid import UUID

import dagster as dg
import psycopg
import structlog

from pipelines.definitions import defs
from pipelines.jobs import run_config
from pipelines.resources import Workshop
from pipelines.steps import regrade
from pipelines.steps.housekeeping.companies import every_company
from pipelines.steps.regrade import Totals
from pipelines.tags import CODE_LOCATION

LOOK_SECONDS: Final = 5.0
"""How often it is looked whether a regrade waits."""
RETRY_SECONDS: Final = 60.0
"""How long after a run that failed it is looked again."""
_CHANNEL: Final = "pcds_regrades"
_WAIT: Final = "SELECT pg_advisory_lock(hashtextextended('pcds/regrade', 0)) IS NOT NULL"
_TRY: Final = "SELECT pg_try_advisory_lock(hashtextextended('pcds/regrade', 0))"
_ALONE: Final = {"pcds/alone": "regrade"}
"""Tag of runs that hold the lock: one that has not ended while another holds it has lost its process."""
_BROKE_OFF: Final = "Lost its process or the database; what it did stays, and another run does the rest."

log = structlog.get_logger(__name__)


def regrade_portfolios(
    workshop: Workshop, instance: dg.DagsterInstance, company_id: UUID | None = None, *, only_open: bool = False
) -> Totals:
    """The run, for one company or for all; raises `dagster.Failure` where it was refused or broken off."""
    end_lost_runs(instance)
    chosen = {} if company_id is None else {"company_id": str(company_id)}
    result = defs.resolve_job_def("regrade_portfolios").execute_in_process(
        run_config=run_config("regraded_skus", {**chosen, "only_open": only_open}),
        instance=instance, tags={**_ALONE, **CODE_LOCATION}, resources={"workshop": workshop},
    )  # fmt: skip
    totals = result.output_for_node("regraded_skus")
    assert isinstance(totals, Totals)
    return totals


def end_lost_runs(instance: dg.DagsterInstance) -> None:
    """End the runs whose process or database is gone; asked by who holds the lock, so that none of them lives."""
    for lost in instance.get_runs(dg.RunsFilter(tags=_ALONE, statuses=[dg.DagsterRunStatus.STARTED])):
        instance.report_run_failed(lost, _BROKE_OFF)


@contextmanager
def alone(workshop: Workshop, *, waiting: bool) -> Iterator[bool]:
    """Whether this process is the one that regrades for the time of the block; with `waiting` it is in the end."""
    with workshop.pool.listening(_CHANNEL) as conn:  # a session of its own: the lock ends with it, however that ends
        yield conn.execute(_WAIT if waiting else _TRY).fetchone() == (True,)


class Regrader:
    """One process's loop over regrades that were asked for; `open_instance` opens Dagster's storage."""

    def __init__(self, workshop: Workshop, open_instance: Callable[[], dg.DagsterInstance]) -> None:
        self._workshop, self._open_instance = workshop, open_instance
        self._may_have_lost_runs = True  # of a process before this one, and then of each turn that breaks off

    def serve(self) -> None:
        """Go on with what waits until `Workshop.stopping` is set."""
        stopping, begun = self._workshop.stopping, False
        while not stopping.is_set():
            pause = LOOK_SECONDS
            try:
                if not begun:
                    self.ask()
                    begun = True
                self.turn()
            except psycopg.OperationalError as error:
                self._may_have_lost_runs = True
                log.warning("regrades.database_lost", error=type(error).__name__)
            except Exception:  # whatever it was, the next turn goes on from there
                self._may_have_lost_runs = True
                log.exception("regrades.run_broke_off")
                pause = RETRY_SECONDS
            stopping.wait(pause)

    def ask(self) -> None:
        """Ask for the regrade of what is held by the rules that grade now, where nobody has."""
        pool = self._workshop.pool
        with pool.system() as conn:
            version = self._workshop.rulesets.active(conn).version
        asked = regrade.request_lacking(pool, every_company(pool), version, self._workshop.clock.now())
        if asked:
            log.info("regrade.asked", version=version, companies=asked)

    def turn(self) -> None:
        """One run over all open regrades, where there are any and no other process is at them.

        A run that lost its database in its last block leaves none open: it is ended all the same.
        """
        waiting = bool(regrade.open_regrades(self._workshop.pool))
        if not (waiting or self._may_have_lost_runs):
            return
        with alone(self._workshop, waiting=False) as is_ours:
            if is_ours:
                with self._open_instance() as instance:
                    end_lost_runs(instance)
                    self._may_have_lost_runs = False
                    if waiting:
                        totals = regrade_portfolios(self._workshop, instance, only_open=True)
                        log.info("regrade.run_ended", **totals.as_dict())
