"""Tables outside of a match: the best players of a game with one's own place, and one's own matches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.table import Table

from maumau.client import Client
from maumau.errors import Refused
from maumau.v1 import events_pb2, scoring_pb2

FAMILIES: Final = ("mau-mau-32", "mau-mau-brasil", "uno", "tranca")
PERIODS: Final = {
    "all": scoring_pb2.PERIOD_ALL_TIME,
    "day": scoring_pb2.PERIOD_DAY,
    "week": scoring_pb2.PERIOD_WEEK,
    "month": scoring_pb2.PERIOD_MONTH,
    "season": scoring_pb2.PERIOD_SEASON,
}
"""Spans of time as they are typed."""


async def leaderboard(client: Client, family: str, lines: int, period: str = "all", season: str = "") -> Table | str:
    """The best players of a rating family by wins, then the caller's own neighbourhood where it is further below.
    `season` is an id; without it the running one."""
    span = scoring_pb2.PERIOD_SEASON if season else PERIODS[period]
    try:
        best = await client.scoring.leaderboard(family, span, season_id=season, lines=lines)
    except Refused as refused:
        if refused.reason != "SEASON_NOT_FOUND":
            raise
        return refused.message  # none runs: that is no fault
    if not best:
        return f"Nobody has finished a rated match of {family} yet."
    table = Table("place", "player", "wins", "matches", box=None, pad_edge=False)
    own = (await client.player()).player_id
    for entry in best:
        table.add_row(*_line(entry), style="bold" if entry.player_id == own else None)
    if all(entry.player_id != own for entry in best):
        await _add_neighbourhood(client, family, span, season, table)
    return table


async def _add_neighbourhood(
    client: Client, family: str, span: scoring_pb2.Period.ValueType, season: str, table: Table
) -> None:
    try:
        rank = await client.scoring.rank(family, period=span, season_id=season)
    except Refused:  # who has no rated match of this family yet has no place
        return
    table.add_row("…", "", "", "")
    for entry in rank.above:
        table.add_row(*_line(entry))
    table.add_row(*_line(rank.entry), style="bold")
    for entry in rank.below:
        table.add_row(*_line(entry))


async def rating(client: Client, families: Sequence[str]) -> Table:
    """The caller's ratings, with what is not sure yet."""
    table = Table("game", "rating", "at least", "rated matches", "", box=None, pad_edge=False)
    for family in families:
        own = await client.scoring.rating(family)
        strength = f"{own.mu:.1f} ± {own.sigma:.1f}"
        table.add_row(
            family, strength, f"{own.ordinal:.1f}", str(own.matches), "provisional" if own.provisional else ""
        )
    return table


def _line(entry: scoring_pb2.LeaderboardEntry) -> tuple[str, str, str, str]:
    return str(entry.rank), entry.display_name, str(entry.score), str(entry.matches)


async def history(client: Client, family: str, lines: int) -> Table | str:
    """The caller's last matches, newest first."""
    own = (await client.player()).player_id
    table = Table("ended", "ruleset", "place", "seats", "scores", "why", box=None, pad_edge=False)
    async for match in client.scoring.matches(family=family):
        seat = next((seat for seat in match.seats if seat.player_id == own), scoring_pb2.MatchSeat())
        why = events_pb2.MatchEndCause.Name(match.cause).removeprefix("MATCH_END_CAUSE_").lower().replace("_", " ")
        ended = match.ended.ToDatetime().strftime("%Y-%m-%d %H:%M")
        scores = " ".join(map(str, match.scores))
        table.add_row(ended, match.ruleset.preset, str(seat.place or "-"), str(len(match.seats)), scores, why)
        if table.row_count == lines:
            break
    return table if table.row_count else "You have not finished a match yet."
