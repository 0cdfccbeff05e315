"""Reads the inputs of an answer besides the snapshot, in the session of the company that asks."""

from dataclasses import dataclass
from datetime import date
from typing import Self

from compliance import catalogue
from compliance.catalogue import Jurisdiction
from schemas.analytics import Head
from warehouse.catalogue.queries import every
from warehouse.clock import Clock
from warehouse.companies import queries as companies
from warehouse.sessions import Connection
from warehouse.snapshots import Snapshot


@dataclass(frozen=True, slots=True)
class Now:
    """The UTC day, the last link of the company's audit chain, and the jurisdictions that the catalogue serves."""

    today: date
    links: int
    jurisdictions: dict[str, Jurisdiction]

    @classmethod
    def read(cls, conn: Connection, clock: Clock) -> Self:
        """Read them in this transaction of the company; the release's catalogue is used until one is loaded."""
        served = catalogue.served(every(conn) or catalogue.pinned())
        return cls(clock.today(), companies.counters(conn).links, {found.code: found for found in served})

    def head(self, snapshot: Snapshot) -> Head:
        """Return the first members of every answer."""
        return {
            "as_of": snapshot.as_of.isoformat().replace("+00:00", "Z"),
            "newer_writes": max(self.links - snapshot.number, 0),
        }
