"""What runs where on one machine: ports, environments and commands of every process, before anything is started."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from services.local.envoy import Edge, Endpoint
from services.local.ports import free_ports, is_free
from services.runtime.routes import GAME_AUTHORITY, MATCHMAKING, SCORING, SERVICES, module_of
from services.runtime.settings import Settings, variable


class PortTakenError(RuntimeError):
    """A port of `make run` is in use; the text names it and what to do."""


@dataclass(frozen=True)
class StackOptions:
    """What to run. Unset fields follow the settings.

    `redis` asks for a kind of embedded server (`valkey`, `redis`); `redis_url` uses a running one instead.
    `environ` is added to the environment of every service, `environ_of` to that of one process by its name, e.g.
    `{"game-authority-1": {"MAUMAU_REDIS_URL": ...}}`. `modules` names the module that each service is started from;
    under a process's name (`game-authority-2`), that of it alone.
    """

    var_dir: Path | None = None
    port: int | None = None
    authorities: int | None = None
    envoy: bool | None = None
    redis: str | None = None
    redis_url: str | None = None
    redis_arguments: tuple[str, ...] = ()
    environ: Mapping[str, str] = field(default_factory=dict)
    environ_of: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    modules: Mapping[str, str] = field(default_factory=lambda: {name: module_of(name) for name in SERVICES})


@dataclass(frozen=True)
class ServiceProcess:
    """One process of a service: its name (`game-authority-1`), its service and its ports."""

    name: str
    service: str
    host: str
    public_port: int
    internal_port: int
    metrics_port: int

    @property
    def address(self) -> str:
        return f"{self.host}:{self.public_port}"

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint(self.host, self.public_port, self.internal_port)


@dataclass(frozen=True)
class Plan:
    """The edge, and the processes of all services in the order of their ports."""

    edge: Edge
    processes: tuple[ServiceProcess, ...]

    def of(self, service: str) -> list[ServiceProcess]:
        return [process for process in self.processes if process.service == service]

    def endpoints(self) -> dict[str, list[Endpoint]]:
        return {service: [process.endpoint for process in self.of(service)] for service in SERVICES}

    def target(self, service: str) -> str:
        """A gRPC target of all internal ports of a service."""
        return "ipv4:" + ",".join(f"{process.host}:{process.internal_port}" for process in self.of(service))


def make_plan(settings: Settings, port: int, authorities: int) -> Plan:
    """Ports beside `port`, ten for each process, or free ones if it is 0. Raises `PortTakenError`."""
    host = "127.0.0.1"
    names = [(MATCHMAKING, MATCHMAKING)]
    names += [(f"{GAME_AUTHORITY}-{number}", GAME_AUTHORITY) for number in range(1, authorities + 1)]
    names.append((SCORING, SCORING))
    if port == 0:
        ports = iter(free_ports(3 * (len(names) + 1)))
    else:
        ports = iter([port + 10 * row + column for row in range(len(names) + 1) for column in range(3)])
    edge = Edge(settings.host, next(ports), host, next(ports), next(ports))
    plan = Plan(edge, tuple(ServiceProcess(*name, host, next(ports), next(ports), next(ports)) for name in names))
    _insist_on_free_ports(plan)
    return plan


def _insist_on_free_ports(plan: Plan) -> None:
    edge = plan.edge
    wanted = [(edge.host, edge.port), (edge.operations_host, edge.operations_port), ("127.0.0.1", edge.admin_port)]
    wanted += [(process.host, number) for process in plan.processes for number in _ports(process)]
    for host, number in wanted:
        if not is_free(number, host):
            raise PortTakenError(
                f"Port {number} on {host} is in use, perhaps by another `make run`. "
                f"Set {variable('port')} to another port, or to 0 for free ones."
            )


def _ports(process: ServiceProcess) -> tuple[int, int, int]:
    return process.public_port, process.internal_port, process.metrics_port


def service_environ(
    plan: Plan, process: ServiceProcess, options: StackOptions, redis_url: str, keys_dir: Path
) -> dict[str, str]:
    """The whole environment of one service process."""
    ours = {
        "host": process.host,
        "public_port": process.public_port,
        "internal_port": process.internal_port,
        "metrics_port": process.metrics_port,
        "matchmaking_target": plan.target(MATCHMAKING),
        "game_authority_target": plan.target(GAME_AUTHORITY),
        "scoring_target": plan.target(SCORING),
        "redis_url": redis_url,
        "keys_dir": keys_dir.resolve(),
    }
    named = {variable(name): str(value) for name, value in ours.items()}
    return {**os.environ, **named, **options.environ, **options.environ_of.get(process.name, {})}
