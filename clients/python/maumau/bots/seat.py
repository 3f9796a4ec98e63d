"""One bot on one seat: acts when it must, sometimes when it may, and keeps count."""

from __future__ import annotations

import asyncio
import random
from typing import Final

from maumau import actions
from maumau.bots.choosers import Chooser
from maumau.bots.report import SeatReport
from maumau.errors import HistoryChanged, Refused, Unavailable
from maumau.follower import RoomSnapshot, RoomUpdate, SnapshotCause
from maumau.room import Room
from maumau.v1 import actions_pb2, room_pb2

ACT_SECONDS: Final = 60.0
TRIES: Final = 5
"""How often a bot tries on one version."""
OPTIONAL_CHANCE: Final = 0.3
"""How often a bot does what it may do out of turn (accuse, jump in)."""

View = room_pb2.RoomView


class BotSeat:
    """Plays one seat of a room to the end of its match."""

    def __init__(self, room: Room, choose: Chooser, chance: random.Random, report: SeatReport) -> None:
        self._room = room
        self._choose = choose
        self._chance = chance
        self._report = report

    async def observe(self) -> None:
        """Notes every version that the room tells, until the room is closed or the match is over."""
        seen = self._report.versions
        first = True
        async for event in self._room.events():
            if isinstance(event, RoomUpdate):
                seen.see(event.version)
            elif isinstance(event, RoomSnapshot) and not first:
                seen.begin_anew(event.version, changed=event.cause is SnapshotCause.HISTORY_CHANGED)
            elif isinstance(event, RoomSnapshot):
                seen.last = seen.first = event.version
                seen.count = 1
            first = False
            if not isinstance(event, RoomSnapshot | RoomUpdate) or not is_over(event.view):
                continue
            return

    async def play(self) -> View:
        """Acts until the match is over. Raises MaumauError when the room cannot be played on."""
        done = -1
        tries = 0
        while True:
            view = await self._next_view(done)
            if is_over(view):
                return view
            action = self._next_action(view)
            accepted = action is not None and await self._attempt(action, view.version)
            tries = 0 if accepted else tries + 1
            # On its own turn a bot tries again, since nothing else may come; else it looks again at the next version.
            if not accepted and (tries >= TRIES or not must_act(view, view.own_seat)):
                done, tries = view.version, 0

    async def _next_view(self, done: int) -> View:
        """The first view above version `done`, or the last one of the match."""
        return await self._room.wait_until(lambda view: is_over(view) or view.version > done)

    def _next_action(self, view: View) -> actions_pb2.Action | None:
        own = view.own_seat
        if view.state == room_pb2.ROOM_STATE_PAUSE and not view.seats[own].round_ready:
            return actions.ready_for_round()
        legal = view.legal.actions
        if not legal or view.state != room_pb2.ROOM_STATE_PLAYING:
            return None
        if not must_act(view, own) and self._chance.random() >= OPTIONAL_CHANCE:
            return None
        return self._choose(view, legal)

    async def _attempt(self, action: actions_pb2.Action, version: int) -> bool:
        """Whether the action was accepted, or may have been."""
        try:
            await self._room.act(action, version=version, timeout=ACT_SECONDS)
        except Refused as refused:
            self._report.refused[refused.reason or refused.code] += 1
            await asyncio.sleep(refused.retry_after or 0)
            return False
        except HistoryChanged:
            return True
        except Unavailable:
            self._report.unknown += 1
            return True
        self._report.accepted += 1
        return True


def is_over(view: View) -> bool:
    """Whether the match has ended."""
    return view.HasField("outcome") or view.state == room_pb2.ROOM_STATE_CLOSED


def must_act(view: View, seat: int) -> bool:
    """Whether the table waits for this seat."""
    if view.HasField("tranca"):
        return view.tranca.turn == seat
    game = view.shedding
    return seat in game.waiting if game.waiting else game.turn == seat
