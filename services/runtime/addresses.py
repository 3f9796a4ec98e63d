"""From which network address a call comes, for limits of what has no player.

The connection's other end is the client, or a proxy that we trust: then the proxy wrote the address of its own other
end as the last entry of `x-forwarded-for`. What stands before it came from outside and is worth nothing. Where more
proxies stand in a row, `trusted_hops` says which entry from the end the first of them wrote.
"""

from __future__ import annotations

import functools
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final
from urllib.parse import unquote

from services.runtime.calls import Context
from services.runtime.settings import Settings

FORWARDED: Final = "x-forwarded-for"
IPV6_CLIENT_BITS: Final = 64
"""One customer has at least that many IPv6 addresses, so they count as one."""
UNKNOWN: Final = "unknown"
KNOWN_ADDRESSES: Final = 1_024
"""Read ones that are kept, since reading one costs as much as the rest of a refusal."""
LONGEST_ADDRESS: Final = 64
"""Characters; so that the kept ones are small, whatever is sent."""

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


class ClientAddresses:
    """Reads the address of a call's client."""

    def __init__(self, settings: Settings) -> None:
        parts = filter(None, (part.strip() for part in settings.trusted_proxies.split(",")))
        self._trusted: tuple[Network, ...] = tuple(ip_network(part) for part in parts)
        self._hops = settings.trusted_hops

        self._subject = functools.lru_cache(KNOWN_ADDRESSES)(self._read)

    def of(self, context: Context) -> str:
        """The client's address as text, an IPv6 one as its /64 network; `unknown` where nobody can say."""
        return self._subject(context.peer(), self._forwarded(context))

    def _read(self, peer_text: str, forwarded: str) -> str:
        peer = _peer(peer_text)
        if peer is None or not self._is_trusted(peer):
            return _subject(peer)
        return _subject(_address(forwarded) or peer)

    def _is_trusted(self, peer: Address) -> bool:
        return any(peer in network for network in self._trusted)

    def _forwarded(self, context: Context) -> str:
        """The entry that would count, or nothing where that can be no address."""
        values = [str(value) for key, value in context.invocation_metadata() or () if key == FORWARDED]
        entries = [entry.strip() for entry in ",".join(values).split(",") if entry.strip()]
        entry = entries[-min(self._hops, len(entries))] if entries else ""
        return entry if len(entry) <= LONGEST_ADDRESS else ""


def _peer(text: str) -> Address | None:
    """gRPC writes `ipv4:127.0.0.1:5`, `ipv6:%5B::1%5D:5` or `unix:...`."""
    kind, _, rest = unquote(text).partition(":")
    if kind not in ("ipv4", "ipv6"):
        return None
    return _address(rest.rpartition(":")[0].strip("[]"))


def _address(text: str) -> Address | None:
    try:
        address = ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def _subject(address: Address | None) -> str:
    if address is None:
        return UNKNOWN
    if isinstance(address, IPv6Address):
        return str(ip_network((address, IPV6_CLIENT_BITS), strict=False))
    return str(address)
