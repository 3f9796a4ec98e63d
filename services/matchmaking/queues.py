"""The public queues: presets that people wait for now."""

from __future__ import annotations

from collections import Counter
from typing import Final

from maumau.v1 import matchmaking_pb2 as pb
from maumau.v1 import rules_pb2

from services.matchmaking.line import Line
from services.matchmaking.waits import Waits
from services.matchmaking.wishes import Wish, duration, wish_of

MOST_QUEUES: Final = 50


class Queues:
    """What this process saw in its last round."""

    def __init__(self, line: Line, waits: Waits, patience_ms: int) -> None:
        self._line = line
        self._waits = waits
        self._patience_ms = patience_ms

    async def busiest(self) -> list[pb.Queue]:
        """Presets as they are, most people first."""
        wishes: dict[bytes, Wish] = {}
        players = Counter[bytes]()
        for each in self._line.all():
            wish = wish_of(each.ticket)
            if wish.is_preset:
                wishes[wish.table] = wish
                players[wish.table] += len(each.ticket.players)
        return [await self._queue(wishes[table], count) for table, count in players.most_common(MOST_QUEUES)]

    async def _queue(self, wish: Wish, players: int) -> pb.Queue:
        estimated = await self._waits.of_newcomer(wish.table, self._patience_ms)
        return pb.Queue(
            ruleset=rules_pb2.Ruleset.FromString(wish.ruleset),
            seats=wish.seats,
            players=players,
            estimated_wait=None if estimated is None else duration(estimated),
        )
