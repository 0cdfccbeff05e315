"""What commands share and the supervisor needs, too: it stays small, because it loads nothing of the other commands."""

from pathlib import Path
from typing import Annotated

import typer

DataDir = Annotated[Path | None, typer.Option("--data-dir", help="Where the state lives; default ./data.")]
TakeOver = Annotated[
    bool, typer.Option("--take-over-objects", help="Write to a store of files that is another deployment's.")
]


class Refusal(Exception):  # noqa: N818  (an answer to the operator, not a fault)
    """The command was understood and is refused; its text is one plain sentence with the remedy."""
