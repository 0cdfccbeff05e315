"""Writes and reads a reader's answer in a file: a line of JSON, then blobs, most of them tables in Arrow's format.

Reading it executes nothing: no pickle.
"""

import io
import json
from collections.abc import Sequence
from typing import BinaryIO

import polars as pl

from schemas.json_values import JsonObject


def write(file: BinaryIO, about: JsonObject, blobs: Sequence[bytes]) -> None:
    """Write the answer to an empty file."""
    file.write(json.dumps(about | {"sizes": [len(blob) for blob in blobs]}).encode() + b"\n")
    file.writelines(blobs)
    file.flush()


def read(file: BinaryIO) -> tuple[JsonObject, list[bytes]]:
    """Read the answer that `write` has written, from the file's beginning. Raises `ValueError` where it is none."""
    file.seek(0)
    about = json.loads(file.readline())
    blobs = [file.read(size) for size in about["sizes"]]
    if [len(blob) for blob in blobs] != about["sizes"]:
        raise ValueError("the answer is shorter than it says")
    return about, blobs


def pack_table(frame: pl.DataFrame) -> bytes:
    """Return a table as a blob."""
    out = io.BytesIO()
    frame.write_ipc(out)
    return out.getvalue()


def unpack_table(blob: bytes) -> pl.DataFrame:
    """Return the table of a blob that `pack_table` has made."""
    return pl.read_ipc(io.BytesIO(blob))
