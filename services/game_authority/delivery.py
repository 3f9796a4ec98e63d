"""Versions on their way to the streams of this process.

Order of work when a stream opens: subscribe, read the newest state, answer with what was missed or a snapshot, drop
what that holds. From then on a version comes by our own commit, by the channel, or from the log, and goes out once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from maumau.v1 import room_pb2

from services.game_authority.asides import Announced, Chat, PlayOpened, PresenceChanged, Told, decode_aside
from services.game_authority.live_room import NEVER, LiveRoom, Newest, Viewer, seat_before
from services.game_authority.redis_time import RedisTime
from services.game_authority.versions import (
    Version,
    as_made,
    encoded,
    from_log,
    in_an_earlier_match,
    in_play,
    is_behind,
    legal_of,
)
from services.rules.actions import Action
from services.rules.room.actions import Actor, RoomAction
from services.rules.room.codec import decode
from services.rules.room.events import RoomClosed, RoomEvent
from services.rules.room.state import IN_MATCH, Room, RoomPhase
from services.rules.room.views import game_actions, room_view, view_events
from services.runtime import metrics
from services.runtime.logs import log
from services.runtime.traces import traces
from services.store.errors import StoreUnavailable
from services.store.hub import Gap, Heard, Hub, Subscription
from services.store.keys import RoomId
from services.store.records import Aside, Clock, Head, LogEntry, Published, Snapshot
from services.store.rooms import RoomStore
from services.wire.errors import Refusal, refusal
from services.wire.resume import ResumePoint, read_resume_token, resume_token
from services.wire.updates import (
    encoded_announcement,
    encoded_bookmark,
    encoded_chat,
    encoded_go_away,
    encoded_snapshot,
    snapshot_message,
)
from services.wire.views import legal_bytes, room_message

LOG_PAGE: Final = 200
"""Entries read from the log at a time."""

RETRY_SECONDS: Final = 0.25
"""Pause before a read is tried again while Redis is away."""

REACH_SECONDS: Final = 5.0
"""How long an answer waits for its own event; it then goes out before it, and the event follows."""


_OUTCOMES: Final = {
    room_pb2.SNAPSHOT_REASON_UNSPECIFIED: "exact",
    room_pb2.SNAPSHOT_REASON_HISTORY_CHANGED: "changed",
    room_pb2.SNAPSHOT_REASON_HISTORY_TRIMMED: "trimmed",
}
"""How a resume went, for the metric."""


class Delivery:
    """See the module. `find` gives the room as this process knows it, `invite` its present invite
    code."""

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
        self._redis_time = redis_time
        self._find = find
        self._invite = invite
        self._subscriptions: dict[RoomId, Subscription] = {}
        self._subscribing: dict[RoomId, asyncio.Lock] = {}
        self._catching: dict[RoomId, asyncio.Task[None]] = {}
        self._again: set[RoomId] = set()
        self.presence_changed: Callable[[LiveRoom], None] = lambda live: None
        """Called when another process, or this one, told that somebody came or is gone."""

    # Streams come and go.

    async def open(self, live: LiveRoom, viewer: Viewer, token: bytes, admit: Callable[[Room], None]) -> None:
        """Lets a stream follow the room: from its token, or with a snapshot. `admit` refuses by raising, judged on the
        newest state. Raises Refusal (ROOM_NOT_FOUND, BAD_RESUME_TOKEN), `StoreUnavailable`."""
        point = _point_of(token, live.id) if token else None
        await self.listen(live)
        live.join(viewer)  # keeps the subscription; hears nothing before `since` is set
        viewer.since = NEVER
        try:
            newest = await self._newest(live)
            admit(newest.room)
            missed, reason = await self._missed(newest, point)
            while live.delivered.version > newest.head.version:  # versions went out while the log was read
                newest = live.newest
                missed, reason = await self._missed(newest, point)
        except BaseException:
            self.close(live, viewer)
            raise
        self._begin(live, viewer, newest, point, missed, reason)
        viewer.seat = newest.room.seat_of(viewer.player)
        viewer.since = newest.head
        live.forget_legal(viewer)
        self._deliver_from(live, newest)
        if newest.room.phase is RoomPhase.CLOSED:
            _send_home(live, viewer)

    async def join(self, past: LiveRoom, viewer: Viewer, token: bytes) -> None:
        """Lets a spectator follow a past of a room, which somebody else moves on. Raises as `open` does."""
        point = _point_of(token, past.id) if token else None
        viewer.since = NEVER
        past.viewers.append(viewer)
        try:
            newest, missed, reason = await self._missed_of(past, point)
        except BaseException:
            past.viewers.remove(viewer)
            raise
        self._begin(past, viewer, newest, point, missed, reason)
        viewer.since = newest.head if point is None or missed is None else max(newest.head, Head(*point))
        if newest.room.phase is RoomPhase.CLOSED:
            _send_home(past, viewer)

    async def _missed_of(
        self, past: LiveRoom, point: ResumePoint | None
    ) -> tuple[Newest, list[LogEntry] | None, room_pb2.SnapshotReason.ValueType]:
        """What was missed of a past. Who had a seat may know more than it may see now, and gets nothing twice."""
        ahead = point is not None and point.version > past.version
        if ahead and point is not None and await self._store.mark_at(past.id, point.version) == point.mark:
            return past.newest, [], room_pb2.SNAPSHOT_REASON_UNSPECIFIED
        while True:
            newest = past.newest
            missed, reason = await self._missed(newest, point)
            if past.newest is newest:  # no version was shown while the log was read
                return newest, missed, reason

    def _begin(
        self,
        live: LiveRoom,
        viewer: Viewer,
        newest: Newest,
        point: ResumePoint | None,
        missed: list[LogEntry] | None,
        reason: room_pb2.SnapshotReason.ValueType,
    ) -> None:
        """What a stream begins with."""
        if missed is None:
            self._send_snapshot(live, viewer, newest, reason)
        else:
            viewer.outlet.reached = None if point is None else Head(*point)
            self._send_missed(viewer, newest, missed)
        if point is not None:
            metrics.resumes.labels(_OUTCOMES[reason]).inc()
        if missed is not None:  # whoever comes back hears at once that nothing (more) was missed
            viewer.outlet.put(self.bookmark(live, newest.head.version, newest.clock, newest.head))

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
            taken = await self.take(live, snapshot)
        return live.newest

    def _deliver_from(self, live: LiveRoom, newest: Newest) -> None:
        """What the other viewers have not seen yet comes from the log; for a first viewer delivery begins here."""
        if len(live.viewers) == 1 and not live.waiters:
            live.deliver_from(newest.head)
            live.legal = {}
            self._note_legal(live, newest.room)
        elif live.delivered != newest.head:
            self.catch_up(live)

    # Snapshots and history.

    def snapshot(
        self, live: LiveRoom, player: str, newest: Newest, reason: room_pb2.SnapshotReason.ValueType
    ) -> room_pb2.Snapshot:
        """The room as this player may know it."""
        seat = None if live.behind else newest.room.seat_of(player)
        view = room_view(newest.room, in_play(newest.room, seat))
        message = room_message(
            view,
            newest.clock,
            connected=frozenset(live.connected | live.seats_here(newest.room)),
            spectators=live.spectators,
            invite_code=self._invite(newest.room) if seat is not None else "",
            created_ms=live.created_ms,
        )
        return snapshot_message(message, resume_token(live.id, *newest.head), reason)

    def bookmark(self, live: LiveRoom, version: int, clock: Clock, delivered: Head) -> bytes:
        """A sign of life, with the version and clock of the store, to resume after what was delivered."""
        token = resume_token(live.id, *delivered)
        return encoded_bookmark(version, clock, token, live.connected, live.spectators)

    def _send_snapshot(
        self, live: LiveRoom, viewer: Viewer, newest: Newest, reason: room_pb2.SnapshotReason.ValueType
    ) -> None:
        viewer.outlet.put(encoded_snapshot(self.snapshot(live, viewer.player, newest, reason)), newest.head)

    async def _missed(
        self, newest: Newest, point: ResumePoint | None
    ) -> tuple[list[LogEntry] | None, room_pb2.SnapshotReason.ValueType]:
        """What came after that point, or why there has to be a snapshot."""
        if point is None:
            return None, room_pb2.SNAPSHOT_REASON_ASKED
        if tuple(point) == tuple(newest.head):
            return [], room_pb2.SNAPSHOT_REASON_UNSPECIFIED
        if point.version > newest.head.version:
            return None, room_pb2.SNAPSHOT_REASON_HISTORY_CHANGED
        room_id = RoomId(newest.room.id)
        mark = await self._store.mark_at(room_id, point.version)
        if mark is None or in_an_earlier_match(newest.room, point.version):
            return None, room_pb2.SNAPSHOT_REASON_HISTORY_TRIMMED
        if mark != point.mark:
            return None, room_pb2.SNAPSHOT_REASON_HISTORY_CHANGED
        entries = await self._log(room_id, point.version, newest.head.version)
        return entries, room_pb2.SNAPSHOT_REASON_UNSPECIFIED

    async def _log(self, room_id: RoomId, after: int, to: int) -> list[LogEntry]:
        entries: list[LogEntry] = []
        while after < to:
            page = await self._store.log(room_id, after, LOG_PAGE)
            if not page:
                break
            entries += page
            after = page[-1].version
        return [entry for entry in entries if entry.version <= to]

    def _send_missed(self, viewer: Viewer, newest: Newest, entries: list[LogEntry]) -> None:
        """The missed versions, each as the player's seat at that version may know it."""
        versions = [from_log(entry) for entry in entries]
        seat = newest.room.seat_of(viewer.player)
        seats = []
        for version in reversed(versions):
            seats.append(seat)
            seat = seat_before(version.events, viewer.player, seat)
        for version, seat_then in zip(versions, reversed(seats), strict=True):
            last = version.head == newest.head
            on_the_wire = encoded(newest.room, version)
            events = view_events(newest.room, version.events, in_play(newest.room, seat_then))
            legal = None
            if seat_then is not None and (last or version is versions[0]):  # what held before does not any more
                legal = legal_of(newest.room, seat_then) if last else legal_bytes(*_NOTHING)
            viewer.outlet.put(on_the_wire.message(events, legal), version.head)

    # Versions come.

    def committed(
        self,
        live: LiveRoom,
        made: Newest,
        mark_before: bytes,
        actor: Actor,
        action: RoomAction,
        events: Sequence[RoomEvent],
    ) -> None:
        """Our own commit, which made that state. The channel may have brought it already."""
        room, head, clock = made
        if not live.watched:
            live.deliver_from(live.newest.head)
        elif not live.knows(*head):
            self._arrived(live, Version(head, mark_before, clock.now, actor, action, events, clock, room))

    def _heard(self, message: Heard) -> None:
        live = self._find(message.room)
        if live is None or not live.watched:
            return
        match message:
            case Gap():
                self.catch_up(live)
            case Aside(content=content):
                self._tell_aside(live, decode_aside(content))
            case Published():
                self._heard_version(live, message)

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
            case PresenceChanged():
                self.presence_changed(live)
            case _:
                pass

    def _heard_version(self, live: LiveRoom, message: Published) -> None:
        entry = message.entry
        if entry.version <= live.delivered.version:
            if not live.knows(entry.version, entry.mark):
                self.catch_up(live)
            return
        version = as_made(live.committing, entry) or from_log(entry)._replace(room=decode(message.state))
        if entry.version > live.version and version.room is not None:
            live.newest = Newest(version.room, version.head, version.clock)
        self._arrived(live, version)

    def _arrived(self, live: LiveRoom, version: Version) -> None:
        if version.head.version == live.delivered.version + 1 and version.mark_before == live.delivered.mark:
            self.deliver(live, version)
        else:
            self.catch_up(live)

    def catch_up(self, live: LiveRoom) -> None:
        """Brings the viewers to the newest version from the log, in a task of its own."""
        if not live.watched:
            live.deliver_from(live.newest.head)
            return
        if live.id in self._catching:
            self._again.add(live.id)
            return
        task = asyncio.create_task(self._catch_up(live), name=f"catch up {live.id}")
        self._catching[live.id] = task
        task.add_done_callback(lambda _: self._caught_up(live))

    def _caught_up(self, live: LiveRoom) -> None:
        self._catching.pop(live.id, None)
        if live.id in self._again:
            self._again.discard(live.id)
            self.catch_up(live)

    async def _catch_up(self, live: LiveRoom) -> None:
        while live.watched:
            try:
                snapshot = await self._store.read(live.id)
                if snapshot is None:
                    return
                if await self._fill(live, snapshot):
                    return
            except StoreUnavailable:
                await asyncio.sleep(RETRY_SECONDS)
            except Exception:
                log.exception("catching up failed", room=live.id)
                await asyncio.sleep(RETRY_SECONDS)

    async def _fill(self, live: LiveRoom, snapshot: Snapshot) -> bool:
        """Delivers from the log up to the snapshot; false to try again."""
        if not await self.take(live, snapshot):
            return False
        delivered = live.delivered
        if delivered == snapshot.head:
            return True
        if delivered.version >= snapshot.head.version:
            # Either a version came by another way while we read, or Redis was rolled back: look at the mark.
            mark = await self._store.mark_at(live.id, delivered.version)
            if mark != live.delivered.mark and delivered == live.delivered:
                self.history_changed(live)
            return True
        entries = await self._log(live.id, delivered.version, snapshot.head.version)
        for entry in entries:
            if entry.version != live.delivered.version + 1:
                continue
            if entry.mark_before != live.delivered.mark:
                self.history_changed(live)
                return True
            version = from_log(entry)
            if version.head == live.newest.head:
                version = version._replace(room=live.newest.room)
            metrics.gaps_filled.inc()
            self.deliver(live, version)
        if live.delivered.version < snapshot.head.version:
            self.history_changed(live)  # the log no longer has what is missing
        return True

    async def take(self, live: LiveRoom, snapshot: Snapshot) -> bool:
        """Takes over the state that the store has, also an older one: then Redis was rolled back. False, and nothing is
        taken, where the store or this process moved on while that was made sure: read again."""
        before = live.newest.head
        if snapshot.head == before:
            return True
        older = snapshot.head.version <= before.version
        if older and (await self._store.head(live.id) != snapshot.head or live.newest.head != before):
            return False
        live.newest = Newest(decode(snapshot.state), snapshot.head, snapshot.clock)
        if older:
            self.history_changed(live)
        return True

    def history_changed(self, live: LiveRoom) -> None:
        """Tells every viewer that what it saw last is no longer the room's history."""
        log.warning("history changed", room=live.id, version=live.newest.head.version)
        newest, delivered = live.newest, live.delivered
        live.deliver_from(newest.head)
        live.legal = {}
        self._note_legal(live, newest.room)
        for viewer in live.following:
            has = viewer.since if viewer.since.version >= delivered.version else delivered
            if has != newest.head:
                self._send_snapshot(live, viewer, newest, room_pb2.SNAPSHOT_REASON_HISTORY_CHANGED)
                viewer.seat = newest.room.seat_of(viewer.player)
                viewer.since = newest.head
        live.wake()

    def deliver(self, live: LiveRoom, version: Version) -> None:
        """Puts one version, the next one, into every viewer's queue."""
        with traces().delivery(version.head.mark):
            self._put(live, version)

    def _put(self, live: LiveRoom, version: Version) -> None:
        live.delivered_is(version.head)
        on_the_wire = encoded(live.newest.room, version)
        changed = self._changed_legal(live, version.room)
        room = version.room or live.newest.room
        committed_at = None if live.behind else self._redis_time.on_loop(version.time)
        for viewer in live.viewers:
            if not live.behind:
                viewer.follow_seat(version.events)
            if viewer.since.version >= version.head.version:
                live.forget_legal(viewer)
                continue
            seat = in_play(room, viewer.seat)
            legal = None if seat is None else changed.get(seat)
            message = on_the_wire.message(view_events(room, version.events, seat), legal)
            viewer.outlet.put(message, version.head, committed_at)
            if not live.behind and is_behind(room, viewer.player):
                self.send_elsewhere(live, viewer, version.head)
        metrics.events_delivered.inc(len(live.viewers))
        if any(isinstance(event, RoomClosed) for event in version.events):
            self.end(live)
        live.wake()

    def send_elsewhere(self, live: LiveRoom, viewer: Viewer, reached: Head) -> None:
        """Ends a stream that has to go on as another one, of the room itself or of its past, after that version."""
        token = resume_token(live.id, *reached)
        viewer.outlet.end(last=encoded_go_away(token, room_pb2.GO_AWAY_REASON_STOPPING))

    def end(self, live: LiveRoom) -> None:
        """The room is over: every stream ends well after what waits in it."""
        for viewer in live.viewers:
            _send_home(live, viewer)

    def _changed_legal(self, live: LiveRoom, room: Room | None) -> dict[int, bytes]:
        """Of the seats that are watched here. A version that came from the log without its state is past: nothing can
        be done on it, and a client that went on from what it knew would only be late."""
        changed = {}
        for seat in {viewer.seat for viewer in live.viewers if viewer.seat is not None}:
            actions = _NOTHING if room is None else game_actions(room, in_play(room, seat))
            if live.legal.get(seat) != actions:
                live.legal[seat] = actions
                changed[seat] = legal_bytes(*actions)
        return changed

    def _note_legal(self, live: LiveRoom, room: Room) -> None:
        for viewer in live.viewers:
            seat = room.seat_of(viewer.player)
            if seat is not None:
                live.legal[seat] = game_actions(room, in_play(room, seat))

    async def wait_above(self, live: LiveRoom, version: int, seconds: float) -> None:
        """Returns once there is a version above this one, or after that time. Raises `StoreUnavailable`."""
        live.waiters += 1
        try:
            await self.listen(live)
            newest = await self._newest(live)
            if not live.viewers and live.waiters == 1:
                live.deliver_from(newest.head)
            async with asyncio.timeout(seconds):
                while max(live.version, live.delivered.version) <= version:
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


def _point_of(token: bytes, room_id: RoomId) -> ResumePoint:
    try:
        return read_resume_token(token, room_id)
    except Refusal:
        metrics.resumes.labels("unreadable").inc()
        raise


def _send_home(live: LiveRoom, viewer: Viewer) -> None:
    token = resume_token(live.id, *live.delivered)
    viewer.outlet.end(last=encoded_go_away(token, room_pb2.GO_AWAY_REASON_ROOM_CLOSED))


def _take_over(live: LiveRoom, opened: PlayOpened) -> None:
    """One `Play` a seat: those announced before end. All processes hear the announcements in one order, so of two
    opened at once exactly the later one stays."""
    for viewer in live.viewers:
        if viewer.stream == opened.stream:
            viewer.announced = True
        elif viewer.player == opened.player and viewer.announced:
            viewer.outlet.end(refusal("TAKEN_OVER"), drop=True)


_NOTHING: Final[tuple[tuple[Action, ...], tuple[Action, ...]]] = ((), ())
"""No legal and no penal actions."""
