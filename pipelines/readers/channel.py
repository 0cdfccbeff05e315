"""Sends messages between a reader process and its parent: JSON with its length before it, and open files beside it.

Files are passed as descriptors, so a reader opens no file by name. The format is JSON because one side has read hostile
bytes: a message contains only texts, numbers and lists. Every message has a greatest length.
"""

import json
import os
import socket
import struct
from collections.abc import Sequence
from typing import BinaryIO, Final

MOST_BYTES: Final = 4 * 2**20
"""Size of one message: a mapping and the catalogue's codes to the reader, the faults of a refusal from it."""
_LENGTH: Final = struct.Struct("!I")


def send(channel: socket.socket, message: dict[str, object], files: Sequence[BinaryIO] = ()) -> None:
    """Send a message with open files. Raises `OSError` where the other side is gone."""
    body = json.dumps(message).encode()
    socket.send_fds(channel, [_LENGTH.pack(len(body))], [file.fileno() for file in files])
    channel.sendall(body)


def receive(channel: socket.socket) -> dict[str, object]:
    """Receive the next message; a file that came with it is ignored.

    Raises `EOFError` where the other side is gone or its message is too long, `TimeoutError` as the socket does.
    """
    return _body(channel, _exactly(channel, _LENGTH.size))


def receive_with_files(channel: socket.socket, number: int) -> tuple[dict[str, object], list[BinaryIO]]:
    """Receive the next message and at most `number` files that came with it. Raises as `receive`."""
    head, descriptors, _, _ = socket.recv_fds(channel, _LENGTH.size, number)
    files = [os.fdopen(descriptor, "r+b" if at else "rb") for at, descriptor in enumerate(descriptors)]
    return _body(channel, head + _exactly(channel, _LENGTH.size - len(head))), files


def _body(channel: socket.socket, head: bytes) -> dict[str, object]:
    (length,) = _LENGTH.unpack(head)
    if length > MOST_BYTES:
        raise EOFError("the message is longer than any that is sent")
    message = json.loads(_exactly(channel, length))
    if not isinstance(message, dict):
        raise EOFError("the message is none of ours")
    return message


def _exactly(channel: socket.socket, length: int) -> bytes:
    received = bytearray()
    while len(received) < length:
        piece = channel.recv(length - len(received))
        if not piece:
            raise EOFError("the other side is gone")
        received += piece
    return bytes(received)
