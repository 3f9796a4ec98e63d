"""People who sit down, watch and talk: clients of the SDK, opened when they are needed and closed together."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Mapping
from typing import Any

import maumau
import pytest
from maumau.v1 import room_pb2, scoring_pb2, settings_pb2

from tests.e2e.eventually import PATIENCE_SECONDS, eventually

ONE_ROUND: Mapping[str, Any] = {"match.target": "single"}
BOT = settings_pb2.BOT_LEVEL_RANDOM


class Lounge:
    """Opens clients and rooms of one server; what it opened ends with it."""

    def __init__(self, address: str, opened: contextlib.AsyncExitStack) -> None:
        self.address = address
        self._opened = opened

    async def client(self, name: str, **connecting: Any) -> maumau.Client:
        """Somebody who is signed in."""
        return await self._opened.enter_async_context(maumau.connect(self.address, name=name, **connecting))

    async def clients(self, *names: str) -> list[maumau.Client]:
        return [await self.client(name) for name in names]

    async def create(
        self,
        host: maumau.Client,
        preset: str = "mau-mau-32",
        *,
        options: Mapping[str, Any] = ONE_ROUND,
        seats: int | None = None,
        **settings: Any,
    ) -> maumau.Room:
        """A room with this host, opened."""
        wanted = settings_pb2.RoomSettings(**{"pause_seconds": 0, **settings})
        return await self.enter(await host.create_room(preset, options=options, seats=seats, settings=wanted))

    async def join(self, client: maumau.Client, room: maumau.Room | str, **wanted: Any) -> maumau.Room:
        """A seat in the room, opened."""
        room_id = room if isinstance(room, str) else room.id
        return await self.enter(await client.join_room(room_id, **wanted))

    async def watch(self, client: maumau.Client, room: maumau.Room) -> maumau.Room:
        """The room as a spectator follows it."""
        return await self.enter(client.room(room.id, mode="watch"))

    async def enter(self, room: maumau.Room) -> maumau.Room:
        return await self._opened.enter_async_context(room)

    async def table(self, *names: str, bots: int = 0, **room: Any) -> list[maumau.Room]:
        """A room with these people and bots in it; each person's side of it, the host's first."""
        people = await self.clients(*names)
        host = await self.create(people[0], seats=len(names) + bots, **room)
        others = [await self.join(person, host) for person in people[1:]]
        for _ in range(bots):
            await host.add_bot(BOT)
        return [host, *others]

    async def match(self, *names: str, **table: Any) -> list[maumau.Room]:
        """A table whose match has started."""
        sides = await self.table(*names, **table)
        await start(sides)
        return sides


@contextlib.asynccontextmanager
async def lounge(address: str) -> AsyncIterator[Lounge]:
    """A lounge for one test."""
    async with contextlib.AsyncExitStack() as opened:
        yield Lounge(address, opened)


async def start(sides: list[maumau.Room]) -> None:
    """Everybody gets ready, for what all of them see, and the host starts."""
    await together(sides)
    for side in sides:
        await side.ready()
    await sides[0].start()
    await asyncio.gather(*(sees(side, is_playing) for side in sides))


async def play(sides: list[maumau.Room]) -> room_pb2.RoomView:
    """People lay cards whenever they may, until the match is over; its last view for the first of them."""
    views = await asyncio.gather(*(_play(side) for side in sides))
    return views[0]


async def _play(side: maumau.Room) -> room_pb2.RoomView:
    async for event in side.events():
        if not isinstance(event, maumau.RoomChat) and event.view.HasField("outcome"):
            return event.view
        if side.legal and not side.view.HasField("outcome"):
            with contextlib.suppress(maumau.Refused):  # somebody was faster
                await side.act(choose(side.legal))
    raise AssertionError("the room was closed before its match had ended")


def choose(legal: list[maumau.actions.Action]) -> maumau.actions.Action:
    """A card rather than anything else, so that rounds are short."""
    laying = ("play", "play_many", "lay_meld", "add_to_meld", "discard")
    return min(legal, key=lambda action: action.WhichOneof("action") not in laying)


def is_playing(view: room_pb2.RoomView) -> bool:
    return view.state == room_pb2.ROOM_STATE_PLAYING


async def sees(side: maumau.Room, condition: Any) -> room_pb2.RoomView:
    """The first view of this side for which the condition holds."""
    return await side.wait_until(condition, timeout=PATIENCE_SECONDS)


async def refused(call: Awaitable[Any]) -> maumau.Refused:
    """The refusal that a call meets; fails where it meets none."""
    with pytest.raises(maumau.Refused) as caught:
        await call
    return caught.value


async def counted(client: maumau.Client, match_id: str) -> scoring_pb2.MatchRecord:
    """The match, once scoring has it."""

    async def ask() -> scoring_pb2.MatchRecord | None:
        try:
            return await client.scoring.match(match_id)
        except maumau.Refused as refused:
            if refused.reason != "MATCH_NOT_FOUND":
                raise
            return None

    found: scoring_pb2.MatchRecord = await eventually(ask, "scoring counts the match")
    return found


def on_turn(sides: list[maumau.Room]) -> maumau.Room:
    """The side whose person is on turn. All sides have seen the same version."""
    return next(side for side in sides if side.own_seat == side.view.shedding.turn)


async def together(sides: list[maumau.Room]) -> None:
    """Returns when everybody has seen what any of them has."""
    newest = max(side.version for side in sides)
    await asyncio.gather(*(sees(side, lambda view: view.version >= newest) for side in sides))


async def take_a_turn_each(sides: list[maumau.Room]) -> None:
    """Everybody draws and passes once, which brings nobody nearer to the end of the round."""
    for _ in sides:
        side = on_turn(sides)
        while (await sees(side, _knows_what_to_do)).shedding.turn == side.own_seat:
            await side.act(min(side.legal, key=lambda action: action.WhichOneof("action") not in ("draw", "pass")))
        await together(sides)


def _knows_what_to_do(view: room_pb2.RoomView) -> bool:
    """A version that came late, from the log, does not say what may be done on it; the newest one does."""
    return bool(view.legal.actions) or view.shedding.turn != view.own_seat
