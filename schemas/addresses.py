"""Determines a caller's network address behind proxies, and the network that a limit counts it under."""

from collections.abc import Collection
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TypeAlias

Network: TypeAlias = IPv4Network | IPv6Network


def behind(peer: str, forwarded: str, trusted: Collection[Network]) -> str | None:
    """Return the peer's address, or the proxy header's where the peer is in a trusted network (decisions §11).

    Of X-Forwarded-For this is the last address that is not a trusted proxy: the caller could have written those before
    it.
    """
    address = _address(peer)
    for hop in reversed(forwarded.split(",")):
        before = _address(hop)
        if address is None or before is None or not any(address in network for network in trusted):
            break
        address = before
    return str(address) if address else None


def network_of(address: str) -> str:
    """Return the network that a limit counts an address under: for IPv6 its first 64 bits, which one customer has.

    An IPv4 address counts by itself, also where it is written as IPv6. Text that is no address is its own network.
    """
    ip = _address(address)
    match ip:
        case IPv6Address(ipv4_mapped=None):
            return str(ip_network((int(ip) >> 64 << 64, 64)))
        case IPv6Address():
            return str(ip.ipv4_mapped)
    return address


def coarse_network_of(address: str) -> str | None:
    """Return the network of an address that may be stored and shown: its first 24 bits, of IPv6 the first 48.

    None for text that is no address.
    """
    match _address(address):
        case None:
            return None
        case IPv6Address(ipv4_mapped=IPv4Address() as mapped) | (IPv4Address() as mapped):
            return str(ip_network((int(mapped) >> 8 << 8, 24)))
        case found:
            return str(ip_network((int(found) >> 80 << 80, 48)))


def is_loopback(host: str) -> bool:
    """Return whether a host's name or address leads to this machine alone."""
    ip = _address(host.strip("[]"))
    return host == "localhost" if ip is None else (getattr(ip, "ipv4_mapped", None) or ip).is_loopback


@lru_cache(maxsize=4096)
def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(text.strip())
    except ValueError:
        return None
