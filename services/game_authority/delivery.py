"""Versions on their way to the streams of this process.

Order of work when a stream opens: subscribe, read the newest state, answer with what was missed or a snapshot, drop
what that holds. From then on a version comes by our own commit, by the channel, or from the log, and goes out once.
Our own commits come back by the channel too, commonly before their answers: such an echo is kept, unread, until the
answer says the same, or until it is clear that none will.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from services.game_authority.asides import Announced, Chat, PlayOpened, PlayStands, PresenceChanged, Told, decode_aside
from services.game_authority.catching_up import CatchingUp
from services.game_authority.fan_out import FanOut, note_legal, send_home
from services.game_authority.history import History, point_of
from services.game_authority.live_room import NEVER, LiveRoom, Made, Newest, Viewer
from services.game_authority.redis_time import RedisTime
from services.game_authority.versions import Version, as_made, from_log
from services.rules.room.codec import decode
from services.rules.room.state import IN_MATCH, Room, RoomPhase
from services.runtime.logs import log
from services.store.hub import Gap, Heard, Hub, Subscription
from services.store.keys import RoomId
from services.store.packing import Published
from services.store.records import Aside, Clock, Head
from services.store.rooms import RoomStore
from services.wire.errors import refusal
from services.wire.updates import encoded_announcement, encoded_chat

REACH_SECONDS: Final = 5.0
"""How long an answer waits for its own event; it then goes out before it, and the event follows."""


class Delivery:
    """See the module. `find` gives the room as this process knows it, `invite` its present invite code. `history`,
    `fan_out` and `catching_up` are its parts, which others use too."""

    def __init__(
        self,
        store: RoomStore,
        hub: Hub,
        redis_time: RedisTime,
        find: Callable[[RoomId], LiveRoom | None],
        invite: Callable[[Room], str],
    ) -> None:
        self._store = store
        self._hub = hub
        self._find = find
        self.history = History(store, invite)
        self.fan_out = FanOut(redis_time)
        self.catching_up = CatchingUp(store, self.history, self.fan_out)
        self._subscriptions: dict[RoomId, Subscription] = {}
        self._subscribing: dict[RoomId, asyncio.Lock] = {}
        self.dismissals = 0
        """How often all who waited for a version were sent away."""
        self.say_who_plays: Callable[[LiveRoom], None] = lambda live: None
        """Called when announcements of `Play` streams may have been lost."""
        self.presence_changed: Callable[[LiveRoom], None] = lambda live: None
        """Called when another process, or this one, told that somebody came or is gone."""

    # Streams come and go.

    async def open(self, live: LiveRoom, viewer: Viewer, token: bytes, admit: Callable[[Room], None]) -> None:
        """Lets a stream follow the room: from its token, or with a snapshot. `admit` refuses by raising, judged on the
        newest state. Raises Refusal (ROOM_NOT_FOUND, BAD_RESUME_TOKEN), `StoreUnavailable`."""
        point = point_of(token, live.id)
        await self.listen(live)
        live.join(viewer)  # keeps the subscription; hears nothing before `since` is set
        viewer.since = NEVER
        try:
            newest = await self._newest(live)
            admit(newest.room)
            missed = await self.history.missed(newest, point)
            while live.delivered.version > newest.head.version:  # versions went out while the log was read
                newest = live.newest
                missed = await self.history.missed(newest, point)
        except BaseException:
            self.close(live, viewer)
            raise
        self.history.begin(live, viewer, newest, point, missed)
        viewer.seat = newest.room.seat_of(viewer.player)
        viewer.since = newest.head
        live.forget_legal(viewer)
        self._deliver_from(live, newest)
        if newest.room.phase is RoomPhase.CLOSED:
            send_home(live, viewer)

    async def join(self, past: LiveRoom, viewer: Viewer, token: bytes) -> None:
        """Lets a spectator follow a past of a room, which somebody else moves on. Raises as `open` does."""
        point = point_of(token, past.id)
        viewer.since = NEVER
        past.viewers.append(viewer)
        try:
            newest, missed = await self.history.missed_of(past, point)
        except BaseException:
            past.viewers.remove(viewer)
            raise
        self.history.begin(past, viewer, newest, point, missed)
        viewer.since = newest.head if point is None or missed[0] is None else max(newest.head, Head(*point))
        if newest.room.phase is RoomPhase.CLOSED:
            send_home(past, viewer)

    def close(self, live: LiveRoom, viewer: Viewer) -> None:
        """Ends a stream's following; the last one ends the subscription."""
        live.part(viewer)
        self._end_if_unwatched(live)

    def _end_if_unwatched(self, live: LiveRoom) -> None:
        if not live.watched:
            subscription = self._subscriptions.pop(live.id, None)
            if subscription is not None:
                subscription.close()

    async def listen(self, live: LiveRoom) -> None:
        """Subscribes to the room's channel, once."""
        async with self._subscribing.setdefault(live.id, asyncio.Lock()):
            if live.id not in self._subscriptions:
                live.deliver_from(live.newest.head)
                self._subscriptions[live.id] = await self._hub.subscribe(live.id, self._heard)
        self._subscribing.pop(live.id, None)

    async def _newest(self, live: LiveRoom) -> Newest:
        taken = live.take_clock(await self._store.glance(live.id))
        while not taken:
            snapshot = await self._store.read(live.id)
            if snapshot is None:
                raise refusal("ROOM_NOT_FOUND")
            taken = await self.catching_up.take(live, snapshot)
        return live.newest

    def _deliver_from(self, live: LiveRoom, newest: Newest) -> None:
        """What the other viewers have not seen yet comes from the log; for a first viewer delivery begins here."""
        if len(live.viewers) == 1 and not live.waiters:
            live.deliver_from(newest.head)
            note_legal(live, newest.room)
        elif live.delivered != newest.head:
            self.catching_up.catch_up(live)

    # Versions come.

    def committed(self, live: LiveRoom, made: Made, head: Head, mark_before: bytes, clock: Clock) -> None:
        """Our own commit made this version. The channel may have brought it already."""
        live.echo = None
        if not live.watched:
            live.deliver_from(live.newest.head)
        elif not live.knows(*head):
            self._arrived(live, as_made(made, head, mark_before, clock))

    def take_echo(self, live: LiveRoom) -> None:
        """What came back of a commit whose answer is not there, or whose successor is, counts as any other version."""
        echo, live.echo = live.echo, None
        if echo is not None:
            self._take_version(live, echo)

    def _heard(self, message: Heard) -> None:
        live = self._find(message.room)
        if live is None or not live.watched:
            return
        match message:
            case Published():
                self._heard_version(live, message)
            case Aside(content=content):
                self._tell_aside(live, decode_aside(content))
            case Gap():
                self.catching_up.catch_up(live)
                self.say_who_plays(live)

    def _heard_version(self, live: LiveRoom, message: Published) -> None:
        if live.committing is not None and live.committing.mark == message.head.mark:
            live.echo = message
        else:
            self.take_echo(live)
            self._take_version(live, message)

    def _take_version(self, live: LiveRoom, message: Published) -> None:
        if message.head.version <= live.delivered.version:
            if not live.knows(*message.head):
                self.catching_up.catch_up(live)
            return
        entry, made = message.entry, live.committing
        if made is not None and made.mark == entry.mark:
            version = as_made(made, message.head, entry.mark_before, entry.clock)
        else:
            version = from_log(entry)._replace(room=decode(message.state))
        if entry.version > live.version and version.room is not None:
            live.newest = Newest(version.room, version.head, version.clock)
        self._arrived(live, version)

    def _arrived(self, live: LiveRoom, version: Version) -> None:
        if version.head.version == live.delivered.version + 1 and version.mark_before == live.delivered.mark:
            self.fan_out.deliver(live, version)
        else:
            self.catching_up.catch_up(live)

    def _tell_aside(self, live: LiveRoom, aside: Told | None) -> None:
        match aside:
            case Chat() if live.hears_first(aside.player, aside.request_id):
                text = encoded_chat(aside.player, aside.name, aside.seat, aside.text, aside.time_ms)
                playing = live.newest.room.phase in IN_MATCH
                for viewer in live.following:
                    if aside.seat is not None or viewer.seat is None or not playing:
                        viewer.outlet.put(text)
            case Announced() if live.hears_first("", aside.request_id):
                word = encoded_announcement(aside.text, aside.time_ms)
                for viewer in live.following:
                    viewer.outlet.put(word)
            case PlayOpened():
                _take_over(live, aside)
            case PlayStands():
                if _end_older(live, aside):
                    self.say_who_plays(live)
            case PresenceChanged():
                self.presence_changed(live)
            case _:
                pass

    # Waiting for versions.

    async def wait_above(self, live: LiveRoom, version: int, seconds: float) -> None:
        """Returns once there is a version above this one, after that time, or when all are sent away. Raises
        `StoreUnavailable`."""
        dismissals = self.dismissals
        live.waiters += 1
        try:
            await self.listen(live)
            newest = await self._newest(live)
            if not live.viewers and live.waiters == 1:
                live.deliver_from(newest.head)
            async with asyncio.timeout(seconds):
                while max(live.version, live.delivered.version) <= version and self.dismissals == dismissals:
                    await live.next_version()
        except TimeoutError:
            return
        finally:
            live.waiters -= 1
            self._end_if_unwatched(live)

    async def reached(self, live: LiveRoom, version: int) -> None:
        """Returns once the viewers here have this version in their queues, or nobody watches, or after 5 s."""
        if not live.watched or live.delivered.version >= version:
            return
        try:
            async with asyncio.timeout(REACH_SECONDS):
                while live.watched and live.delivered.version < version:
                    await live.next_version()
        except TimeoutError:
            log.warning("an answer goes out before its event", room=live.id, version=version)


def _take_over(live: LiveRoom, opened: PlayOpened) -> None:
    """One `Play` a seat: those announced before end. All processes hear the announcements in one order, so of two
    opened at once exactly the later one stays."""
    for viewer in live.viewers:
        if viewer.stream == opened.stream:
            viewer.announced = True
        elif viewer.player == opened.player and viewer.announced:
            viewer.outlet.end(refusal("TAKEN_OVER"), drop=True)


def _end_older(live: LiveRoom, stands: PlayStands) -> bool:
    """Ends the `Play` streams that the one that stands has followed; true where one here is newer than that. One that
    was not announced yet will be: until then nobody knows that the other one has to end by it."""
    newest = (stands.opened_ms, stands.stream)
    theirs = [viewer for viewer in live.viewers if viewer.opened_ms and viewer.player == stands.player]
    for viewer in theirs:
        if viewer.stream == stands.stream:
            viewer.announced = True  # what was lost may be its announcement
        elif viewer.announced and (viewer.opened_ms, viewer.stream) < newest:
            viewer.outlet.end(refusal("TAKEN_OVER"), drop=True)
    return any((viewer.opened_ms, viewer.stream) > newest for viewer in theirs)
