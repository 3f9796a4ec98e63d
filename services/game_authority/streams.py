"""`Watch` and `Play`: one stream of one player to one room, and what all open streams need from time to time.

A stream's messages wait in its outlet; the handler writes them. Once a second all streams are tended: bookmarks with
the version that Redis has (so that a lost last message shows), presence, session tokens that end, clients that do not
read.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator
from typing import Any, Final

from maumau.v1 import room_pb2

from services.game_authority.asides import PlayOpened, PlayStands, PresenceChanged, encode_aside
from services.game_authority.fan_out import end
from services.game_authority.history import bookmark
from services.game_authority.live_room import LiveRoom, Viewer
from services.game_authority.outlet import Outlet
from services.game_authority.past import Pasts
from services.game_authority.presence import Presence
from services.game_authority.rooms import Rooms
from services.game_authority.timers import Timers
from services.game_authority.versions import is_behind, may_watch
from services.rules.room.state import Room, RoomPhase
from services.runtime import metrics
from services.runtime.errors import Refused
from services.runtime.logs import log
from services.runtime.revocations import Revocations
from services.runtime.settings import Settings
from services.runtime.tokens import Session
from services.store.assembly import Store
from services.store.errors import StoreError, StoreUnavailable
from services.store.keys import PlayerId, RoomId, StreamId
from services.wire.errors import Refusal, refusal
from services.wire.resume import resume_token, token_text
from services.wire.updates import encoded_go_away, encoded_renew

TEND_SECONDS: Final = 1.0
OPEN_SECONDS: Final = 10.0
"""How long a `Play` stream may take to say what room it is for."""
SAY_AGAIN_SECONDS: Final = 0.5
"""Pause before what could not be said is said again."""
RETURN_SECONDS: Final = 2.0
"""Who comes back so soon was never gone, as far as the clock is concerned."""
RENEW_SECONDS: Final = 60.0
"""How long before the end of a session its stream is told."""


class Stream:
    """One open stream."""

    def __init__(self, live: LiveRoom, viewer: Viewer, session: Session, task: asyncio.Task[Any]) -> None:
        self.live = live
        self.viewer = viewer
        self.session = session
        self.task = task
        self.told_to_renew = False
        self.closed_by_client = False
        self.was_slow = False

    def renew(self, session: Session) -> None:
        """Goes on under a fresh session of the same player. Raises Refusal (BAD_TOKEN) for another player's."""
        if session.player_id != self.session.player_id:
            raise refusal("BAD_TOKEN")
        self.session = session
        self.told_to_renew = False

    @property
    def token(self) -> bytes:
        """To resume after what is in the queue."""
        return resume_token(self.live.id, *self.viewer.has(self.live.delivered))

    @property
    def token_of_what_was_sent(self) -> bytes:
        """To resume without what is in the queue; empty, for a snapshot, where not even the first one went out."""
        reached = self.viewer.outlet.reached
        return b"" if reached is None else resume_token(self.live.id, *reached)


class Streams:
    """All open streams of this process."""

    def __init__(self, settings: Settings, store: Store, rooms: Rooms, presence: Presence, timers: Timers) -> None:
        self._settings = settings
        self._store = store
        self._rooms = rooms
        self._presence = presence
        self._timers = timers
        self._open: dict[StreamId, Stream] = {}
        self._unopened: set[asyncio.Timeout] = set()
        self._bookmarks: dict[RoomId, float] = {}
        self._to_show: dict[RoomId, None] = {}  # in order, as a simulated run must be the same every time
        self._background: set[asyncio.Task[None]] = set()
        self._closed = asyncio.Event()
        self._leaving = False
        self._revocations: Revocations | None = None
        self.pasts = Pasts(store.rooms, store.hub, rooms, self._renew_one, settings.bookmark_seconds)
        rooms.delivery.presence_changed = lambda live: self._to_show.setdefault(live.id)
        rooms.delivery.say_who_plays = self._say_who_plays

    def end_with(self, revocations: Revocations) -> None:
        """From now on streams end with their sessions, also when these end before their time."""
        self._revocations = revocations
        revocations.changed = self._end_revoked

    def _end_revoked(self) -> None:
        for stream in self._open.values():
            self._end_if_revoked(stream)

    def _end_if_revoked(self, stream: Stream) -> None:
        if (refused := self._revoked(stream.session)) is not None:
            stream.viewer.outlet.end(refused, drop=True)

    def _revoked(self, session: Session) -> Refusal | None:
        return None if self._revocations is None else self._revocations.refusal(session)

    def refuse_revoked(self, session: Session) -> None:
        """Raises Refusal (SESSION_ENDED, PLAYER_BANNED) where that came while a call waited."""
        if (refused := self._revoked(session)) is not None:
            raise refused

    async def first_of(self, requests: AsyncIterator[Any]) -> Any:
        """The first message of a `Play` stream; None where its client is done without one. Raises Refusal: OPEN_FIRST
        where none comes in time, STOPPING where streams are sent to other processes meanwhile."""
        limit = asyncio.timeout(OPEN_SECONDS)
        try:
            async with limit:
                self._unopened.add(limit)
                return await anext(aiter(requests), None)
        except TimeoutError:
            self.refuse_if_leaving()
            raise refusal("OPEN_FIRST") from None
        finally:
            self._unopened.discard(limit)

    async def open(self, room_id: RoomId, session: Session, token: bytes, *, plays: bool) -> Stream:
        """Lets a player follow a room. Raises Refusal (ROOM_NOT_FOUND, BAD_RESUME_TOKEN), `StoreUnavailable`."""
        live = await self._rooms.live(room_id)
        await self._presence.look(live, 0.0)
        outlet = Outlet(self._settings.stream_queue_bytes, self._settings.stream_queue_seconds)
        viewer = Viewer(PlayerId(session.player_id), StreamId(secrets.token_hex(8)), outlet, plays=plays)
        task = asyncio.current_task()
        assert task is not None
        try:
            await self._rooms.delivery.open(live, viewer, token, lambda room: _admit_now(room, viewer.player))
        except _SeesItLate:
            live = await self.pasts.open(viewer, room_id, token)
        stream = Stream(live, viewer, session, task)
        self._start(self._arrive(stream))
        self._start(self._give_back(stream, resumes=bool(token)))
        self._open[viewer.stream] = stream
        self._end_if_revoked(stream)  # meanwhile: only those that were open heard of it
        if not live.behind:
            self._bookmarks.setdefault(live.id, time.monotonic() + self._settings.bookmark_seconds)
        if self._leaving:
            _send_away(stream)
        if plays:
            await self._announce(stream)
        return stream

    async def _give_back(self, stream: Stream, *, resumes: bool) -> None:
        """Whose stream broke off through no doing of the player has time to look before the turn ends."""
        live, viewer = stream.live, stream.viewer
        if viewer.seat is None or live.newest.room.phase is not RoomPhase.PLAYING:
            return
        broke_off = await self._presence.broke_off(live.id, viewer.player, viewer.stream, resumes=resumes)
        if broke_off and await self._timers.give_back(live, viewer.seat):
            await self._bookmark(live.id)

    def close(self, stream: Stream) -> None:
        """The stream has ended, for whatever reason; where it was not its client that ended it, that is noted. It waits
        for nothing: a handler may be cancelled at any moment, also while it ends."""
        self._open.pop(stream.viewer.stream, None)
        self._closed.set()
        if stream.live.behind:
            self.pasts.close(stream.live, stream.viewer)
        else:
            self._rooms.delivery.close(stream.live, stream.viewer)
            if not stream.live.viewers:
                self._bookmarks.pop(stream.live.id, None)
        viewer = stream.viewer
        lost = not stream.closed_by_client
        self._start(self._presence.leave(stream.live.id, viewer.player, viewer.stream, lost=lost))
        asyncio.get_running_loop().call_later(RETURN_SECONDS, self._tell_clock, stream.live, viewer)

    def _tell_clock(self, live: LiveRoom, viewer: Viewer) -> None:
        """If the table still waits for a player who is gone, the clock has to know; and the others see it."""
        if viewer.seat is None or viewer.seat in live.seats_here(live.newest.room):
            return
        if self._presence.is_waited_for(live, viewer.seat):
            self._start(self._rearm(live))
        self._start(self._tell_gone(live, viewer.seat))

    async def _arrive(self, stream: Stream) -> None:
        """Who had no stream before is shown to the others."""
        live, viewer = stream.live, stream.viewer
        await self._presence.enter(live.id, viewer.player, viewer.stream)
        if viewer.seat is not None and viewer.seat not in live.connected:
            live.connected |= {viewer.seat}
            await self._store.rooms.say(live.id, encode_aside(PresenceChanged()))

    async def _tell_gone(self, live: LiveRoom, seat: int) -> None:
        await self._presence.look(live, TEND_SECONDS)
        if seat not in live.connected:
            await self._store.rooms.say(live.id, encode_aside(PresenceChanged()))

    # What streams need from time to time.

    async def tend_all(self) -> None:
        """Runs as long as the process."""
        while True:
            await asyncio.sleep(TEND_SECONDS)
            now = time.time()
            for stream in list(self._open.values()):
                self._tend(stream, now)
            for live in dict.fromkeys(stream.live for stream in self._open.values() if not stream.live.behind):
                if self._presence.somebody_is_back(live):
                    self._start(self._rearm(live))
            await self._bookmark_due()

    def asked(self, live: LiveRoom, player: str) -> None:
        """A player asked for the room, with a stream or without; a match that waited for somebody goes on."""
        if self._presence.somebody_is_back(live, player):
            self._start(self._rearm(live))

    async def _rearm(self, live: LiveRoom) -> None:
        if await self._timers.rearm(live):
            await self._bookmark(live.id)

    def _tend(self, stream: Stream, now: float) -> None:
        outlet = stream.viewer.outlet
        if stream.viewer.seat is None and not may_watch(stream.live.newest.room, stream.viewer.player):
            outlet.end(refusal("ROOM_NOT_FOUND"))  # left, or removed; a moment later, so that the answer still goes out
        if outlet.too_slow() and not stream.was_slow:
            _cut(stream)
        if outlet.out_of_reach():
            stream.task.cancel()  # it waits for a client that takes nothing; no status would reach it
        elif stream.session.expires <= now:
            outlet.end(refusal("TOKEN_EXPIRED", resume_token=token_text(stream.token)))
        elif stream.session.expires - RENEW_SECONDS <= now and not stream.told_to_renew:
            stream.told_to_renew = True
            outlet.put(encoded_renew(round(stream.session.expires * 1000)))

    async def _bookmark_due(self) -> None:
        shown, self._to_show = self._to_show, {}
        await asyncio.gather(*(self._bookmark(room_id, renew=False) for room_id in shown))
        now = time.monotonic()
        due = [room_id for room_id, at in self._bookmarks.items() if at <= now]
        for room_id in due:
            self._bookmarks[room_id] = now + self._settings.bookmark_seconds
        await asyncio.gather(*(self._bookmark(room_id) for room_id in due))

    async def _bookmark(self, room_id: RoomId, *, renew: bool = True) -> None:
        live = self._rooms.cached(room_id)
        if live is None or not live.viewers:
            self._bookmarks.pop(room_id, None)
            return
        try:
            presence = self._renew_presence(live) if renew else self._presence.read(live)
            seen, _ = await asyncio.gather(self._store.rooms.glance(room_id), presence)
        except StoreUnavailable:
            return
        except StoreError as error:
            log.warning("bookmark not sent", room=room_id, error=str(error))
            return
        if seen is None:
            end(live)
            return
        head, clock = seen
        live.used = time.monotonic()
        live.take_clock(seen)
        sign_of_life = bookmark(live, head.version, clock, live.delivered)
        for viewer in live.following:
            viewer.outlet.put(sign_of_life)
        if head != live.delivered:
            self._rooms.delivery.catching_up.catch_up(live)

    async def _renew_presence(self, live: LiveRoom) -> None:
        await asyncio.gather(
            *(self._presence.enter(live.id, viewer.player, viewer.stream) for viewer in live.following)
        )
        await self._presence.read(live)

    async def _renew_one(self, room_id: RoomId, viewer: Viewer) -> None:
        await self._presence.enter(room_id, viewer.player, viewer.stream)

    async def _announce(self, stream: Stream) -> None:
        """Says that a `Play` stream was opened, before its client hears that it is: of two streams that were opened one
        after the other the second is then announced last, and stays. What can only be said late goes by age."""
        viewer, room_id = stream.viewer, stream.live.id
        viewer.opened_ms = stream.live.newest.clock.now
        try:
            await self._store.rooms.say(room_id, encode_aside(PlayOpened(viewer.player, viewer.stream)))
        except StoreUnavailable:
            self._start(self._say_it_stands(room_id, viewer))
        except (Exception, asyncio.CancelledError):
            self.close(stream)
            raise

    async def _say_it_stands(self, room_id: RoomId, viewer: Viewer) -> None:
        """Says that a `Play` stream is open, again and again until Redis takes it."""
        stands = encode_aside(PlayStands(viewer.player, viewer.stream, viewer.opened_ms))
        while viewer.stream in self._open and not viewer.outlet.ended:
            try:
                await self._store.rooms.say(room_id, stands)
            except StoreUnavailable:
                await asyncio.sleep(SAY_AGAIN_SECONDS)
            else:
                return

    def _say_who_plays(self, live: LiveRoom) -> None:
        """Whether a stream was taken over may have gone unheard: it is settled again, by their age."""
        for viewer in live.following:
            if viewer.opened_ms and not viewer.outlet.ended:
                self._start(self._say_it_stands(live.id, viewer))

    def _start(self, work: Any) -> None:
        task = asyncio.create_task(_unless_away(work))
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    # The end.

    def refuse_if_leaving(self) -> None:
        """Raises Refused (STOPPING) where streams are sent to other processes, so that new rooms are made there."""
        if self._leaving:
            raise Refused("STOPPING")

    def take_again(self) -> None:
        """Streams may come again."""
        self._leaving = False

    async def send_away(self) -> None:
        """Tells every stream to go to another process, with its resume token, and waits until they have. Calls that
        wait for a version are answered."""
        self._leaving = True
        self._rooms.dismiss()
        for limit in self._unopened:
            if not limit.expired():
                limit.reschedule(0.0)
        for stream in self._open.values():
            _send_away(stream)
        while self._open:
            await self._closed.wait()
            self._closed.clear()
        await asyncio.gather(*self._background)


def _cut(stream: Stream) -> None:
    """Gives up a stream whose client does not read. It ends when the client has heard of it, or is out of reach."""
    stream.was_slow = True
    metrics.slow_readers_cut.inc()
    log.info("slow reader cut", room=stream.live.id)
    why = refusal("TOO_SLOW", resume_token=token_text(stream.token_of_what_was_sent))
    stream.viewer.outlet.end(why, drop=True)


def _send_away(stream: Stream) -> None:
    metrics.go_aways.inc()
    stream.viewer.outlet.end(last=encoded_go_away(stream.token, room_pb2.GO_AWAY_REASON_STOPPING))


def admit(room: Room, player: str) -> None:
    """Raises Refusal (ROOM_NOT_FOUND), the same that a room which does not exist gives, to whom may not watch."""
    if not may_watch(room, player):
        raise refusal("ROOM_NOT_FOUND")


class _SeesItLate(Exception):  # noqa: N818 - a turn of the way, never told
    """The player may watch a past of the room only."""


def _admit_now(room: Room, player: str) -> None:
    """Raises also _SeesItLate, for whom the room itself is too young."""
    admit(room, player)
    if is_behind(room, player):
        raise _SeesItLate


async def _unless_away(work: Any) -> None:
    try:
        await work
    except StoreError as error:
        log.info("presence or announcement not written", error=str(error))
