"""Leaderboards as calls ask for them: the board of a family and a period, and a player's place on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from maumau.v1 import scoring_pb2 as pb

from services.runtime.paging import PageTokens, page_size
from services.scoring.desk import Desk, asked_player
from services.scoring.periods import KEPT_DAYS, season_name, span_at
from services.store.boards import ALL_TIME, BoardLine, Boards
from services.store.keys import Entrant
from services.store.ledgers import Ledgers
from services.wire.errors import invalid_field, refusal

MOST_NEIGHBOURS: Final = 25
DEFAULT_NEIGHBOURS: Final = 3
LATEST_MS: Final = 32_503_680_000_000
"""The year 3000: what a time in a request must be below."""

Asked = pb.GetLeaderboardRequest | pb.GetRankRequest


class _Position(NamedTuple):
    """How many lines of which board were read. Days end while people read."""

    span: str
    lines: int


class StandingBoards:
    """Boards by request. `now_ms` is the time in ms since 1970."""

    def __init__(self, desk: Desk, boards: Boards, ledgers: Ledgers, now_ms: Callable[[], int]) -> None:
        self._desk = desk
        self._boards = boards
        self._ledgers = ledgers
        self._now_ms = now_ms
        self._tokens = PageTokens("board", _Position)

    async def page(self, request: pb.GetLeaderboardRequest) -> pb.GetLeaderboardResponse:
        """Raises Refusal: UNKNOWN_FAMILY, BAD_PAGE_TOKEN, INVALID_FIELD, SEASON_NOT_FOUND."""
        family, span = await self._board_of(request)
        limit = page_size(request.page_size)
        begin = self._tokens.read(request.page_token) or _Position(span, 0)
        if begin.lines < 0 or _kind(begin.span) != _kind(span):
            raise refusal("BAD_PAGE_TOKEN")
        page = await self._boards.page(family, begin.span, begin.lines, limit)
        read = begin.lines + len(page.lines)
        more = self._tokens.write(_Position(begin.span, read)) if page.lines and read < page.size else ""
        return pb.GetLeaderboardResponse(entries=await self._entries(family, page.lines), next_page_token=more)

    async def rank(self, request: pb.GetRankRequest) -> pb.GetRankResponse:
        """Raises Refusal: UNKNOWN_FAMILY, PLAYER_NOT_FOUND, INVALID_FIELD, SEASON_NOT_FOUND."""
        family, span = await self._board_of(request)
        neighbours = request.neighbours if request.HasField("neighbours") else DEFAULT_NEIGHBOURS
        if not 0 <= neighbours <= MOST_NEIGHBOURS:
            raise invalid_field("neighbours", neighbours, f"0 to {MOST_NEIGHBOURS}")
        known = (await self._desk.store.look(family, [asked_player(request.player_id)])).known[0]
        found = None if known is None else await self.around(family, span, known.entrant, neighbours)
        if found is None:
            raise refusal("PLAYER_NOT_FOUND")
        return found

    async def around(self, family: str, span: str, entrant: Entrant, neighbours: int) -> pb.GetRankResponse | None:
        """An entrant's line and those next to it; None if it is not on the board."""
        page = await self._boards.around(family, span, entrant, neighbours)
        if page is None:
            return None
        own = next(number for number, line in enumerate(page.lines) if line.entrant == entrant)
        lines = await self._entries(family, page.lines)
        return pb.GetRankResponse(entry=lines[own], above=lines[:own], below=lines[own + 1 :])

    async def spans(self, family: str) -> list[str]:
        """Every span that there may be a board of."""
        return await self._boards.spans(family)

    async def _board_of(self, request: Asked) -> tuple[str, str]:
        family = self._desk.family(request.family)
        if request.period not in pb.Period.values():
            raise invalid_field("period", request.period, "a Period")
        if request.period == pb.PERIOD_SEASON:
            return family, season_name(await self._season(family, request.season_id))
        if request.period in KEPT_DAYS:
            return family, span_at(request.period, self._time_in(request)).name
        return family, ALL_TIME

    async def _season(self, family: str, asked: str) -> str:
        season = asked or await self._ledgers.running_season(family)
        if all(season != known.season for known in await self._ledgers.seasons(family)):
            raise refusal("SEASON_NOT_FOUND")
        return season

    def _time_in(self, request: Asked) -> int:
        if not request.HasField("at"):
            return self._now_ms()
        at_ms = request.at.ToMilliseconds()
        if not 0 <= at_ms < LATEST_MS:
            raise invalid_field("at", at_ms, "a time between 1970 and 3000")
        return at_ms

    async def _entries(self, family: str, lines: Sequence[BoardLine]) -> list[pb.LeaderboardEntry]:
        known = await self._desk.store.entrants(family, [line.entrant for line in lines])
        return [
            pb.LeaderboardEntry(
                rank=line.place, player_id=player, display_name=name, score=line.wins, matches=line.matches
            )
            for line in lines
            for player, name in [known.get(line.entrant, ("", ""))]
        ]


def _kind(span: str) -> str:
    return span.partition(":")[0]
