"""Ends the processes of a killed supervisor, then the embedded server (`python -m warehouse.operate.keeper`).

The supervisor holds the other end of standard input, which the kernel closes however the supervisor ends. The imports
wait until then, so that the waiting process takes only a few megabytes.
"""

import sys


def main() -> None:
    """Wait for the end of standard input, then end the other processes; the last process to leave stops the server."""
    sys.stdin.read()
    from warehouse.operate import leftovers as leftovers_operate  # noqa: PLC0415  (see above)
    from warehouse.operate.embedded import running  # noqa: PLC0415
    from warehouse.operate.settings import Settings  # noqa: PLC0415

    mark = leftovers_operate.Mark.of_this_process()
    if mark is not None:  # requests under way end before the server that they use
        leftovers_operate.end(leftovers_operate.of_supervisor(mark))
    with running(Settings.load()):
        pass


if __name__ == "__main__":
    main()
