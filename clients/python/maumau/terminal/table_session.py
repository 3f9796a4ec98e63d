"""A person at a table: what happens is drawn, what is typed is done."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from enum import Enum
from typing import Final

from rich.text import Text

from maumau import actions
from maumau.client import Client
from maumau.errors import MaumauError, Refused
from maumau.follower import RoomChat, RoomSnapshot, RoomUpdate, SnapshotCause
from maumau.room import Room
from maumau.terminal.choices import choices
from maumau.terminal.display import Display
from maumau.terminal.keyboard import Keyboard
from maumau.terminal.layout import Showing
from maumau.terminal.rules_page import rules_lines
from maumau.terminal.screen import draw, rules_pages, rules_screen
from maumau.terminal.words import event_words
from maumau.v1 import actions_pb2, events_pb2, room_pb2

_REMEMBERED: Final = 12
_RUNNING: Final = (room_pb2.ROOM_STATE_PLAYING, room_pb2.ROOM_STATE_PAUSE)
_SHOWN_DEADLINES: Final = frozenset(
    {
        room_pb2.DEADLINE_KIND_TURN,
        room_pb2.DEADLINE_KIND_WINDOW,
        room_pb2.DEADLINE_KIND_NEXT_ROUND,
        room_pb2.DEADLINE_KIND_READY_CHECK,
        room_pb2.DEADLINE_KIND_REMATCH,
    }
)
"""Deadlines of people; a bot's is no news."""
_LEAVE_QUESTION: Final = "Leave for good? y: yes, a bot plays on.  c: come back later.  Enter: stay."
_BEFORE: Final = ("seat_left", "seat_removed")
_LEAVING_SECONDS: Final = 5.0


class Ending(Enum):
    """How a person went from the table."""

    LEFT = "left"
    LATER = "later"
    OVER = "over"


class TableSession:
    """Draws the room and obeys the keyboard until the person goes. `live` redraws with every second and key; without
    it a screen is shown only when there is something to decide. `solo` starts matches by itself."""

    def __init__(
        self, client: Client, room: Room, display: Display, keyboard: Keyboard, *, live: bool, solo: bool
    ) -> None:
        self._client = client
        self._room = room
        self._display = display
        self._keyboard = keyboard
        self._live = live
        self._solo = solo
        self._showing = Showing()
        self._happened: deque[Text] = deque(maxlen=_REMEMBERED)
        self._dirty = asyncio.Event()
        self._clock_at = 0.0
        self._rules_page: int | None = None
        self._leaving = False
        self._decided_on: tuple[int, str] | None = None
        self.last_view: room_pb2.RoomView | None = None
        """The room as it was when the person left."""

    def redraw(self) -> None:
        """Something is different; the screen follows as soon as the loop is free."""
        self._dirty.set()

    async def run(self) -> Ending:
        """Returns how the person went. Raises MaumauError when the room ends for another reason."""
        tasks = [asyncio.create_task(step()) for step in (self._follow, self._draw, self._tick, self._obey)]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            return next((ending for task in done if (ending := task.result()) is not None), Ending.OVER)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    # What happens.

    async def _follow(self) -> Ending | None:
        before = self._room.view
        async for event in self._room.events():
            self._clock_at = asyncio.get_running_loop().time()
            if isinstance(event, RoomUpdate):
                self._tell_update(before, event)
                before = event.view
            elif isinstance(event, RoomSnapshot):
                self._tell_snapshot(event)
                before = event.view
            elif isinstance(event, RoomChat):
                self._tell(_chat_words(event))
            self.redraw()
            if self._solo:
                await self._start_by_itself()
        return Ending.OVER

    def _tell_update(self, before: room_pb2.RoomView, event: RoomUpdate) -> None:
        for happened in event.update.events:
            kind = happened.WhichOneof("event")
            words = event_words(before if kind in _BEFORE else event.view, happened)
            if words is not None:
                self._tell(words)

    def _tell_snapshot(self, event: RoomSnapshot) -> None:
        if event.cause is SnapshotCause.HISTORY_CHANGED:
            self._tell(Text("The server lost data; the table is as it stands now", style="bold red"))
        elif event.cause is not SnapshotCause.ASKED:
            self._tell(Text("…", style="dim"))

    def _tell(self, words: Text) -> None:
        self._happened.append(words)
        self._display.tell(words)

    async def _start_by_itself(self) -> None:
        """The only person of a room need not press keys for a match to begin, nor who asked for any match at all."""
        view = self._room.view
        if not view.HasField("own_seat"):
            return
        people = [seat for seat in view.seats if seat.kind == events_pb2.SEAT_KIND_PERSON]
        ready = view.seats[view.own_seat].ready
        if view.state == room_pb2.ROOM_STATE_READY_CHECK and not ready:
            await self._act(actions.set_ready(True))
        elif view.state == room_pb2.ROOM_STATE_OPEN and len(people) == 1:
            await self._act(actions.start() if ready else actions.set_ready(True))

    # What is drawn.

    async def _draw(self) -> Ending | None:
        while True:
            await self._dirty.wait()
            self._dirty.clear()
            if self._live or self._is_new_decision():
                self._display.show(self._screen())

    def _is_new_decision(self) -> bool:
        """Whether a display that only tells should print a screen: there is a choice, a note or a question anew."""
        view = self._room.view
        offered = f"{len(choices(view))}{self._showing.note}{self._showing.asked}{self._rules_page}"
        decided_on = (view.version, offered)
        if decided_on == self._decided_on:
            return False
        self._decided_on = decided_on
        shown = choices(view) or view.state not in _RUNNING
        return bool(shown or self._showing.note or self._showing.asked or self._rules_page is not None)

    def _screen(self) -> list[Text]:
        showing = self._showing
        showing.typed = self._keyboard.typed
        showing.online = self._room.online
        showing.happened = list(self._happened)
        showing.seconds_left = self._seconds_left()
        showing.asked = _LEAVE_QUESTION if self._leaving else ""
        if self._rules_page is not None:
            return rules_screen(showing, self._rules_page)
        return draw(self._room.view, showing)

    def _seconds_left(self) -> int | None:
        clock = self._room.view.clock
        if not clock.HasField("deadline") or clock.kind not in _SHOWN_DEADLINES:
            return None
        span = clock.deadline.ToNanoseconds() - clock.now.ToNanoseconds()
        gone = asyncio.get_running_loop().time() - self._clock_at
        return max(0, round(span / 1e9 - gone))

    async def _tick(self) -> Ending | None:
        while True:
            await asyncio.sleep(1.0)
            if self._live:
                self.redraw()

    # What is typed.

    async def _obey(self) -> Ending | None:
        while True:
            line = await self._keyboard.line()
            if line is None:
                return Ending.LATER
            self._showing.note = ""
            ending = await self._do(line.strip())
            if ending is not None:
                return ending
            self.redraw()

    async def _do(self, line: str) -> Ending | None:
        if self._leaving:
            return await self._answer_leaving(line)
        if self._rules_page is not None:
            self._turn_rules_page(line)
        elif line.isdecimal():
            await self._choose(int(line))
        elif line.startswith("/"):
            await self._attempt(lambda: self._client.send_chat(self._room.id, line[1:].strip()))
        elif line == "q":
            return await self._quit()
        elif line == "h":
            await self._show_rules()
        elif line in ("n", "p"):
            self._showing.page += 1 if line == "n" else -1
        elif line:
            self._showing.note = f"{line[:20]!r} is nothing: type a number, h for the rules, q to leave, /text to talk."
        elif self._room.view.state == room_pb2.ROOM_STATE_PAUSE and choices(self._room.view):
            await self._choose(1)
        return None

    async def _choose(self, number: int) -> None:
        offered = choices(self._room.view)
        if not 1 <= number <= len(offered):
            ends = f"a number from 1 to {len(offered)}" if offered else "nothing to choose at the moment"
            self._showing.note = f"{number} is not offered: {ends}."
            return
        self._showing.page = 0
        await self._act(offered[number - 1][1])

    async def _act(self, action: actions_pb2.Action) -> None:
        await self._attempt(lambda: self._room.act(action))

    async def _attempt(self, attempt: Callable[[], Awaitable[object]]) -> None:
        """Makes a call; what goes wrong is noted on the screen."""
        try:
            await attempt()
        except Refused as refused:
            self._showing.note = f"{refused.message or refused.reason}"
        except MaumauError as error:
            self._showing.note = str(error)

    async def _show_rules(self) -> None:
        async def fetch() -> None:
            view = self._room.view
            presets = await self._client.rulesets(view.ruleset.preset)
            self._showing.rules = rules_lines(presets[0], view) if presets else []
            self._rules_page = 0

        await self._attempt(fetch)

    def _turn_rules_page(self, line: str) -> None:
        page = self._rules_page or 0
        if line in ("q", "h"):
            self._rules_page = None
        else:
            turned = page - 1 if line == "b" else page + 1
            self._rules_page = min(max(0, turned), rules_pages(self._showing) - 1)

    # Going.

    async def _quit(self) -> Ending | None:
        view = self._room.view
        if not view.HasField("own_seat"):
            return Ending.LATER
        if view.state in _RUNNING:
            self._leaving = True
            return None
        return await self._leave()

    async def _answer_leaving(self, line: str) -> Ending | None:
        self._leaving = False
        if line in ("y", "q"):
            return await self._leave()
        return Ending.LATER if line == "c" else None

    async def _leave(self) -> Ending:
        self.last_view = self._room.view  # with oneself on the seat
        try:
            await self._room.act(actions.leave_seat(), timeout=_LEAVING_SECONDS)
        except MaumauError:
            return Ending.LATER  # the seat is still one's own
        return Ending.LEFT


def _chat_words(chat: RoomChat) -> Text:
    if chat.by_operator:
        return Text(f"The operator: {chat.message.text}", style="bold yellow")
    return Text(f"{chat.message.display_name}: {chat.message.text}", style="cyan")
