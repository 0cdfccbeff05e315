"""What one reading may use before its process is killed, and what the caller is told then.

The numbers are settings (`warehouse.settings`). Who holds a reading to them: its own process to the CPU seconds and to
a ceiling of memory (`confine`), its parent to the wall time and to the memory that it holds (`process`).
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, Self

from pipelines.reading.refusal import ReadingRefused
from schemas.issues import Issue
from schemas.messages import Message

if TYPE_CHECKING:  # a reader process loads this module too, and needs no more than the type
    from warehouse.settings import Settings

Reason = Literal["processor", "time", "memory", "crash"]
"""What a reading used up: CPU seconds, wall time, memory; or its process ended by itself, and did so again."""

What = Literal["table", "document"]

_REMEDIES: Final[dict[What, Message]] = {
    "table": Message("Save the table anew, values alone, as CSV or .xlsx, or send it in parts."),
    "document": Message("Save the document anew, as PDF if you can, and send that."),
}


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one reading: seconds of all its threads on a processor, seconds by the clock, MiB of private memory."""

    cpu_seconds: float = 20.0
    wall_seconds: float = 60.0
    memory_mib: int = 768

    @classmethod
    def of(cls, settings: "Settings") -> Self:
        """The limits of a deployment."""
        return cls(settings.reader_cpu_seconds, settings.reader_wall_seconds, settings.reader_memory_mib)


class ReadingStopped(ReadingRefused):
    """The file was being read and used up a limit; it is refused as `unreadable_file`."""

    def __init__(self, reason: Reason, limits: Limits, what: What) -> None:
        """`what` the file is meant to be decides what its sender is advised to do."""
        super().__init__([Issue("unreadable_file", _sentence(reason, limits, _REMEDIES[what]))])
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
