"""Polars' allocator takes the settings with which the service's programs and readers start (`pipelines.allocator`)."""

import os
import subprocess
import sys

import pytest

from pipelines import allocator

_USES_POLARS = """
import os, polars
polars.DataFrame({"a": range(100_000)})
print(*(open(f"/proc/self/task/{thread}/comm").read() for thread in os.listdir("/proc/self/task")))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="there are no background threads elsewhere, nor /proc")
@pytest.mark.parametrize("setting", [allocator.SETTING, allocator.READER_SETTING])
def test_the_allocator_takes_each_setting_and_returns_memory_by_itself(setting: str) -> None:
    environment = os.environ | {allocator.VARIABLE: setting}
    done = subprocess.run(
        [sys.executable, "-c", _USES_POLARS], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stderr == "", "jemalloc names there what it does not understand"
    assert "jemalloc_bg_thd" in done.stdout
