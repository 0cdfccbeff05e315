"""Ends the processes of a killed supervisor, then the embedded server (`python -m warehouse.keeper`).

The supervisor holds the other end of standard input, which the kernel closes however the supervisor ends. The imports
wait until then, so that the waiting process takes only a few megabytes.
"""

import sys


def main() -> None:
    """Wait for the end of standard input, then end the other processes; the last process to leave stops the server."""
    sys.stdin.read()
    from warehouse import leftovers  # noqa: PLC0415  (see above)
    from warehouse.embedded import running  # noqa: PLC0415
    from warehouse.settings import Settings  # noqa: PLC0415

    mark = leftovers.Mark.of_this_process()
    if mark is not None:  # requests under way end before the server that they use
        leftovers.end(leftovers.of_supervisor(mark))
    with running(Settings.load()):
        pass


if __name__ == "__main__":
    main()
