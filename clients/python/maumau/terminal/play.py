"""`maumau play` and `maumau watch`: from the command to the table and back."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

from rich.console import Console

from maumau.client import Client
from maumau.room import Room
from maumau.rulesets import parse_option
from maumau.terminal.display import Display, FullScreen, Painter, PlainPages, has_screen
from maumau.terminal.keyboard import Keyboard, PipedKeyboard, TerminalKeyboard
from maumau.terminal.score_screen import score_lines
from maumau.terminal.table_session import Ending, TableSession
from maumau.terminal.waiting import quick_room, room_after_failed_start
from maumau.v1 import room_pb2, settings_pb2

Connected = Callable[[], Client]
"""Makes the client, inside the event loop."""

_RUNNING = (room_pb2.ROOM_STATE_PLAYING, room_pb2.ROOM_STATE_PAUSE)


@dataclass(frozen=True, slots=True)
class PlayPlan:
    """What the person asked for. `options` are `key=value`; `seats` 0: the person and the bots; `quick`: with anybody
    who wants the same, with friends by `party` or by the `party_code` of one; `public`: others find the room;
    `remembered`: the person can come back as the same guest."""

    bots: int = 3
    ruleset: str = "mau-mau-32"
    room: str = ""
    invite: str = ""
    seats: int = 0
    options: tuple[str, ...] = ()
    name: str = ""
    quick: bool = False
    party: bool = False
    party_code: str = ""
    public: bool = False
    remembered: bool = True
    plain: bool = False


async def play(plan: PlayPlan, connected: Connected) -> None:
    """Finds or makes a room and plays in it until the person goes."""
    async with connected() as client:
        if plan.name and (await client.player()).display_name != plan.name:
            await client.set_display_name(plan.name)  # a remembered guest keeps the old one otherwise
        found, is_new = await _find_room(plan, client)
        following: Room | None = found
        while following is not None:
            async with following as room:
                for _ in range(plan.bots if is_new else 0):
                    await room.add_bot()
                solo = plan.quick or (is_new and plan.bots > 0)
                ending, view = await _sit(client, room, plain=plan.plain, solo=solo)
            following = await room_after_failed_start(client, view) if plan.quick and ending is Ending.OVER else None
        _say_goodbye(view, ending, remembered=plan.remembered)


async def watch(room_id: str, connected: Connected, *, plain: bool) -> None:
    """Shows a room until the person goes or the room is closed."""
    async with connected() as client, client.room(room_id, mode="watch") as room:
        await _sit(client, room, plain=plain, solo=False)


async def _find_room(plan: PlayPlan, client: Client) -> tuple[Room, bool]:
    """The room to play in, and whether it was made for this."""
    if plan.room or plan.invite:
        return await client.join_room(plan.room, invite_code=plan.invite), False
    if plan.quick:
        room = await quick_room(client, plan.ruleset, plan.seats, invites=plan.party, party_code=plan.party_code)
        return room, False
    running = await _running_room(client)
    if running is not None and _wants_back(running):
        return client.room(running.room_id), False
    return await _make_room(plan, client), True


async def _make_room(plan: PlayPlan, client: Client) -> Room:
    options = {}
    if plan.options:
        preset = (await client.rulesets(plan.ruleset))[0]
        options = dict(parse_option(text, preset) for text in plan.options)
    settings = settings_pb2.RoomSettings(seats=plan.seats or max(2, plan.bots + 1))
    settings.visibility = settings_pb2.VISIBILITY_PUBLIC if plan.public else settings_pb2.VISIBILITY_PRIVATE
    return await client.create_room(plan.ruleset, options=options, settings=settings)


async def _running_room(client: Client) -> room_pb2.RoomSummary | None:
    async for room in client.my_rooms():
        if room.state in _RUNNING:
            return room
    return None


def _wants_back(room: room_pb2.RoomSummary) -> bool:
    """Asks where there is somebody to ask; a script gets what it asked for, a new room."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    answer = input(f"You have a seat in a running match of {room.ruleset_label}. Go back to it? [Y/n] ")
    return answer.strip().lower() not in ("n", "no")


async def _sit(client: Client, room: Room, *, plain: bool, solo: bool) -> tuple[Ending, room_pb2.RoomView]:
    live = has_screen() and not plain
    changed = asyncio.Event()
    display: Display = FullScreen() if live else PlainPages()
    keyboard: Keyboard = TerminalKeyboard(changed.set) if live else PipedKeyboard()
    with ExitStack() as stack:
        stack.enter_context(display)
        stack.enter_context(keyboard)
        session = TableSession(client, room, display, keyboard, live=live, solo=solo)
        relay = asyncio.create_task(_relay(changed, session.redraw))
        try:
            ending = await session.run()
            return ending, session.last_view or room.view
        finally:
            relay.cancel()
            await asyncio.gather(relay, return_exceptions=True)


async def _relay(changed: asyncio.Event, redraw: Callable[[], None]) -> None:
    """Keys are typed before there is a session to redraw."""
    while True:
        await changed.wait()
        changed.clear()
        redraw()


def _say_goodbye(view: room_pb2.RoomView, ending: Ending, *, remembered: bool) -> None:
    """What stays on the terminal after the screen is gone."""
    painter = Painter(sys.stdout, styled=sys.stdout.isatty())
    if view.HasField("outcome"):
        sys.stdout.write("\n".join(painter.paint(line).rstrip() for line in score_lines(view)) + "\n")
    elif ending is Ending.LATER and view.state in _RUNNING and remembered:
        Console(highlight=False).print("Your seat is kept; `maumau play` brings you back.")
    elif ending is Ending.OVER:
        Console(highlight=False).print("The room was closed.")
