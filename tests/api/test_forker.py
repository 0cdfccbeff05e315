"""The process that forks Dagster's programs says how each ended, also one that an earlier forker had forked."""

import os
import signal
import sys

import pytest

from api.operate import forker

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="nothing is forked elsewhere")


def test_a_program_of_an_earlier_forker_ended_with_it() -> None:
    """It was asked about by a supervisor that had not heard yet, and ended with every program that it had forked."""
    child = os.posix_spawn("/bin/sh", ["sh", "-c", "exit 3"], {})
    assert forker.status_of(child) == 3
    assert forker.status_of(os.getppid()) == -signal.SIGKILL
