"""Envoy's configuration from the templates in deploy/envoy, the routes of the contract and the settings.

`python -m services.local.envoy` rewrites deploy/envoy/envoy.yaml, the form for containers, in which each service is a
DNS name, and envoy-tls.yaml beside it, which serves clients over TLS, with the settings of its environment.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template
from textwrap import indent
from typing import Final

from services.runtime.limits import ACT, METHODS, READ, TOOL, Limit, limit_text, read_rate
from services.runtime.routes import GAME_AUTHORITY, MATCHMAKING, PUBLIC, SERVICES, STREAMING
from services.runtime.settings import Settings, read_settings
from services.wire.errors import refusal

TEMPLATES: Final = Path(__file__).parents[2] / "deploy" / "envoy"
ROOM_HEADER: Final = "x-maumau-room"
"""Metadata with the room id: Envoy hashes on it, so that a room's calls meet a warm cache. Nothing depends on it."""
HEALTH_HEADER: Final = "x-maumau-health"
CALL_MARGIN_SECONDS: Final = 5
LIMITED_SENTENCE: Final = "local_rate_limited"
"""Envoy's own; a client's library may ask that the details say the same."""
SHORTEST_FILL_SECONDS: Final = 0.05
"""More often Envoy fills no bucket."""
CEILED: Final = (ACT, READ)
"""What players call often. Other calls have limits so low that few get through to Envoy's ceiling."""
CEILING: Final = 2
"""Times a player's limit at which Envoy refuses: far enough above for whom the services still have to judge."""
LONGEST_WAIT_SECONDS: Final = 0.1
"""A ceiling tells everybody the same wait, that of a whole call; only where that is as good as none it may."""
CEILED_SESSIONS: Final = 1_000
"""Sessions that Envoy keeps apart; the one that called longest ago goes first, which is nobody who floods."""
IDLE_SECONDS: Final = 60
"""How long a connection may be open without a call."""


@dataclass(frozen=True)
class Endpoint:
    """One process of a service, or a DNS name that stands for many."""

    host: str
    public_port: int
    internal_port: int


@dataclass(frozen=True)
class Edge:
    """Where Envoy itself listens."""

    host: str
    port: int
    operations_host: str
    operations_port: int
    admin_port: int


CONTAINER_EDGE: Final = Edge("0.0.0.0", 7700, "0.0.0.0", 7702, 9901)  # noqa: S104 - a container has no other  # nosec B104
CONTAINER_TLS_PORT: Final = 17_700
"""Where the form with TLS serves clients; the plain port stays, for what is inside."""
CONTAINER_TLS_DIR: Final = Path("/tls")
CONTAINER_ENDPOINTS: Final = {service: (Endpoint(service, 7800, 7801),) for service in SERVICES}


def envoy_config(
    edge: Edge,
    endpoints: Mapping[str, Sequence[Endpoint]],
    settings: Settings,
    *,
    dns: bool,
    tls_port: int | None = None,
) -> str:
    """The whole configuration as YAML. `endpoints` by service; with `dns` their hosts are names to be resolved. With
    `tls_port` the folder of certificates is for a listener of its own there, and `edge.port` stays plain."""
    clusters = "".join(_cluster(service, endpoints[service], settings, dns=dns) for service in SERVICES)
    folder = settings.public_tls_dir
    listeners = _listener("public", edge.host, edge.port, settings, folder if tls_port is None else None)
    if tls_port is not None:
        listeners += _listener("public-tls", edge.host, tls_port, settings, folder)
    return _fill(
        "envoy.yaml.template",
        operations_host=edge.operations_host,
        operations_port=edge.operations_port,
        admin_port=edge.admin_port,
        max_requests=settings.max_requests,
        listeners=indent(listeners, " " * 4).rstrip(),
        clusters=indent(clusters, " " * 4).rstrip(),
    )


def _listener(name: str, host: str, port: int, settings: Settings, tls_dir: Path | None) -> str:
    return _fill(
        "listener.yaml.template",
        name=name,
        host=host,
        port=port,
        max_connection_streams=settings.max_connection_streams,
        idle_seconds=IDLE_SECONDS,
        max_headers_kb=math.ceil(settings.max_metadata_bytes / 1024),
        cors_origins=json.dumps(settings.cors_origins_regex),  # which YAML reads as it stands
        transport_socket="" if tls_dir is None else _tls(tls_dir),
        routes=indent(_routes(settings), " " * 20).rstrip(),
        ceilings=indent("".join(_ceiling(limit, settings) for limit in CEILED), " " * 14),
        **_tool_limit(settings),
    )


def _routes(settings: Settings) -> str:
    tool = _LIMIT_ON if settings.rate_limits else ""
    limit = f"{settings.call_limit_seconds + CALL_MARGIN_SECONDS:g}s"
    streams = [_route(f"path: {path}", PUBLIC[path.split("/")[1]], "0s") for path in STREAMING]
    services = [_route(f"prefix: /{name}/", service, limit) for name, service in PUBLIC.items()]
    health = [
        _route(
            f"prefix: /grpc.health.v1.Health/, headers: [{{name: {HEALTH_HEADER}, string_match: {{exact: {name}}}}}]",
            service,
            "0s",
            _LUA_ON + tool,
            hashed=False,
        )
        for name, service in PUBLIC.items()
    ]
    # Every service describes all public ones, so any may answer reflection; it is no more than a tool's convenience.
    rest = [
        _route("prefix: /grpc.health.v1.Health/", MATCHMAKING, "0s", _LUA_ON + tool),
        _route("prefix: /grpc.reflection.", MATCHMAKING, "0s"),
    ]
    return "".join([*streams, *services, *health, *rest])


def _route(match: str, service: str, timeout: str, filters: str = "", *, hashed: bool = True) -> str:
    by_room = service == GAME_AUTHORITY and hashed
    return _fill(
        "route.yaml.template",
        match=match,
        cluster=service,
        timeout=timeout,
        hash=f"\n    hash_policy: [{{header: {{header_name: {ROOM_HEADER}}}}}]" if by_room else "",
        filters=f"\n  typed_per_filter_config:{filters}" if filters else "",
    )


def _on(name: str) -> str:
    kind = "type.googleapis.com/envoy.config.route.v3.FilterConfig"
    return f'\n    envoy.filters.http.{name}:\n      "@type": {kind}\n      config: {{}}'


_LUA_ON: Final = _on("lua")
_LIMIT_ON: Final = _on("local_ratelimit")


def _tool_limit(settings: Settings) -> dict[str, object]:
    """The limit of health checks once more, for each connection: the services have it for an address, but what is
    refused here costs them nothing. A call gets the same refusal. Reflection is left to the services: some clients take
    it for a fault of their own when a stream is refused before their first message went out."""
    return {f"tool_{key}": value for key, value in _bucket(TOOL, settings).items()}


def _ceiling(limit: Limit, settings: Settings) -> str:
    """Refuses the calls of a session far above the limit of its player, which the services would refuse as well: there
    each costs as much as a call that is answered, at the expense of who plays beside. The session is the token, also
    where many players call over one connection; another token of the same player only brings the call to the services,
    whose limits are the exact ones."""
    rate = read_rate(getattr(settings, f"limit_{limit.name}"))
    if not settings.rate_limits or rate.interval_us / 1e6 > LONGEST_WAIT_SECONDS:
        return ""
    calls = "\n".join(_CALL.format(name=limit.name, path=path) for path, of in METHODS.items() if of is limit)
    bucket = _bucket(limit, settings, CEILING)
    return _fill("ceiling.yaml.template", name=limit.name, calls=calls, sessions=CEILED_SESSIONS, **bucket)


_CALL: Final = """\
      - actions:
          - header_value_match:
              {{descriptor_value: {name}, headers: [{{name: ":path", string_match: {{exact: {path}}}}}]}}
          - request_headers: {{header_name: authorization, descriptor_key: session}}"""


def _bucket(limit: Limit, settings: Settings, times: int = 1) -> dict[str, object]:
    """A bucket of so many times this limit, and the refusal that the services give for it."""
    rate = read_rate(getattr(settings, f"limit_{limit.name}"))
    fill_seconds = max(SHORTEST_FILL_SECONDS, rate.interval_us / 1e6)
    status = refusal("RATE_LIMITED", retry_after=fill_seconds, limit=limit_text(limit, settings)).to_status()
    status.message = LIMITED_SENTENCE
    return {
        "burst": times * rate.burst,
        "tokens": math.ceil(times * fill_seconds * rate.per_second),
        "fill_seconds": f"{fill_seconds:.6f}",
        "details": base64.b64encode(status.SerializeToString()).decode().rstrip("="),
    }


def _cluster(service: str, endpoints: Sequence[Endpoint], settings: Settings, *, dns: bool) -> str:
    return _fill(
        "cluster.yaml.template",
        name=service,
        discovery=_DNS if dns else "type: STATIC",
        policy="RING_HASH" if service == GAME_AUTHORITY else "LEAST_REQUEST",
        max_requests=settings.max_requests,
        endpoints=indent("".join(_endpoint(each, settings) for each in endpoints), " " * 10).rstrip(),
    )


_DNS: Final = """cluster_type:
    name: envoy.cluster.dns
    typed_config:
      "@type": type.googleapis.com/envoy.extensions.clusters.dns.v3.DnsCluster
      dns_refresh_rate: 2s"""


def _tls(folder: Path) -> str:
    files = {"certificate": folder.resolve() / "tls.crt", "key": folder.resolve() / "tls.key"}
    return "\n" + indent(_fill("tls.yaml.template", **files), " " * 6).rstrip()


def _endpoint(endpoint: Endpoint, settings: Settings) -> str:
    # Envoy has no certificate for the internal port; where that asks for one, health is asked for beside the calls.
    health_port = endpoint.internal_port if settings.internal_tls_dir is None else endpoint.public_port
    return (
        "- endpoint:\n"
        f"    address: {{socket_address: {{address: {endpoint.host}, port_value: {endpoint.public_port}}}}}\n"
        f"    health_check_config: {{port_value: {health_port}}}\n"
    )


def _fill(template: str, **values: object) -> str:
    return Template((TEMPLATES / template).read_text()).substitute(values)


def container_config(settings: Settings | None = None, *, tls: bool = False) -> str:
    """What deploy/envoy/envoy.yaml holds, or envoy-tls.yaml; without `settings` with the default of each."""
    note = "# Generated by `python -m services.local.envoy` from the templates beside this file; do not edit.\n"
    folder = CONTAINER_TLS_DIR if tls else None
    chosen = (settings or Settings.model_construct()).model_copy(update={"public_tls_dir": folder})
    port = CONTAINER_TLS_PORT if tls else None
    return note + envoy_config(CONTAINER_EDGE, CONTAINER_ENDPOINTS, chosen, dns=True, tls_port=port)


if __name__ == "__main__":
    named = read_settings()
    (TEMPLATES / "envoy.yaml").write_text(container_config(named))
    (TEMPLATES / "envoy-tls.yaml").write_text(container_config(named, tls=True))
