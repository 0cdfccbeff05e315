"""Stops the embedded server when the supervisor was killed and could not (`python -m warehouse.keeper`).

The supervisor holds the other end of standard input, which the kernel closes however the supervisor ends. Nothing is
imported before that, so that the process which waits is a few megabytes.
"""

import sys


def main() -> None:
    """Wait for the end of standard input, then come and go like any other user: the last one out stops the server."""
    sys.stdin.read()
    from warehouse.embedded import running  # noqa: PLC0415  (see above)
    from warehouse.settings import Settings  # noqa: PLC0415

    with running(Settings.load()):
        pass


if __name__ == "__main__":
    main()
