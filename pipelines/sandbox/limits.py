"""Defines the limits of one reading, beyond which its process is killed, and the refusal that the caller then gets.

The numbers are settings (`warehouse.settings`). The reader's own process enforces the CPU seconds and a ceiling of
memory (`confine`), its parent the wall time and the memory in use (`process`).
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, Self

from pipelines.reading.refusal import ReadingRefused
from schemas.issues import Issue
from schemas.messages import Message

if TYPE_CHECKING:  # a reader process loads this module too, and needs only the type
    from warehouse.settings import Settings

Reason = Literal["processor", "time", "memory", "crash"]
"""The limit that a reading used up: CPU seconds, wall time, memory; or its process ended by itself twice."""

FileKind = Literal["table", "document"]

_REMEDIES: Final[dict[FileKind, Message]] = {
    "table": Message("Save the table anew, values alone, as CSV or .xlsx, or send it in parts."),
    "document": Message("Save the document anew, as PDF if you can, and send that."),
}


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one reading: processor seconds of all its threads, seconds by the clock, MiB of private memory."""

    cpu_seconds: float = 20.0
    wall_seconds: float = 60.0
    memory_mib: int = 768

    @classmethod
    def of(cls, settings: "Settings") -> Self:
        """Return the limits of a deployment."""
        return cls(settings.reader_cpu_seconds, settings.reader_wall_seconds, settings.reader_memory_mib)


class ReadingStopped(ReadingRefused):
    """Reading the file used up a limit; it is refused as `unreadable_file`."""

    def __init__(self, reason: Reason, limits: Limits, file_kind: FileKind) -> None:
        """Make the refusal; `file_kind`, the expected kind, decides the advice to its sender."""
        super().__init__([Issue("unreadable_file", _sentence(reason, limits, _REMEDIES[file_kind]))])
        self.reason = reason


def _sentence(reason: Reason, limits: Limits, remedy: Message) -> Message:
    seconds, wall, mib = f"{limits.cpu_seconds:g}", f"{limits.wall_seconds:g}", limits.memory_mib
    match reason:
        case "processor":
            return Message(
                "Reading the file took more than {seconds} seconds of computing and was stopped. {remedy}",
                seconds=seconds,
                remedy=remedy,
            )
        case "time":
            return Message(
                "Reading the file took more than {wall} seconds and was stopped. {remedy}", wall=wall, remedy=remedy
            )
        case "memory":
            return Message(
                "Reading the file took more than {mib} MiB of memory and was stopped. {remedy}", mib=mib, remedy=remedy
            )
        case "crash":
            return Message(
                "The program that reads files cannot go through this one to its end. {remedy}", remedy=remedy
            )
