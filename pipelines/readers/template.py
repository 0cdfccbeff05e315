"""Forks reader processes from one that has loaded their code (`python -m pipelines.readers.template SOCKET`).

Loading takes half a second of a processor and most of a reader's memory, and an import needs a reader each time that
its worker's has gone. As a reader, this process has only what reading needs: no credentials are in its memory or in its
variables, and it never reads a file itself. It executes nothing of Polars either: that starts threads, which a fork
loses (`warehouse.operate.forks`).
"""

import gc
import os
import sys
from pathlib import Path
from typing import Final

from pipelines.readers import child
from pipelines.readers.tasks import load_words as load
from warehouse.operate import forks

_NO_OUTPUT: Final = (1, 2)
"""Output and errors: a panic there may quote the file."""


def main(path: Path) -> None:
    """Fork readers until SIGTERM; each serves the process at the other end of the channel that came with the request.

    Its limits are those of the request.
    """
    os.chdir("/")
    own = os.getpid()
    load()
    gc.collect()
    gc.freeze()  # a collection would write to the pages of all objects, and so copy them
    limits, [channel] = forks.serve(path)
    forks.show([sys.executable, "-m", child.__name__])
    with Path(os.devnull).open("wb") as nothing:
        for number in _NO_OUTPUT:
            os.dup2(nothing.fileno(), number)
    child.serve(channel, parent=own, **limits)
    os._exit(0)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
