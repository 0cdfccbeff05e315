"""Limits of one connection, and of all of them, in an API process: sizes in bytes, times in seconds."""

from dataclasses import dataclass
from typing import Self

from schemas.addresses import Network
from warehouse.settings import Settings


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits; the setting of the same name describes each with its unit (`warehouse.settings`)."""

    header_bytes: int
    header_seconds: float
    body_seconds: float
    body_bytes_per_second: int
    answer_seconds: float
    connections: int
    connections_per_address: int
    trusted_proxies: tuple[Network, ...] = ()

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Return the limits in these settings."""
        return cls(**{name: getattr(settings, name) for name in cls.__dataclass_fields__})
