"""Players that use the Python SDK as a program of anybody would: they follow the room and act on its view."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import maumau
from maumau.bots.seat import must_act
from maumau.connection import Mode
from maumau.v1 import actions_pb2, room_pb2

from tests.benchmarks.meter import Meter, Turns
from tests.benchmarks.seating import Guests, Seating


class SdkRoom:
    """Four clients in one room, who play match after match at random; `address` serves the authority."""

    def __init__(self, address: str, mode: Mode, seating: Seating, meter: Meter) -> None:
        self._address = address
        self._mode: Mode = mode
        self._seating = seating
        self._meter = meter
        self._players: list[SdkPlayer] = []

    async def enter(self) -> None:
        """All players are seated and connected."""
        guests = await self._seating.seat_four()
        turns = Turns(self._meter)
        self._players = [self._player(guests, seat, turns) for seat in range(len(guests.tokens))]
        await asyncio.gather(*(player.room.open() for player in self._players))

    def _player(self, guests: Guests, seat: int, turns: Turns) -> SdkPlayer:
        client = maumau.connect(self._address, token=guests.tokens[seat], mode=self._mode)
        return SdkPlayer(client.room(guests.room), seat, turns, self._meter)

    async def begin(self) -> None:
        """They get ready, and play."""
        for player in self._players:
            player.start()


class SdkPlayer:
    """One seat."""

    def __init__(self, room: maumau.Room, seat: int, turns: Turns, meter: Meter) -> None:
        self.room = room
        self._seat = seat
        self._turns = turns
        self._meter = meter
        self._done: object = None
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        self._spawn(self._follow())

    async def _follow(self) -> None:
        async for event in self.room.events():
            if isinstance(event, maumau.RoomChat):
                continue
            action = _next_step(event.view, self._seat)
            if action is None or self._did(action, event.view):
                continue
            if event.view.state == room_pb2.ROOM_STATE_PLAYING:
                self._turns.is_on(self._seat)
            else:
                self._turns.end_round()
            self._spawn(self._act(action, event.view))

    def _did(self, action: actions_pb2.Action, view: room_pb2.RoomView) -> bool:
        """Whether this step was taken already and its answer is on its way."""
        moment = view.version if view.state == room_pb2.ROOM_STATE_PLAYING else (view.match_number, len(view.rounds))
        before, self._done = self._done, (maumau.actions.name_of(action), moment)
        return before == self._done

    async def _act(self, action: actions_pb2.Action, view: room_pb2.RoomView) -> None:
        await self._meter.pause()
        if view.state == room_pb2.ROOM_STATE_PLAYING:
            self._turns.sends(self._seat)
        try:
            await self.room.act(action, version=view.version, timeout=60)
        except maumau.Refused as refused:
            self._meter.refused[refused.reason] += 1
        else:
            self._meter.accepted += 1

    def _spawn(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _next_step(view: room_pb2.RoomView, seat: int) -> actions_pb2.Action | None:
    """What this seat does now, once: anything legal on its turn, and what leads to the next round or match."""
    own = view.seats[seat]
    match view.state:
        case room_pb2.ROOM_STATE_PLAYING if view.legal.actions and must_act(view, seat):
            return random.choice(view.legal.actions)
        case room_pb2.ROOM_STATE_PAUSE if not own.round_ready:
            return maumau.actions.ready_for_round()
        case room_pb2.ROOM_STATE_FINISHED if seat == 0:
            return maumau.actions.rematch()
        case room_pb2.ROOM_STATE_OPEN if not own.ready:
            return maumau.actions.set_ready(True)
        case room_pb2.ROOM_STATE_OPEN if seat == 0 and all(other.ready for other in view.seats):
            return maumau.actions.start()
    return None
