"""Says what tests cost in processor time: `python -m pytest -p tools.test_costs PATH` (docs/promises.md).

A test pays for its process and for all processes below it, so also for services that it starts and for what they do
while it waits. Postgres leaves its starter and is not counted. The first test that asks for a shared fixture pays for
it. Seconds of processor time stay the same on a busy machine, nearly; those of a clock do not.
"""

from collections import Counter
from collections.abc import Generator
from contextlib import suppress
from typing import Final

import psutil
import pytest

_NAME: Final = "cpu_seconds"
_MOST: Final = 30
_BEGUN: Final = pytest.StashKey[float]()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, None, None]:
    """Begin to count."""
    item.stash[_BEGUN] = _spent()
    return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, None, None]:
    """Tell what was spent: the property goes to the process that reports, and into `--junitxml`."""
    try:
        return (yield)
    finally:
        item.user_properties.append((_NAME, round(_spent() - item.stash[_BEGUN], 2)))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the dearest tests, and the sums by folder and by file."""
    told = [report for reports in terminalreporter.stats.values() for report in reports if _of_a_test(report)]
    tests = Counter({report.nodeid: dict(report.user_properties)[_NAME] for report in told})
    files, folders = Counter[str](), Counter[str]()
    for nodeid, seconds in tests.items():
        file = nodeid.partition("::")[0]
        files[file] += seconds
        folders[file.rpartition("/")[0]] += seconds
    for title, costs in (("tests", tests), ("files", files), ("folders", folders)):
        terminalreporter.section(f"seconds of processor time by {title}")
        for name, seconds in costs.most_common(_MOST):
            terminalreporter.write_line(f"{seconds:9.2f} {name}")


def _of_a_test(report: object) -> bool:
    return isinstance(report, pytest.TestReport) and _NAME in dict(report.user_properties)


def _spent() -> float:
    """Return the processor time of this process and of all below it, those that have ended included."""
    own = psutil.Process()
    return sum(map(_of_process, (own, *own.children(recursive=True))))


def _of_process(process: psutil.Process) -> float:
    with suppress(psutil.Error):  # it has just ended, and its parent has its time
        times = process.cpu_times()
        return float(times.user + times.system + times.children_user + times.children_system)
    return 0.0
