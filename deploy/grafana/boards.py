"""What the dashboards show; deploy/grafana/render.py makes Grafana's JSON of it.

Where every process says the same of the whole server (memory of Redis, outbox, tickets), the greatest is taken; all
else is added up. `$__rate_interval` is Grafana's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

RATE: Final = "$__rate_interval"


@dataclass(frozen=True)
class Query:
    """One expression; `legend` as Grafana writes it, `{{label}}`."""

    expr: str
    legend: str = ""


@dataclass(frozen=True)
class Panel:
    """A graph over time, or with `now` the present values as numbers."""

    title: str
    queries: tuple[Query, ...]
    unit: str = "short"
    description: str = ""
    now: bool = False


@dataclass(frozen=True)
class Board:
    """A dashboard; its uid is `maumau-` and the name of its file."""

    name: str
    title: str
    panels: tuple[Panel, ...]


_ANSWERS: Final = "The promise: 99 % under 150 ms."
_EVENTS: Final = "The promise: 99.9 % under 1 s."
_FULL: Final = "At 90 % new rooms are refused."
_SYNTHETIC: Final = "From sending an action to its event on another stream."


def _legend(by: tuple[str, ...]) -> str:
    return " ".join(f"{{{{{label}}}}}" for label in by)


def _how_often(title: str, counter: str, *by: str, where: str = "", unit: str = "ops") -> Panel:
    """A counter's rate, added up by these labels."""
    rate = f"(rate({counter}{where}[{RATE}]))"
    expr = f"sum by ({', '.join(by)}) {rate}" if by else f"sum{rate}"
    return Panel(title, (Query(expr, _legend(by)),), unit)


def _sum(title: str, gauge: str, *by: str, now: bool = False) -> Panel:
    """A gauge, added up by these labels."""
    expr = f"sum by ({', '.join(by)}) ({gauge})" if by else f"sum({gauge})"
    return Panel(title, (Query(expr, _legend(by)),), now=now)


def _most(title: str, gauge: str, *by: str, unit: str = "short", description: str = "") -> Panel:
    """The greatest value of a gauge, by these labels."""
    expr = f"max by ({', '.join(by)}) ({gauge})" if by else f"max({gauge})"
    return Panel(title, (Query(expr, _legend(by)),), unit, description)


def _quantiles(title: str, histogram: str, *by: str, where: str = "", description: str = "") -> Panel:
    """What half and what 99 % stay under."""
    labels = ", ".join(("le", *by))
    queries = tuple(
        Query(
            f"histogram_quantile({part}, sum by ({labels}) (rate({histogram}_bucket{where}[{RATE}])))",
            f"{name} {_legend(by)}".strip(),
        )
        for part, name in ((0.5, "half"), (0.99, "99 %"))
    )
    return Panel(title, queries, "s", description)


def _objective(title: str, name: str) -> Panel:
    """The share of bad events in the last hour."""
    query = Query(f"server:{name}:ratio_rate1h or vector(0)", "last hour")
    return Panel(title, (query,), "percentunit", now=True)


_REFUSALS: Final = Query(f"topk(10, sum by (reason) (rate(maumau_refusals_total[{RATE}]))) or vector(0)", "{{reason}}")
_RELEASES: Final = Query("count by (version, service) (maumau_build_info)", "{{service}} {{version}}")

_PLAYERS: Final = Board(
    "maumau-players",
    "Maumau: players",
    (
        _how_often("Synthetic player", "maumau_synthetic_moves_total", "outcome"),
        _quantiles("Synthetic moves", "maumau_synthetic_move_seconds", description=_SYNTHETIC),
        _sum("Open streams", "maumau_open_streams", "grpc_method"),
        _how_often("Moves of players", "maumau_actions_total", "result"),
        _how_often("Moves of bots", "maumau_bot_moves_total", "level"),
        _how_often("Streams cut", "maumau_slow_readers_cut_total"),
        _how_often("Resumes", "maumau_resumes_total", "outcome"),
        _how_often("Streams asked to move", "maumau_go_aways_total"),
        _most("Waiting tickets", "maumau_tickets_waiting"),
        _quantiles("Waiting time", "maumau_ticket_wait_seconds"),
        _how_often("Tickets by outcome", "maumau_tickets_total", "outcome"),
        Panel("Refusals", (_REFUSALS,), "ops"),
        Panel("Releases", (_RELEASES,), now=True),
    ),
)

_ROOMS: Final = Board(
    "maumau-rooms",
    "Maumau: rooms",
    (
        _objective("Actions that failed", "actions_failed"),
        _objective("Actions that were slow", "actions_slow"),
        _objective("Events that were late", "events_late"),
        _sum("Rooms by state", "ruleset:rooms:sum", "state"),
        _sum("Rooms by ruleset", "ruleset:rooms:sum", "ruleset"),
        _how_often("Rooms made", "maumau_rooms_created_total", "ruleset"),
        _how_often("Matches that ended", "maumau_rooms_finished_total", "outcome"),
        _how_often("Actions by result", "maumau_actions_total", "result", "reason_class"),
        _quantiles("Time to answer an action", "maumau_action_seconds", description=_ANSWERS),
        _quantiles("Time from commit to stream", "maumau_event_delivery_seconds", description=_EVENTS),
        _how_often("Events delivered", "maumau_events_delivered_total"),
        _how_often("Events from the log", "maumau_gaps_filled_total"),
        _quantiles("Lateness of deadlines", "maumau_timer_lateness_seconds"),
        _how_often("Rooms credited with an outage", "maumau_outages_credited_total"),
        _how_often("Outages", "maumau_outages_total"),
        _how_often("Commits that lost a race", "maumau_commit_conflicts_total"),
    ),
)

_REDIS: Final = Board(
    "maumau-redis",
    "Maumau: Redis",
    (
        _most("Memory", "maumau_redis_memory_percent", "node", unit="percent", description=_FULL),
        _quantiles("Commit time", "maumau_commit_seconds"),
        _how_often("Commits", "maumau_commit_seconds_count"),
        _sum("Commands waiting", "maumau_redis_commands_waiting", "service"),
        _sum("Connections in use", "maumau_redis_connections_in_use", "service", "pool"),
        _most(
            "Share of the pool in use",
            "maumau_redis_connections_in_use / maumau_redis_connections_limit",
            *("service", "pool"),
            unit="percentunit",
        ),
        _how_often("Connections that broke", "maumau_redis_reconnects_total", "service", "pool"),
        _most("Results that wait", "maumau_outbox_lag_seconds", unit="s"),
        _most("Dead results", "maumau_outbox_dead"),
    ),
)

_PUBLIC: Final = '{envoy_http_conn_manager_prefix="public"}'
_CLUSTER: Final = "envoy_cluster_name"

_ENVOY: Final = Board(
    "maumau-envoy",
    "Maumau: Envoy",
    (
        _sum("Connections", f"envoy_http_downstream_cx_active{_PUBLIC}"),
        _sum("Calls and streams open", f"envoy_http_downstream_rq_active{_PUBLIC}"),
        _how_often("Calls", "envoy_http_downstream_rq_xx", "envoy_response_code_class", where=_PUBLIC),
        _sum("Clusters", "envoy_cluster_membership_healthy", _CLUSTER, now=True),
        _sum("Processes listed", "envoy_cluster_membership_total", _CLUSTER, now=True),
        _sum("Processes ejected", "envoy_cluster_outlier_detection_ejections_active", _CLUSTER),
        _how_often("Calls to services", "envoy_cluster_upstream_rq_total", _CLUSTER),
        _how_often("Connections that failed", "envoy_cluster_upstream_cx_connect_fail", _CLUSTER),
        _how_often("Retries", "envoy_cluster_upstream_rq_retry", _CLUSTER),
        _how_often("Refused for want of room", "envoy_cluster_upstream_rq_pending_overflow", _CLUSTER),
        _how_often("Bytes sent", "envoy_http_downstream_cx_tx_bytes_total", where=_PUBLIC, unit="Bps"),
        _how_often("Bytes received", "envoy_http_downstream_cx_rx_bytes_total", where=_PUBLIC, unit="Bps"),
    ),
)


def _service(service: str, *more: Panel) -> Board:
    where = f'{{service="{service}"}}'
    unary = f'{{service="{service}",grpc_type="unary"}}'
    messages = tuple(
        Query(f"sum(rate(grpc_server_msg_{way}_total{where}[{RATE}]))", way) for way in ("sent", "received")
    )
    return Board(
        f"maumau-{service}",
        f"Maumau: {service}",
        (
            _sum("Ready processes", f"maumau_ready{where}", now=True),
            _how_often("Calls by method", "grpc_server_handled_total", "grpc_method", where=where),
            _how_often("Calls by code", "grpc_server_handled_total", "grpc_code", where=where),
            _how_often("Calls begun", "grpc_server_started_total", "grpc_type", where=where),
            _quantiles("Time of calls", "grpc_server_handling_seconds", "grpc_method", where=unary),
            Panel("Messages", messages, "ops"),
            _quantiles("Loop lag", "maumau_loop_lag_seconds", "instance", where=where),
            _how_often("CPU", "process_cpu_seconds_total", "instance", where=where, unit="percentunit"),
            _most("Memory", f"process_resident_memory_bytes{where}", "instance", unit="bytes"),
            *more,
        ),
    )


BOARDS: Final = (
    _PLAYERS,
    _ROOMS,
    _service("matchmaking"),
    _service("game-authority"),
    _service(
        "scoring",
        _how_often("Results by outcome", "maumau_results_total", "outcome"),
        _most("Results that wait", "maumau_outbox_lag_seconds", unit="s"),
        _most("Dead results", "maumau_outbox_dead"),
    ),
    _REDIS,
    _ENVOY,
)
