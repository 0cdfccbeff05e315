"""Limits of one connection, and of all of them, in an API process: sizes in bytes, times in seconds."""

from dataclasses import dataclass
from typing import Any, Self

from warehouse.settings import Settings


@dataclass(frozen=True, slots=True)
class Bounds:
    """The meaning and the unit of each is said with the setting of the same name (`warehouse.settings`)."""

    header_bytes: int
    header_seconds: float
    body_seconds: float
    body_bytes_per_second: int
    answer_seconds: float
    connections: int
    connections_per_address: int
    trusted_proxies: tuple[Any, ...] = ()

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """The bounds that these settings say."""
        return cls(**{name: getattr(settings, name) for name in cls.__dataclass_fields__})
