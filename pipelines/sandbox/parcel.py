"""The bytes of a reader's answer in a file: a line of JSON, then blobs, which are tables in Arrow's format.

Nothing of it is executed when it is taken: no pickle.
"""

import io
import json
from collections.abc import Sequence
from typing import Any, BinaryIO

import polars as pl


def write(file: BinaryIO, about: dict[str, Any], blobs: Sequence[bytes]) -> None:
    """Write the answer to an empty file."""
    file.write(json.dumps(about | {"sizes": [len(blob) for blob in blobs]}).encode() + b"\n")
    file.writelines(blobs)
    file.flush()


def read(file: BinaryIO) -> tuple[dict[str, Any], list[bytes]]:
    """The answer that `write` has written, from the file's beginning. Raises `ValueError` where it is none."""
    file.seek(0)
    about = json.loads(file.readline())
    blobs = [file.read(size) for size in about["sizes"]]
    if [len(blob) for blob in blobs] != about["sizes"]:
        raise ValueError("the answer is shorter than it says")
    return about, blobs


def packed(frame: pl.DataFrame) -> bytes:
    """A table as a blob."""
    out = io.BytesIO()
    frame.write_ipc(out)
    return out.getvalue()


def unpacked(blob: bytes) -> pl.DataFrame:
    """The table that `packed` has made a blob of."""
    return pl.read_ipc(io.BytesIO(blob))
