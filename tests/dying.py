"""A process that dies between two changes of the file system."""

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

_STEPS: tuple[tuple[Any, str], ...] = (
    (Path, "mkdir"),
    (Path, "write_bytes"),
    (Path, "write_text"),
    (Path, "replace"),
    (os, "fsync"),
    (os, "link"),
    (pl.DataFrame, "write_parquet"),
)


class Killed(BaseException):
    """What no code of ours catches, as it would not a kill."""


@contextlib.contextmanager
def killed_before(step: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every change of the file system is a step; the process dies before one of them."""
    left = step

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def change(*arguments: Any, **named: Any) -> Any:
            nonlocal left
            if left == 0:
                raise Killed
            left -= 1
            return real(*arguments, **named)

        return change

    with monkeypatch.context() as patched:
        for place, name in _STEPS:
            patched.setattr(place, name, counted(getattr(place, name)))
        with contextlib.suppress(Killed):
            yield
