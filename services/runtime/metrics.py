"""Every metric of the server, with its description; call sites only count.

RPCs have the usual `grpc_server_*` names, the domain has `maumau_*`. No label holds an id: a `ruleset` is a preset's
name or `custom` (`ruleset_label`). `python -m services.runtime.reference metrics` prints docs/metrics.md.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Final

from prometheus_client import Counter, Gauge, Histogram, Info

from services.runtime import tallies

SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Buckets around the objective of 150 ms for an answer."""
WAITING: Final = (0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0, 120.0, 300.0)
"""Buckets for what people wait for."""

_RPC: Final = ("grpc_type", "grpc_service", "grpc_method")

grpc_started = tallies.Counter("grpc_server_started_total", "RPCs that began.", _RPC)
grpc_handled = tallies.Counter("grpc_server_handled_total", "RPCs that ended, by code.", (*_RPC, "grpc_code"))
grpc_handling_seconds = tallies.Histogram(
    "grpc_server_handling_seconds", "Time from the begin of an RPC to its end.", _RPC, buckets=SECONDS
)
grpc_received = tallies.Counter("grpc_server_msg_received_total", "Messages received from clients.", _RPC)
grpc_sent = tallies.Counter("grpc_server_msg_sent_total", "Messages sent to clients.", _RPC)
refusals = tallies.Counter(
    "maumau_refusals_total", "Calls that ended with an error, by the reason in its ErrorInfo.", ("reason",)
)

rooms = Gauge(
    "maumau_rooms",
    "Rooms, by state and ruleset. Each authority counts its share of the partitions: add the processes up.",
    ("state", "ruleset"),
)
rooms_created = Counter("maumau_rooms_created_total", "Rooms made, by ruleset.", ("ruleset",))
rooms_finished = Counter(
    "maumau_rooms_finished_total", "Matches that ended, by ruleset and how.", ("ruleset", "outcome")
)
actions = tallies.Counter(
    "maumau_actions_total",
    "Actions of players: result is accepted, repeated or refused; reason_class is none, rule, stale, input or server.",
    ("result", "reason_class"),
)
action_seconds = tallies.Histogram(
    "maumau_action_seconds", "Time from an action's arrival, by `Act` or `Play`, to its answer.", buckets=SECONDS
)
commit_seconds = tallies.Histogram(
    "maumau_commit_seconds", "Time of one commit in Redis, as its caller waits.", buckets=SECONDS
)
commit_conflicts = Counter("maumau_commit_conflicts_total", "Commits that lost a race and were judged again.")

open_streams = Gauge("maumau_open_streams", "Streams open now, by RPC.", ("grpc_method",))
events_delivered = tallies.Counter("maumau_events_delivered_total", "Events written to streams.")
event_delivery_seconds = tallies.Histogram(
    "maumau_event_delivery_seconds",
    "Time from the commit of an event until it is written to a stream.",
    buckets=SECONDS,
)
resumes = Counter(
    "maumau_resumes_total", "Streams opened with a resume token: exact, changed, trimmed or unreadable.", ("outcome",)
)
gaps_filled = Counter("maumau_gaps_filled_total", "Events that pub/sub lost and the log gave.")
slow_readers_cut = Counter("maumau_slow_readers_cut_total", "Streams ended because their client did not read.")
go_aways = Counter("maumau_go_aways_total", "Streams asked to move because the process stops.")

timer_lateness_seconds = Histogram(
    "maumau_timer_lateness_seconds", "Time between a room's deadline and the commit that it caused.", buckets=SECONDS
)
outages = Counter("maumau_outages_total", "Times that a partition of rooms stood still or its clock went back.")
outages_credited = Counter("maumau_outages_credited_total", "Rooms whose clocks got back the time of an outage.")
bot_moves = Counter(
    "maumau_bot_moves_total", "Moves of bots, by level; `substitute` for a person who is away or left.", ("level",)
)

tickets = Counter(
    "maumau_tickets_total", "Tickets: matched, backfilled, returned, cancelled, expired or replaced.", ("outcome",)
)
match_seats = Counter(
    "maumau_match_seats_total",
    "Seats of matches that matchmaking formed, by who took them: person or bot.",
    ("kind",),
)
ticket_wait_seconds = Histogram("maumau_ticket_wait_seconds", "Waiting time of matched tickets.", buckets=WAITING)
tickets_waiting = Gauge("maumau_tickets_waiting", "Tickets waiting now, the same in every process.")

results = Counter(
    "maumau_results_total", "Results that reached scoring: applied, repeated or conflicting.", ("outcome",)
)
recomputations = Counter("maumau_recomputations_total", "Rating pools recomputed from their ledgers.")
outbox_lag_seconds = Gauge(
    "maumau_outbox_lag_seconds", "Age of the oldest result that scoring has not confirmed; each authority says it."
)
outbox_dead = Gauge("maumau_outbox_dead", "Results that scoring refused ten times and that wait for an operator.")

logs_archived = Counter("maumau_logs_archived_total", "Logs of matches that scoring keeps for replays; repeats count.")

redis_reconnects = Counter("maumau_redis_reconnects_total", "Connections to Redis that broke, by pool.", ("pool",))
redis_connections_in_use = Gauge(
    "maumau_redis_connections_in_use", "Connections to Redis that somebody works with, by pool.", ("pool",)
)
redis_connections_limit = Gauge("maumau_redis_connections_limit", "Most connections that a pool may have.", ("pool",))
redis_commands_waiting = Gauge("maumau_redis_commands_waiting", "Commands that wait for their turn to be sent.")
redis_memory_percent = Gauge("maumau_redis_memory_percent", "Used share of Redis's maxmemory, by node.", ("node",))
loop_lag_seconds = Histogram(
    "maumau_loop_lag_seconds", "Lateness of a timer on the event loop, taken twice a second.", buckets=SECONDS
)
loop_tasks = Gauge("maumau_loop_tasks", "Tasks of the event loop, counted twice a second.")
ready = Gauge("maumau_ready", "1 while the process says that it can commit, and its event loop turns.")
build_info = Info("maumau_build", "Version of the server and of what it runs on.")

CUSTOM: Final = "custom"


def ruleset_label(name: str, presets: Container[str]) -> str:
    """The only two kinds of value for a `ruleset` label: the name of a preset, or `custom`."""
    return name if name in presets else CUSTOM


def _known(counter: Counter, *values: str) -> None:
    """These values of the one label exist from the start, so that the first event is a rise and not a new series."""
    for value in values:
        counter.labels(value)


_known(resumes, "exact", "changed", "trimmed", "unreadable")
_known(tickets, "matched", "cancelled", "expired", "replaced")
_known(results, "applied", "repeated", "conflicting")
for _result, _class in (
    *(("accepted", "none"), ("repeated", "none")),
    *(("refused", reason_class) for reason_class in ("rule", "stale", "input", "server")),
):
    actions.labels(_result, _class)
