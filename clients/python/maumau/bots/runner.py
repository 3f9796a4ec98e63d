"""Matches between bots over the network: each bot is a guest with a connection of its own."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TypeVar

from maumau.bots.choosers import Level, chooser
from maumau.bots.report import MatchReport, SeatReport
from maumau.bots.seat import BotSeat
from maumau.client import Client, connect
from maumau.connection import Mode
from maumau.errors import MaumauError, RateLimited, Refused, Unavailable
from maumau.room import Room
from maumau.rulesets import PlainValue
from maumau.v1 import events_pb2, room_pb2, settings_pb2

T = TypeVar("T")

_OPEN_SECONDS: Final = 60.0
_NAME: Final = "Bot {table}-{seat}"


@dataclass(frozen=True, slots=True)
class BotRun:
    """What is to be played. `matches` in all, on `tables` tables at once; `match_seconds` is the most that one may
    take; with the same `seed` bots choose alike, as far as the cards are alike."""

    ruleset: str
    seats: int
    matches: int = 1
    tables: int = 1
    seed: int = 0
    level: Level = "random"
    mode: Mode = "play"
    address: str | None = None
    options: Mapping[str, PlainValue] = field(default_factory=dict)
    match_seconds: float = 600.0


async def run_matches(run: BotRun, tell: Callable[[MatchReport], None]) -> bool:
    """Plays the matches and tells the report of each as soon as it is over, in no certain order. Whether all are ok."""
    numbers = iter(range(run.matches))
    reports: list[MatchReport] = []

    def note(report: MatchReport) -> None:
        reports.append(report)
        tell(report)

    async with asyncio.TaskGroup() as group:
        for table in range(min(run.tables, run.matches)):
            group.create_task(_play_at_table(run, table, numbers, note))
    return all(report.ok for report in reports)


async def _play_at_table(run: BotRun, table: int, numbers: Iterator[int], tell: Callable[[MatchReport], None]) -> None:
    """Plays one match after the other with the same guests, until none is left to play."""
    async with AsyncExitStack() as stack:
        clients: list[Client] = []
        for number in numbers:
            report = MatchReport(run.ruleset, [SeatReport() for _ in range(run.seats)])
            began = time.monotonic()
            try:
                async with asyncio.timeout(run.match_seconds):
                    while len(clients) < run.seats:
                        clients.append(await _guest(run, stack, _NAME.format(table=table + 1, seat=len(clients) + 1)))
                    await _play_match(run, number, clients, report)
            except TimeoutError:
                report.error = f"not over after {run.match_seconds:g} s"
            except MaumauError as error:
                report.error = f"{type(error).__name__}: {error}"
            report.duration_seconds = time.monotonic() - began
            tell(report)


async def _guest(run: BotRun, stack: AsyncExitStack, name: str) -> Client:
    """A signed-in guest; a limit on sign-ins, or a server that starts again, is waited out."""
    give_up_at = time.monotonic() + _OPEN_SECONDS
    while True:
        client = connect(run.address, name=name, mode=run.mode)
        try:
            return await stack.enter_async_context(client)
        except RateLimited as limited:
            await asyncio.sleep(limited.retry_after or 1.0)
        except Unavailable as unavailable:
            if time.monotonic() > give_up_at:
                raise
            await asyncio.sleep(unavailable.retry_after or 0.5)


async def _play_match(run: BotRun, number: int, clients: list[Client], report: MatchReport) -> None:
    host, *others = clients
    settings = settings_pb2.RoomSettings(seats=run.seats, title=f"Bots, seed {run.seed}")
    made = await _patiently(lambda: host.create_room(run.ruleset, options=run.options, settings=settings))
    report.room = made.id
    async with AsyncExitStack() as stack:
        rooms = [await _opened(stack, made)]
        for other in others:
            joined = await _patiently(partial(other.join_room, made.id))  # codes are limited more narrowly than ids
            rooms.append(await _opened(stack, joined))
        for seat, room in enumerate(rooms):
            report.seats[seat].player = room.view.seats[room.view.own_seat].player_id
        await _begin(rooms)
        report.view = await _play_seats(run, number, rooms, report)


async def _patiently(call: Callable[[], Awaitable[T]]) -> T:
    """The answer to a call that may meet a limit, which is waited out."""
    while True:
        try:
            return await call()
        except RateLimited as limited:
            await asyncio.sleep(limited.retry_after or 1.0)


async def _opened(stack: AsyncExitStack, room: Room) -> Room:
    await room.open(timeout=_OPEN_SECONDS)
    stack.push_async_callback(room.close)
    return room


async def _begin(rooms: list[Room]) -> None:
    """All are ready and the host starts; a step that was taken already, in an attempt whose answer was lost, is
    taken."""
    for room in rooms:
        await _patiently(room.ready)
    try:
        await _patiently(rooms[0].start)
    except Refused as refused:
        if refused.reason != "MATCH_RUNNING":
            raise
    for room in rooms:
        await room.wait_until(_is_running)


def _is_running(view: room_pb2.RoomView) -> bool:
    taken = sum(seat.kind != events_pb2.SEAT_KIND_FREE for seat in view.seats)
    return bool(view.match_id) and taken > 0 and view.state != room_pb2.ROOM_STATE_OPEN


async def _play_seats(run: BotRun, number: int, rooms: list[Room], report: MatchReport) -> room_pb2.RoomView:
    bots = []
    for seat, room in enumerate(rooms):
        seed = f"{run.seed}:{number}:{seat}"
        bots.append(BotSeat(room, chooser(run.level, seed), random.Random(f"{seed}:may"), report.seats[seat]))
    try:
        async with asyncio.TaskGroup() as group:
            for bot in bots:
                group.create_task(bot.observe())
            players = [group.create_task(bot.play()) for bot in bots]
    except* MaumauError as failures:
        first = failures.exceptions[0]
        raise first from failures
    return players[0].result()
