"""What tests ask about processes that may end while they are asked about."""

import psutil


def lives(process: psutil.Process) -> bool:
    """Whether it still runs; one that has ended and that nobody has asked for its status yet does not."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:  # it ended between the two
        return False
