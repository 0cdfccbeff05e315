"""Checks the redirect addresses of applications: https, or a program on the person's own computer (RFC 8252).

Addresses are compared letter by letter, except the port of a loopback address, which such a program gets anew each
time (RFC 8252, section 7.3).
"""

import re
from collections.abc import Sequence
from typing import Final
from urllib.parse import SplitResult, urlencode, urlsplit

_LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")
_LONGEST: Final = 2_000
_HOST: Final = re.compile(r"[A-Za-z0-9_-]{1,63}(\.[A-Za-z0-9_-]{1,63}){0,126}\.?|\[[0-9A-Fa-f:.]{2,45}\]")
"""A host name, an IPv4 or an IPv6 address: no character with a special meaning in a policy or a header."""


def is_allowed(address: str) -> bool:
    """Return whether an application may register the address."""
    parts = _split(address)
    if parts is None or len(address) > _LONGEST or "#" in address or "@" in parts.netloc or "\\" in address:
        return False
    host_alone = parts.netloc.removesuffix("" if parts.port is None else f":{parts.port}")
    return bool(_HOST.fullmatch(host_alone)) and (parts.scheme == "https" or is_loopback(address))


def is_loopback(address: str) -> bool:
    """Return whether the address is a program on the same computer."""
    parts = _split(address)
    return parts is not None and parts.scheme == "http" and parts.hostname in _LOOPBACK


def is_registered(address: str, registered: Sequence[str]) -> bool:
    """Return whether an address is one of those registered."""
    if address in registered:
        return True
    return is_loopback(address) and _without_port(address) in {_without_port(one) for one in registered}


def host(address: str) -> str:
    """Return the part of an address that a person is shown: host and port."""
    parts = _split(address)
    assert parts is not None, "only registered addresses are shown"
    return parts.netloc


def source(address: str) -> str:
    """Return the address as a source of a content security policy, which has no form for IPv6 (CSP Level 3, 2.3.1)."""
    parts = _split(address)
    assert parts is not None, "only registered addresses are gone to"
    return f"{parts.scheme}:" if "[" in parts.netloc else f"{parts.scheme}://{parts.netloc}"


def with_answer(address: str, answer: dict[str, str]) -> str:
    """Return the address with the parameters of an answer behind its own."""
    return f"{address}{'&' if '?' in address else '?'}{urlencode(answer)}"


def _split(address: str) -> SplitResult | None:
    try:
        parts = urlsplit(address)
        _ = parts.port  # raises where it is no number
    except ValueError:
        return None
    # An address must not contain characters that urlsplit silently removes.
    return parts if address.isascii() and address.isprintable() and " " not in address else None


def _without_port(address: str) -> tuple[str, str | None, str, str] | None:
    parts = _split(address)
    return None if parts is None else (parts.scheme, parts.hostname, parts.path, parts.query)
