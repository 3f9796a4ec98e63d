"""Where Redis is, read from one URL: a single primary, a primary that Sentinels name, or a Cluster.

    redis://[user:password@]host[:port][/db]            rediss:// with TLS, unix://[user:password@]/path[?db=0]
    redis+sentinel://[user:password@]host[:port],host[:port]/service[/db]           rediss+sentinel:// with TLS
    redis+cluster://[user:password@]host[:port],host[:port]                          rediss+cluster:// with TLS

User and password are those of Redis. Sentinels that want some take `?sentinel_username=...&sentinel_password=...`; with
TLS they are spoken to with TLS as well. A URL says where Redis is and how to get in; times and sizes are settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from redis.asyncio.connection import parse_url

from services.store.errors import BadArgument, Host

SENTINEL: Final = "sentinel"
CLUSTER: Final = "cluster"

_LOGIN: Final = frozenset({"db", "username", "password", "connection_class"})
_TLS: Final = frozenset(
    {"ssl_ca_certs", "ssl_ca_path", "ssl_certfile", "ssl_keyfile", "ssl_cert_reqs", "ssl_check_hostname"}
)
_SENTINELS_LOGIN: Final = {"sentinel_username": "username", "sentinel_password": "password"}
_PORTS: Final = {SENTINEL: 26379, CLUSTER: 6379}


class Address(NamedTuple):
    """What a URL says. `where` are redis-py's arguments for a connection to Redis, without a host if `hosts` has them;
    `sentinels` those for a connection to a Sentinel."""

    kind: str
    """"", SENTINEL or CLUSTER"""
    where: Mapping[str, Any]
    hosts: tuple[Host, ...] = ()
    service: str = ""
    sentinels: Mapping[str, Any] = {}


def read_address(url: str) -> Address:
    """The address in a URL, or `BadArgument`, which shows no password."""
    scheme, _, rest = url.partition("://")
    base, plus, kind = scheme.partition("+")
    try:
        if not plus:
            return Address("", _allowed(url, parse_url(url), {"host", "port", "path"}))
        if base not in ("redis", "rediss") or kind not in _PORTS:
            raise ValueError(f"{scheme} is no scheme of this server")
        return _several(url, base, kind, rest)
    except BadArgument:
        raise
    except ValueError as error:
        raise BadArgument("url", without_password(url), f"a Redis URL ({error})") from None


def without_password(url: str) -> str:
    """The URL as it may be shown: without user, password and query, and without all where these are hard to tell."""
    scheme, _, rest = url.partition("://")
    places, _, query = rest.partition("?")
    return f"{scheme}://{'...' if '@' in query else places.rpartition('@')[2]}"


def _several(url: str, base: str, kind: str, rest: str) -> Address:
    places, _, query = rest.partition("?")
    netloc, _, path = places.partition("/")
    login, _, listed = netloc.rpartition("@")
    hosts = tuple(_host(part, _PORTS[kind]) for part in listed.split(","))
    service, _, db = path.partition("/") if kind == SENTINEL else ("", "", path)
    if kind == SENTINEL and not service:
        raise ValueError("it lacks the name of the service: .../mymaster")
    if kind == CLUSTER and db not in ("", "0"):
        raise ValueError("a Cluster has database 0 only")
    if db and not db.isdigit():
        raise ValueError(f"{db!r} is no database number")
    # Read as the URL of one server, so that user, password and options mean the same everywhere.
    where = dict(parse_url(f"{base}://{login}{'@' if login else ''}h/{db}?{query}"))
    sentinels = {to: where.pop(name) for name, to in _SENTINELS_LOGIN.items() if kind == SENTINEL and name in where}
    where.pop("host")
    allowed = _allowed(url, where, set())
    tls = {name: value for name, value in allowed.items() if name in _TLS or name == "connection_class"}
    return Address(kind, allowed, hosts, service, {**tls, **sentinels})


def _host(text: str, port: int) -> Host:
    host, colon, number = text.rpartition(":")
    if text.endswith("]") or not colon:  # an IPv6 address, or no port
        host, number = text, str(port)
    if not host or not number.isdigit() or not 0 < int(number) < 65_536:
        raise ValueError(f"{text!r} is no host:port")
    return Host(host.strip("[]"), int(number))


def _allowed(url: str, where: Mapping[str, Any], places: set[str]) -> Mapping[str, Any]:
    allowed = _LOGIN | places | (_TLS if url.startswith("rediss") else frozenset())
    for option in where.keys() - allowed:
        raise BadArgument("url", without_password(url), f"a Redis URL: it may not set {option}")
    return where
