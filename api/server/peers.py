"""Counts the connections of each network in this process."""

from collections import Counter
from collections.abc import Collection
from ipaddress import IPv6Address, ip_address
from typing import Final

from schemas.addresses import Network, coarse_network_of

_NETWORK_BITS: Final = 64
"""Fixed bits of an IPv6 line's network; its owner may use every address in it."""


class Peers:
    """Counts the open connections of each network, except a trusted proxy's, which carry many callers."""

    def __init__(self, most: int, trusted: Collection[Network]) -> None:
        """`most` connections of one network; `trusted` are networks of proxies."""
        self._most, self._trusted = most, trusted
        self._held: Counter[str] = Counter()
        self.turned_away: Counter[str] = Counter()
        """Connections refused or ended for others since this was last cleared, by the network as a log may show it."""

    def enter(self, host: str) -> float:
        """Count one more connection; return the used share of its network's limit, above 1 where it is exceeded.

        It counts until `leave`, also where it is refused.
        """
        name = self.network(host)
        if name is None:
            return 0
        self._held[name] += 1
        return self._held[name] / self._most

    def leave(self, host: str) -> None:
        """Count one connection less."""
        name = self.network(host)
        if name is not None:
            self._held[name] -= 1
            if self._held[name] <= 0:
                del self._held[name]

    def turn_away(self, host: str) -> None:
        """Count a connection that was refused, or ended so that others find a place."""
        self.turned_away[coarse_network_of(host) or "this machine"] += 1

    def network(self, host: str) -> str | None:
        """Return the network that an address counts under; None where it does not count."""
        try:
            address = ip_address(host)
        except ValueError:  # a socket of the machine itself has no address
            return None
        if isinstance(address, IPv6Address):
            address = address.ipv4_mapped or address
        if any(address in network for network in self._trusted):
            return None
        if isinstance(address, IPv6Address):
            return (int(address) >> (address.max_prefixlen - _NETWORK_BITS)).to_bytes(_NETWORK_BITS // 8, "big").hex()
        return str(address)
