"""Prints what a running service takes at rest, by process: memory, and the share of a core over a minute.

python -m tools.at_rest [--data-dir data] [--seconds 60], or `make at-rest`. Run it as the account of the service, or as
root, a minute after a start; docs/operations.md has the table that it printed.
"""

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import psutil

from warehouse.operate import leftovers
from warehouse.operate.embedded.server import postmaster

ROLES: Final = {
    "pipelines.readers": "readers",
    "api.operate.forker": "forker",
    "pipelines.engine.worker": "workers",
    "api.operate.server": "API",
    "pipelines.engine.ui": "Dagster's webserver",
    "pipelines.engine.code_server": "Dagster's code server",
    "pipelines.engine.daemon": "Dagster's daemon",
    "warehouse.operate.keeper": "keeper",
    "postgres": "Postgres",
}
"""What a part of a command line says of a process; any other one is the supervisor's own."""
_MIB: Final = 2**20


class Taken(NamedTuple):
    """What the processes of a role take: `pss` and `private` in MiB, `cpu` in seconds since they started."""

    processes: float
    pss: float
    private: float
    cpu: float


_NOTHING: Final = Taken(0, 0, 0, 0)


def role_of(process: psutil.Process) -> str:
    """Return what a process of the service is for."""
    line = " ".join(process.cmdline())
    return next((role for part, role in ROLES.items() if part in line), "supervisor")


def of_service(data_dir: Path) -> Iterator[psutil.Process]:
    """Yield the processes of the service on a data directory: the supervisor, what it started, embedded Postgres."""
    mark = leftovers.supervisor_of(data_dir)
    if mark is None:
        raise SystemExit(f"No `pcds serve` runs on {data_dir}; start it, or name its directory with --data-dir.")
    supervisor, server = psutil.Process(mark.pid), postmaster((data_dir / "postgres").resolve())
    found = {supervisor, *supervisor.children(recursive=True), *leftovers.of_supervisor(mark)}
    found -= {psutil.Process()}
    yield from found | ({server, *server.children(recursive=True)} if server else set())


def look(data_dir: Path) -> dict[str, Taken]:
    """Return what the processes of each role take; one that ends meanwhile counts for nothing."""
    found: dict[str, Taken] = {}
    for process in of_service(data_dir):
        try:
            memory, times, role = process.memory_full_info(), process.cpu_times(), role_of(process)
        except psutil.Error:
            continue
        more = Taken(1, memory.pss / _MIB, memory.uss / _MIB, times.user + times.system)
        found[role] = _sum(found.get(role, _NOTHING), more)
    return found


def table(first: dict[str, Taken], last: dict[str, Taken], seconds: float) -> Iterator[str]:
    """Yield the lines of a table in Markdown; the CPU is that between the two looks."""
    yield "| Process | Number | PSS, MiB | Private, MiB | % of a core |"
    yield "|---|---|---|---|---|"
    spent = {role: taken._replace(cpu=taken.cpu - first.get(role, _NOTHING).cpu) for role, taken in last.items()}
    for role, each in [*sorted(spent.items(), key=lambda of: -of[1].pss), ("in total", _sum(*spent.values()))]:
        share = max(0.0, each.cpu) / seconds * 100
        yield f"| {role} | {each.processes:.0f} | {each.pss:.0f} | {each.private:.0f} | {share:.1f} |"


def _sum(*taken: Taken) -> Taken:
    return Taken(*map(sum, zip(*taken, strict=True)))


def main() -> None:
    """Look twice, and print the table."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--data-dir", type=Path, default=Path("data"))
    parser.add_argument("--seconds", type=float, default=60)
    given = parser.parse_args()
    data_dir = given.data_dir.absolute()
    first, begun = look(data_dir), time.monotonic()
    time.sleep(given.seconds)
    last = look(data_dir)
    print("\n".join(table(first, last, time.monotonic() - begun)))


if __name__ == "__main__":
    main()
