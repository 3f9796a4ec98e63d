"""The one table of what is promised and what wakes whom; deploy/prometheus/rules.py makes Prometheus's rules of it.

Durations stand in brackets (`[5m]`), in `pending`, and as `seconds(60)` where a number of seconds is compared, so that
a test may divide all of them. Severities: `critical` players cannot play; `page` somebody has to look now; `ticket` on
the next working day. Each alert has its runbook in deploy/runbooks/.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Severity = Literal["critical", "page", "ticket"]

LEAST_BAD_EVENTS: Final = 10
"""So many bad events in the longer window before a burn rate says anything: one of three is no trend."""


@dataclass(frozen=True)
class Objective:
    """A promise about a share of events. `bad` and `total` are counters, in PromQL, whose rates are taken; `{range}`
    stands for the window."""

    alert: str
    name: str
    """Of the recording rules: `server:<name>:ratio_rate5m`."""
    target: float
    bad: str
    total: str
    summary: str
    dashboard: str

    @property
    def budget(self) -> float:
        """The share of events that may be bad."""
        return round(1 - self.target, 6)


@dataclass(frozen=True)
class Burn:
    """The budget is used up this many times too fast, over a long window and still over a short one."""

    factor: float
    long: str
    short: str
    severity: Severity


@dataclass(frozen=True)
class Symptom:
    """Something that players feel, or will."""

    alert: str
    expr: str
    pending: str
    """How long it has to last."""
    severity: Severity
    summary: str
    description: str
    dashboard: str


@dataclass(frozen=True)
class Recording:
    """`level:metric:operation`"""

    record: str
    expr: str


BURNS: Final = (
    Burn(14.4, "1h", "5m", "page"),
    Burn(6, "6h", "30m", "page"),
    Burn(1, "3d", "6h", "ticket"),
)

OBJECTIVES: Final = (
    Objective(
        "ActionsFail",
        "actions_failed",
        0.999,
        'sum(rate(maumau_actions_total{{reason_class="server"}}[{range}]))',
        "sum(rate(maumau_actions_total[{range}]))",
        "Players' actions end in a fault of the server",
        "rooms",
    ),
    Objective(
        "ActionsSlow",
        "actions_slow",
        0.99,
        "(sum(rate(maumau_action_seconds_count[{range}]))"
        ' - sum(rate(maumau_action_seconds_bucket{{le="0.15"}}[{range}])))',
        "sum(rate(maumau_action_seconds_count[{range}]))",
        "Players wait more than 150 ms for the answer to an action",
        "rooms",
    ),
    Objective(
        "EventsLate",
        "events_late",
        0.999,
        "(sum(rate(maumau_event_delivery_seconds_count[{range}]))"
        ' - sum(rate(maumau_event_delivery_seconds_bucket{{le="1.0"}}[{range}])))',
        "sum(rate(maumau_event_delivery_seconds_count[{range}]))",
        "Players see what others did more than a second late",
        "rooms",
    ),
)

_SERVICES: Final = ("matchmaking", "game-authority", "scoring")

SYMPTOMS: Final = (
    Symptom(
        "SyntheticPlayerFails",
        'sum(increase(maumau_synthetic_moves_total{outcome="ok"}[3m])) == 0',
        "1m",
        "critical",
        "The synthetic player cannot play",
        "For three minutes no move of the synthetic player has come back: nobody can play.",
        "players",
    ),
    Symptom(
        "SyntheticPlayerMissing",
        'absent(up{job="synthetic"} == 1)',
        "5m",
        "page",
        "There is no synthetic player",
        "Nothing plays to see whether one can, so the loudest alert is mute.",
        "players",
    ),
    Symptom(
        "NothingReady",
        " or ".join(f'absent(maumau_ready{{job="services",service="{name}"}} == 1)' for name in _SERVICES),
        "30s",
        "page",
        "No process of {{ $labels.service }} is ready",
        "Every process of {{ $labels.service }} is gone or cannot commit; mostly Redis cannot be reached.",
        "{{ $labels.service }}",
    ),
    Symptom(
        "EdgeDown",
        'absent(up{job="envoy"} == 1)',
        "30s",
        "page",
        "Envoy does not answer",
        "The public address has no Envoy behind it that Prometheus can reach.",
        "envoy",
    ),
    Symptom(
        "ProcessDown",
        'up{job="services"} == 0',
        "2m",
        "ticket",
        "{{ $labels.instance }} of {{ $labels.service }} does not answer",
        "It is listed but cannot be scraped; others serve its rooms meanwhile.",
        "{{ $labels.service }}",
    ),
    Symptom(
        "ProcessNotReady",
        'maumau_ready{job="services"} == 0',
        "5m",
        "ticket",
        "{{ $labels.instance }} of {{ $labels.service }} is not ready",
        "It runs, but says that it cannot commit, so nothing is sent to it.",
        "{{ $labels.service }}",
    ),
    Symptom(
        "ProcessesRestart",
        'sum by (service) (changes(process_start_time_seconds{job="services"}[15m])) > 2',
        "0s",
        "ticket",
        "Processes of {{ $labels.service }} start again and again",
        "{{ $value | humanize }} restarts of {{ $labels.service }} in 15 minutes.",
        "{{ $labels.service }}",
    ),
    Symptom(
        "HandlersFail",
        'sum by (service) (increase(grpc_server_handled_total{grpc_code=~"INTERNAL|UNKNOWN"}[10m])) > 0',
        "0s",
        "ticket",
        "Calls to {{ $labels.service }} end as INTERNAL",
        "A handler raised what it should not: a bug, or data that nobody can read.",
        "{{ $labels.service }}",
    ),
    Symptom(
        "RedisMemoryHigh",
        "max(maumau_redis_memory_percent) > 75",
        "5m",
        "page",
        "Redis has used {{ $value | humanize }} % of its memory",
        "At 90 % new guests, rooms and tickets are refused, so that running matches end.",
        "redis",
    ),
    Symptom(
        "RedisFull",
        "max(maumau_redis_memory_percent) >= 90",
        "1m",
        "critical",
        "Redis is full: new guests, rooms and tickets are refused",
        "Running matches go on until nothing can be written any more.",
        "redis",
    ),
    Symptom(
        "RedisConnectionsBreak",
        "sum by (service) (increase(maumau_redis_reconnects_total[5m])) > 20",
        "0s",
        "ticket",
        "Connections from {{ $labels.service }} to Redis break",
        "{{ $value | humanize }} connections broke in five minutes; each costs a read of the log or a resent commit.",
        "redis",
    ),
    Symptom(
        "OutboxDead",
        "max(maumau_outbox_dead) > 0",
        "0s",
        "ticket",
        "Scoring refused a result ten times",
        "{{ $value | humanize }} results are set aside and wait for an operator; their matches are not rated.",
        "scoring",
    ),
    Symptom(
        "OutboxLags",
        "max(maumau_outbox_lag_seconds) > seconds(60)",
        "2m",
        "ticket",
        "Results wait for scoring",
        "The oldest result waits for {{ $value | humanizeDuration }}: ratings and leaderboards are behind.",
        "scoring",
    ),
    Symptom(
        "ResultsConflict",
        'sum(increase(maumau_results_total{outcome="conflicting"}[1h])) > 0',
        "0s",
        "ticket",
        "A match was reported with two results",
        "The first one counts. After a rollback of Redis that is expected, else it is a bug.",
        "scoring",
    ),
    Symptom(
        "TimersLate",
        "(sum(rate(maumau_timer_lateness_seconds_count[5m]))"
        ' - sum(rate(maumau_timer_lateness_seconds_bucket{le="1.0"}[5m])))'
        " > 0.05 * sum(rate(maumau_timer_lateness_seconds_count[5m]))"
        " and sum(increase(maumau_timer_lateness_seconds_count[5m]))"
        ' - sum(increase(maumau_timer_lateness_seconds_bucket{le="1.0"}[5m])) > 5',
        "0s",
        "page",
        "Turns end and bots move late",
        "More than 5 % of the rooms' deadlines were carried out over a second late.",
        "rooms",
    ),
    Symptom(
        "LoopLags",
        "histogram_quantile(0.99, sum by (le, service, instance) (rate(maumau_loop_lag_seconds_bucket[5m]))) > 0.3",
        "2m",
        "ticket",
        "The event loop of {{ $labels.instance }} is late",
        "One in a hundred turns of the loop is {{ $value | humanizeDuration }} late: too much work, or too little CPU.",
        "{{ $labels.service }}",
    ),
    Symptom(
        "OutagesCredited",
        "sum(increase(maumau_outages_credited_total[10m])) > 0",
        "0s",
        "ticket",
        "Clocks of rooms stood still and were given the time back",
        "For more than three seconds no process swept, or the clock of Redis went back.",
        "rooms",
    ),
    Symptom(
        "SlowReadersSurge",
        "sum(increase(maumau_slow_readers_cut_total[10m])) > 10"
        " and sum(increase(maumau_slow_readers_cut_total[10m])) > 0.05 * sum(max_over_time(maumau_open_streams[10m]))",
        "0s",
        "ticket",
        "Many clients do not read their streams",
        "{{ $value | humanize }} streams were cut in ten minutes, more than 5 % of those open.",
        "players",
    ),
    Symptom(
        "GapsSurge",
        "sum(rate(maumau_gaps_filled_total[10m])) > 0.01 * sum(rate(maumau_events_delivered_total[10m]))"
        " and sum(increase(maumau_gaps_filled_total[10m])) > 20",
        "0s",
        "ticket",
        "Many events come from the log instead of the channel",
        "More than 1 % of the events were lost on the fast path; players see them late.",
        "rooms",
    ),
    Symptom(
        "QueueWaits",
        "histogram_quantile(0.9, sum by (le) (rate(maumau_ticket_wait_seconds_bucket[15m]))) > seconds(60)",
        "5m",
        "ticket",
        "Quick play takes long",
        "One in ten waits more than {{ $value | humanizeDuration }} for a match.",
        "players",
    ),
    Symptom(
        "BuildsDiffer",
        'count(count by (version) (maumau_build_info{job="services"})) > 1',
        "1h",
        "ticket",
        "Processes of two releases run side by side",
        "They may, but not for so long: an update has stopped half-way.",
        "players",
    ),
)

RECORDINGS: Final = (
    Recording("ruleset:rooms:sum", "sum by (state, ruleset) (maumau_rooms)"),
    Recording(
        "method:grpc_server_handled:rate5m",
        "sum by (service, grpc_service, grpc_method, grpc_code) (rate(grpc_server_handled_total[5m]))",
    ),
    Recording(
        "method:grpc_server_handling_seconds:p99_5m",
        "histogram_quantile(0.99, sum by (le, service, grpc_service, grpc_method)"
        ' (rate(grpc_server_handling_seconds_bucket{grpc_type="unary"}[5m])))',
    ),
    Recording(
        "server:action_seconds:p99_5m", "histogram_quantile(0.99, sum by (le) (rate(maumau_action_seconds_bucket[5m])))"
    ),
    Recording(
        "server:event_delivery_seconds:p99_5m",
        "histogram_quantile(0.99, sum by (le) (rate(maumau_event_delivery_seconds_bucket[5m])))",
    ),
    Recording(
        "server:commit_seconds:p99_5m", "histogram_quantile(0.99, sum by (le) (rate(maumau_commit_seconds_bucket[5m])))"
    ),
    Recording(
        "service:loop_lag_seconds:p99_5m",
        "histogram_quantile(0.99, sum by (le, service) (rate(maumau_loop_lag_seconds_bucket[5m])))",
    ),
)
