"""One room as this process knows it: its newest state here, and the streams that watch it here.

The state may be old: a cached state may accept (the commit script compares version and mark), never refuse. Delivery
is by version: a viewer gets every version once and in order, from our own commits, from what other processes publish,
or from the log, whichever comes first. What comes twice is dropped; a hole is filled from the log; a version whose
"mark before" is not the one delivered last means that Redis was rolled back, and the viewers are told.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Final, NamedTuple

from services.game_authority.outlet import Outlet
from services.rules.actions import Action
from services.rules.room.actions import Actor, RoomAction
from services.rules.room.events import RoomEvent, SeatLeft, SeatRemoved, SeatTaken
from services.rules.room.state import Room
from services.store.keys import PlayerId, RoomId, StreamId
from services.store.packing import Published
from services.store.records import Clock, Head
from services.wire.updates import encoded_acceptance

KNOWN_TEXTS: Final = 64
"""Chat texts whose ids are remembered."""

KNOWN_MARKS: Final = 64
"""Versions whose marks are remembered, to tell a late message from a changed history."""

NEVER: Final = Head(1 << 62, b"")
"""`since` of a viewer that has not got its snapshot yet: nothing is for it."""


class Newest(NamedTuple):
    """A room's state with the version and mark that it belongs to."""

    room: Room
    head: Head
    clock: Clock


class Viewer:
    """One stream that watches a room. `seat` is its player's seat as of the last version delivered; `since` the
    version that its snapshot or resume token covers."""

    def __init__(self, player: PlayerId, stream: StreamId, outlet: Outlet, *, plays: bool) -> None:
        self.player = player
        self.stream = stream
        self.outlet = outlet
        self.plays = plays
        self.seat: int | None = None
        self.since = Head(0, b"")
        self.announced = False
        """Whether the room heard that this `Play` stream was opened, or stands."""
        self.opened_ms = 0
        """When a `Play` stream was opened, by the time of Redis; 0 until it is open, and of others."""

    def has(self, delivered: Head) -> Head:
        """How far this viewer is where `delivered` is what went out last: it may have begun further on."""
        ahead = self.since is not NEVER and self.since.version >= delivered.version
        return self.since if ahead else delivered

    def follow_seat(self, events: Sequence[RoomEvent]) -> None:
        """Moves with the player from seat to seat."""
        self.seat = seat_after(events, self.player, self.seat)


class Asked:
    """An action that came on a `Play` stream, whose `viewer` waits for its answer."""

    __slots__ = ("answered", "request_id", "viewer")

    def __init__(self, viewer: Viewer, request_id: bytes) -> None:
        self.viewer = viewer
        self.request_id = request_id
        self.answered = False

    def answer(self, version: int) -> bytes:
        """That the action made this version, to be put behind the update that tells it. It then has its answer."""
        self.answered = True
        return encoded_acceptance(self.request_id, version)


class Made(NamedTuple):
    """A version that is being committed here. It may come back by the channel before the commit is answered."""

    mark: bytes
    actor: Actor
    action: RoomAction
    events: Sequence[RoomEvent]
    room: Room
    asked: Asked | None


class LiveRoom:
    """See the module. `lock` is held while an action is judged and committed, `committing` is what that commit makes,
    `echo` what came back of it by the channel while it had no answer.
    `delivered` is what the viewers here have in their queues, `waiters` counts long polls, `connected`, `lost` (seats
    whose stream broke off) and `spectators` say who watched at `presence_read`.
    `behind`: this is a past of the room, for spectators who see it late."""

    def __init__(self, room_id: RoomId, newest: Newest, now: float, *, behind: bool = False) -> None:
        self.behind = behind
        self.id = room_id
        self.newest = newest
        self.lock = asyncio.Lock()
        self.committing: Made | None = None
        self.echo: Published | None = None
        self.viewers: list[Viewer] = []
        self._of_player: dict[PlayerId, list[Viewer]] = {}
        self.waiters = 0
        self.delivered = newest.head
        self.legal: dict[int, tuple[Sequence[Action], Sequence[Action]]] = {}
        self.connected: frozenset[int] = frozenset()
        self.lost: frozenset[int] = frozenset()
        self.spectators = 0
        self.presence_read = 0.0
        self.used = now
        self.created_ms = 0
        """When the room was made, in ms since 1970; 0 until somebody has asked."""
        self._marks: dict[int, bytes] = {}
        self._said: deque[bytes] = deque(maxlen=KNOWN_TEXTS)
        self._moved: asyncio.Future[None] | None = None

    @property
    def version(self) -> int:
        return self.newest.head.version

    def take_clock(self, seen: tuple[Head, Clock] | None) -> bool:
        """Takes over the clock of the store, which may have moved without a version, if the store has the version
        that is the newest here; false if it has another."""
        if seen is None or seen[0] != self.newest.head:
            return False
        self.newest = self.newest._replace(clock=seen[1])
        return True

    @property
    def following(self) -> list[Viewer]:
        """The viewers that have got what their streams begin with."""
        return [viewer for viewer in self.viewers if viewer.since is not NEVER]

    @property
    def watched(self) -> bool:
        return bool(self.viewers) or self.waiters > 0

    def join(self, viewer: Viewer) -> None:
        """One more stream watches."""
        self.viewers.append(viewer)
        self._of_player.setdefault(viewer.player, []).append(viewer)

    def part(self, viewer: Viewer) -> None:
        """The stream watches no more; nothing happens if it did not."""
        if viewer not in self.viewers:
            return
        self.viewers.remove(viewer)
        theirs = self._of_player[viewer.player]
        theirs.remove(viewer)
        if not theirs:
            del self._of_player[viewer.player]

    def seats_here(self, room: Room) -> frozenset[int]:
        """Seats whose person has a stream in this process. Asked for each stream that opens, so it does not look at all
        of them."""
        people = [(number, PlayerId(seat.player)) for number, seat in room.taken() if seat.level is None]
        return frozenset(
            number
            for number, player in people
            if any(not viewer.outlet.ended for viewer in self._of_player.get(player, ()))
        )

    def deliver_from(self, head: Head) -> None:
        """Delivery goes on after this version; what was known of the history before does not matter."""
        self.delivered = head
        self._marks = {head.version: head.mark}

    def delivered_is(self, head: Head) -> None:
        """This version, the next one, is in the queues."""
        self.delivered = head
        self._marks[head.version] = head.mark
        self._marks.pop(head.version - KNOWN_MARKS, None)

    def knows(self, version: int, mark: bytes) -> bool:
        """Whether this version was delivered here not long ago, with this mark."""
        return self._marks.get(version) == mark

    def forget_legal(self, viewer: Viewer) -> None:
        """This viewer may know other legal actions of its seat than were sent last: they go out with the next version,
        changed or not."""
        if viewer.seat is not None:
            self.legal.pop(viewer.seat, None)

    def hears_first(self, player: str, request_id: bytes) -> bool:
        """Whether a text was not heard before: a repeated request may publish it twice."""
        key = request_id + player.encode()
        if key in self._said:
            return False
        self._said.append(key)
        return True

    def wake(self) -> None:
        """Lets those go on who wait in `next_version`."""
        if self._moved is not None:
            self._moved.set_result(None)
            self._moved = None

    async def next_version(self) -> None:
        """Returns when the next version is delivered."""
        if self._moved is None:
            self._moved = asyncio.get_running_loop().create_future()
        await asyncio.shield(self._moved)


def seat_after(events: Sequence[RoomEvent], player: str, seat: int | None) -> int | None:
    """The player's seat after these events, when it was `seat` before them."""
    for event in events:
        if isinstance(event, SeatTaken) and event.player == player:
            seat = event.seat
        elif isinstance(event, (SeatLeft, SeatRemoved)) and event.player == player:
            seat = None
    return seat


def seat_before(events: Sequence[RoomEvent], player: str, seat: int | None) -> int | None:
    """The player's seat before these events, when it is `seat` after them. A move from seat to seat names the old one
    as free, so it ends here as None: the viewer then sees that version as a spectator does."""
    for event in reversed(events):
        if isinstance(event, SeatTaken) and event.player == player:
            seat = None
        elif isinstance(event, (SeatLeft, SeatRemoved)) and event.player == player:
            seat = event.seat
    return seat
