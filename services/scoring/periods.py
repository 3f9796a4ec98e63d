"""Which boards a match counts on, and how long they are kept.

Days, weeks and months are those of UTC; weeks are ISO weeks, which begin on Monday. A day's board is kept for 14 days
after its end, a week's for 70, a month's for 395; those of all time and of seasons, open or closed, for good.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from maumau.v1 import scoring_pb2 as pb

from services.store.boards import ALL_TIME

KEPT_DAYS: Final[dict[pb.Period.ValueType, int]] = {pb.PERIOD_DAY: 14, pb.PERIOD_WEEK: 70, pb.PERIOD_MONTH: 395}
FOR_GOOD: Final = 0
_SEASON: Final = "season:"


class Span(NamedTuple):
    """A span of time that there is a board of; `ends_ms` is when that is forgotten, 0 for never."""

    name: str
    ends_ms: int


def spans_of(ended_ms: int, season: str) -> tuple[Span, ...]:
    """The spans on whose boards a match counts that ended at this time, while this season ran (empty: none)."""
    periods = tuple(span_at(period, ended_ms) for period in KEPT_DAYS)
    running = (Span(season_name(season), FOR_GOOD),) if season else ()
    return (Span(ALL_TIME, FOR_GOOD), *periods, *running)


def season_name(season: str) -> str:
    """The name of a season's span."""
    return _SEASON + season


def span_at(period: pb.Period.ValueType, at_ms: int) -> Span:
    """The day, week or month that a time lies in."""
    at = datetime.fromtimestamp(at_ms / 1000, UTC)
    midnight = at.replace(hour=0, minute=0, second=0, microsecond=0)
    if period == pb.PERIOD_DAY:
        name, after = f"day:{at:%Y-%m-%d}", midnight + timedelta(days=1)
    elif period == pb.PERIOD_WEEK:
        name, after = f"week:{at:%G-W%V}", midnight + timedelta(days=8 - at.isoweekday())
    else:
        name, after = f"month:{at:%Y-%m}", (midnight.replace(day=1) + timedelta(days=32)).replace(day=1)
    return Span(name, int((after + timedelta(days=KEPT_DAYS[period])).timestamp() * 1000))
