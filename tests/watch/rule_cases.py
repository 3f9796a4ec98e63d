"""What each alert must fire on, and what it must stay silent on: series as promtool writes them, one value a step.

`a+bxn` is a counter or gauge that grows by b a step. Each case is looked at after `minutes`, a multiple of `step`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from deploy.prometheus.alerts import BURNS, OBJECTIVES, Burn, Objective
from deploy.prometheus.rules import seconds

Series = Mapping[str, str]


@dataclass(frozen=True)
class Case:
    """Whether the alert fires on these series."""

    alert: str
    what: str
    series: Series
    fires: bool
    minutes: int = 30
    step: int = 1
    """Minutes between two values, and between two looks at the rule."""
    window: str = ""
    """Of the burn rate, where the alert has several."""


def _pair(alert: str, fires: Series, quiet: Series, minutes: int = 30) -> Iterator[Case]:
    yield Case(alert, "fires", fires, True, minutes)
    yield Case(alert, "is silent", quiet, False, minutes)


_GOOD = 'maumau_synthetic_moves_total{job="synthetic",outcome="ok"}'
_READY = 'maumau_ready{{job="services",service="{}"}}'
_MATCHMAKING, _AUTHORITY, _SCORING = (_READY.format(name) for name in ("matchmaking", "game-authority", "scoring"))
_ALL_READY: Final = {_MATCHMAKING: "1x30", _AUTHORITY: "1x30", _SCORING: "1x30"}


def _late(metric: str, bad: int, total: int, bound: str) -> Series:
    """A histogram of which each minute `total` come in, `bad` of them above the bound."""
    return {
        f'{metric}_bucket{{le="{bound}"}}': f"0+{total - bad}x60",
        f'{metric}_bucket{{le="+Inf"}}': f"0+{total}x60",
        f"{metric}_count": f"0+{total}x60",
    }


def _builds(*versions: str) -> Series:
    return {
        f'maumau_build_info{{job="services",instance="{number}",version="{version}"}}': "1x90"
        for number, version in enumerate(versions)
    }


def _symptoms() -> Iterator[Case]:
    yield from _pair("SyntheticPlayerFails", {_GOOD: "0+5x10 50x20"}, {_GOOD: "0+5x30"})
    yield from _pair("SyntheticPlayerMissing", {'up{job="synthetic"}': "0x30"}, {'up{job="synthetic"}': "1x30"})
    yield from _pair("NothingReady", {**_ALL_READY, _SCORING: "0x30"}, _ALL_READY)
    one_of_two = {**_ALL_READY, _SCORING.replace("}", ',instance="2"}'): "0x30"}
    yield Case("NothingReady", "is silent while another process is ready", one_of_two, False)
    gone = {_MATCHMAKING: "1x30", _SCORING: "1x30"}
    yield Case("NothingReady", "fires for a service that is not even listed", gone, True)
    yield from _pair("EdgeDown", {'up{job="envoy"}': "0x30"}, {'up{job="envoy"}': "1x30"})
    yield from _pair(
        "ProcessDown",
        {'up{job="services",service="scoring",instance="a"}': "1x20 0x10"},
        {'up{job="services",service="scoring",instance="a"}': "1x28 0x2"},
    )
    yield from _pair("ProcessNotReady", {_SCORING: "1x20 0x10"}, {_SCORING: "1x27 0x3"})
    start = 'process_start_time_seconds{job="services",service="scoring",instance="a"}'
    yield from _pair("ProcessesRestart", {start: "1x20 2x2 3x2 4x2 5x4"}, {start: "1x20 2x10"})
    handled = 'grpc_server_handled_total{{service="scoring",grpc_code="{}"}}'
    yield from _pair("HandlersFail", {handled.format("INTERNAL"): "0x25 1x5"}, {handled.format("NOT_FOUND"): "0+9x30"})
    yield from _pair(
        "RedisMemoryHigh", {"maumau_redis_memory_percent": "80x30"}, {"maumau_redis_memory_percent": "70x30"}
    )
    yield from _pair("RedisFull", {"maumau_redis_memory_percent": "95x30"}, {"maumau_redis_memory_percent": "89x30"})
    breaks = 'maumau_redis_reconnects_total{service="scoring",pool="commands"}'
    yield from _pair("RedisConnectionsBreak", {breaks: "0+10x30"}, {breaks: "0+2x30"})
    yield from _pair("OutboxDead", {"maumau_outbox_dead": "0x20 1x10"}, {"maumau_outbox_dead": "0x30"})
    yield from _pair("OutboxLags", {"maumau_outbox_lag_seconds": "0x20 90x10"}, {"maumau_outbox_lag_seconds": "30x30"})
    outcome = 'maumau_results_total{{outcome="{}"}}'
    yield from _pair(
        "ResultsConflict", {outcome.format("conflicting"): "0x20 1x10"}, {outcome.format("repeated"): "0+1x30"}
    )
    lateness = "maumau_timer_lateness_seconds"
    yield from _pair("TimersLate", _late(lateness, 10, 100, "1.0"), _late(lateness, 2, 100, "1.0"))
    yield Case("TimersLate", "is silent about one late deadline of two", _late(lateness, 1, 2, "1.0"), False)
    lag = 'maumau_loop_lag_seconds_bucket{{instance="a",service="scoring",le="{}"}}'
    yield from _pair(
        "LoopLags",
        {lag.format("0.3"): "0+100x30", lag.format("1.0"): "0+120x30", lag.format("+Inf"): "0+120x30"},
        {lag.format("0.3"): "0+120x30", lag.format("1.0"): "0+120x30", lag.format("+Inf"): "0+120x30"},
    )
    credited = "maumau_outages_credited_total"
    yield from _pair("OutagesCredited", {credited: "0x25 3x5"}, {credited: "3x30"})
    cut, streams = "maumau_slow_readers_cut_total", "maumau_open_streams"
    yield from _pair("SlowReadersSurge", {cut: "0+3x30", streams: "100x30"}, {cut: "0+3x30", streams: "5000x30"})
    yield Case("SlowReadersSurge", "is silent about a few", {cut: "0+0.5x30", streams: "10x30"}, False)
    gaps, events = "maumau_gaps_filled_total", "maumau_events_delivered_total"
    yield from _pair("GapsSurge", {gaps: "0+20x30", events: "0+500x30"}, {gaps: "0+20x30", events: "0+5000x30"})
    yield Case("GapsSurge", "is silent about a few", {gaps: "0+1x30", events: "0+10x30"}, False)
    wait = "maumau_ticket_wait_seconds_bucket"
    long = {f'{wait}{{le="60.0"}}': "0+1x30", f'{wait}{{le="120.0"}}': "0+9x30", f'{wait}{{le="+Inf"}}': "0+9x30"}
    short = {f'{wait}{{le="8.0"}}': "0+9x30", f'{wait}{{le="120.0"}}': "0+9x30", f'{wait}{{le="+Inf"}}': "0+9x30"}
    yield from _pair("QueueWaits", long, short)
    yield from _pair("BuildsDiffer", _builds("1", "2"), _builds("1", "1"), 90)
    yield Case("BuildsDiffer", "is silent during an update", _builds("1", "2"), False, 30)


def _events(objective: Objective, bad: str, total: str) -> Series:
    """Series of the objective's metrics; `bad` and `total` are what promtool makes values of. For histograms `bad` is
    what is left out of the bucket, so both grow evenly."""
    match objective.alert:
        case "ActionsFail":
            return {
                'maumau_actions_total{reason_class="server"}': bad,
                'maumau_actions_total{reason_class="none"}': total,
            }
        case "ActionsSlow":
            metric, bound = "maumau_action_seconds", "0.15"
        case _:
            metric, bound = "maumau_event_delivery_seconds", "1.0"
    # bad events are those of a process that answers nothing in time
    return {
        f'{metric}_bucket{{le="{bound}",instance="a"}}': total,
        f'{metric}_count{{instance="a"}}': total,
        f'{metric}_bucket{{le="{bound}",instance="b"}}': "0x4000",
        f'{metric}_count{{instance="b"}}': bad,
    }


def _burns() -> Iterator[Case]:
    for objective in OBJECTIVES:
        for burn in BURNS:
            yield from _burn(objective, burn)


def _burn(objective: Objective, burn: Burn) -> Iterator[Case]:
    step = max(seconds(burn.short) // 300, 1)
    minutes = seconds(burn.long) // 60 // step * step + 2 * step
    count = minutes // step
    share = burn.factor * objective.budget
    good = 10_000

    def case(what: str, bad: str, total: str, fires: bool) -> Case:
        return Case(objective.alert, what, _events(objective, bad, total), fires, minutes, step, burn.long)

    above, below = round(good * share * 1.5 / (1 - share * 1.5)), round(good * share * 0.5)
    yield case(f"fires at {burn.factor:g} times over {burn.long}", f"0+{above}x{count}", f"0+{good}x{count}", True)
    yield case(f"is silent below {burn.factor:g} times", f"0+{below}x{count}", f"0+{good}x{count}", False)
    ended = seconds(burn.short) // 60 // step + 2
    stopped = f"0+{above * 3}x{count - ended} {above * 3 * (count - ended)}x{ended}"
    yield case(f"is silent once it is over for {burn.short}", stopped, f"0+{good}x{count}", False)
    yield case("is silent about a handful of events", f"0x{count - 2} 5x1", f"0x{count - 2} 5x1", False)


CASES: Final = (*_symptoms(), *_burns())
