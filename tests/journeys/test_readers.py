"""The processes that read files, seen from outside: what they hold, and that none is left of an API that was killed.

Here they start by themselves; those that are forked: `tests/pipelines/sandbox/test_template.py`.
"""

import psutil

from tests.journeys.place import Place
from tests.processes import lives
from tests.waiting import wait_until
from warehouse.operate import dagster_home


def readers_of(api: psutil.Process) -> list[psutil.Process]:
    return [child for child in api.children(recursive=True) if "pipelines.readers.child" in child.cmdline()]


def test_a_reader_holds_no_secret_and_ends_with_an_api_that_is_killed(place: Place):
    dagster_home.readers_socket(place.settings).unlink()
    place.start_and_wait("api")
    place.call("POST", "/api/v1/imports?filename=f.csv", content=b"sku_code,name\nA,B\n")
    api = psutil.Process(place.processes["api"].pid)
    [reader] = readers_of(api)
    assert not [name for name in reader.environ() if name.startswith(("PCDS_", "AWS_", "DATABASE", "DAGSTER"))]
    assert not reader.net_connections(kind="inet")
    memory = reader.memory_info()
    assert memory.rss - getattr(memory, "shared", 0) < 120 * 2**20
    place.end("api")
    wait_until(lambda: not lives(reader))
