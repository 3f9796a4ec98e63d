"""Rooms as this process serves them: load, judge, commit, and tell the viewers.

The way of an action: newest known state → `room.apply` (pure) → one commit → delivery. A refusal is only given once the
state that it was judged on is known to be the newest; a lost race is judged again on the newest state; a commit of
unknown outcome is sent again until its fate is known (the compare makes it take effect once).
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple

import msgspec

from services.game_authority.commits import Attempt, commit_of
from services.game_authority.delivery import Delivery
from services.game_authority.fan_out import end
from services.game_authority.live_room import LiveRoom, Made, Newest
from services.game_authority.redis_time import RedisTime
from services.game_authority.releases import Releases
from services.rules.reasons import IllegalAction
from services.rules.room.actions import Actor, CreateRoom, LeaveSeat, Player, Rematch, RotateInvite, TakeSeat
from services.rules.room.apply import apply
from services.rules.room.codec import UnknownReleaseError, decode
from services.rules.room.reasons import AlreadyDone, NotDue, RoomRefusal
from services.rules.room.settings import ServerTimes
from services.rules.room.state import Room
from services.rules.room.step import Context, RoomStep
from services.rules.ruleset import RulesetError
from services.runtime import metrics
from services.runtime.logs import log
from services.runtime.traces import traces
from services.store import records
from services.store.errors import StoreUnavailable
from services.store.hub import Hub
from services.store.keys import PlayerId, RoomId
from services.store.records import Commit, Committed, Conflict, Early, Missing, Snapshot, Uncredited
from services.store.rooms import RoomStore
from services.wire.errors import refusal

ATTEMPTS: Final = 50
"""How often an action is judged again because others were faster; more means that something is wrong."""

RESENDS: Final = 3
"""How often a commit of unknown outcome is sent again before the caller is told so."""

IDLE_SECONDS: Final = 60.0
"""How long a room without viewers stays cached."""

_REFUSALS: Final = (RoomRefusal, IllegalAction, RulesetError)


class NotYet(Exception):  # noqa: N818 - an answer to the clock, never to a client
    """The deadline has not passed; `left_ms` until it does."""

    def __init__(self, left_ms: int) -> None:
        super().__init__(f"{left_ms} ms left")
        self.left_ms = left_ms


class OutageFirst(Exception):  # noqa: N818 - an answer to the clock, never to a client
    """The room has to be credited with an outage before its clock may act."""


class Done(NamedTuple):
    """The version that an action made, or had made when it was attempted before."""

    version: int
    repeated: bool = False


class Rooms:
    """All rooms that this process has met. Methods raise Refusal of `services.wire` (ROOM_NOT_FOUND), the refusals of
    rooms, games and rulesets, and `StoreUnavailable`."""

    def __init__(
        self,
        store: RoomStore,
        hub: Hub,
        redis_time: RedisTime,
        invite: Callable[[Room], str],
        committed: Callable[[LiveRoom, RoomStep, Committed, Actor], None],
        absent: Callable[[LiveRoom], Awaitable[frozenset[int]]],
        index_invite: Callable[[Room], Awaitable[None]],
        times: ServerTimes,
        releases: Releases,
    ) -> None:
        """`invite` gives a room's present invite code; `committed` hears of every commit made here; `absent` says which
        seats of a room have nobody there; `index_invite`
        makes a room's present invite code known."""
        self._store = store
        self._absent = absent
        self._times = times
        self._releases = releases
        self._index_invite = index_invite
        self._committed = committed
        self._live: dict[RoomId, LiveRoom] = {}
        self._working: set[asyncio.Task[Done]] = set()
        self.delivery = self._delivery = Delivery(store, hub, redis_time, self._live.get, invite)
        self._catching_up = self._delivery.catching_up

    # Knowing rooms.

    async def live(self, room_id: RoomId) -> LiveRoom:
        """The room, from the cache or the store; its state may be old."""
        live = self._live.get(room_id)
        if live is None:
            live = self._remember(await self._read(room_id))
        await self.created_ms(live)
        live.used = time.monotonic()
        return live

    def cached(self, room_id: RoomId) -> LiveRoom | None:
        """The room if this process knows it."""
        return self._live.get(room_id)

    async def newest(self, room_id: RoomId) -> LiveRoom:
        """The room with a state that was the newest when this was called."""
        live = await self.live(room_id)
        await self.refresh(live)
        return live

    async def refresh(self, live: LiveRoom) -> bool:
        """Makes sure that the state cached when this is called is the newest; true if it was not, and now another is.
        One small read where nothing changed."""
        cached = live.newest.head  # the channel may bring a newer one meanwhile: whoever judged on this must know
        seen = await self._store.glance(live.id)
        if live.take_clock(seen) and seen is not None and seen[0] == cached:
            return False
        head = None if seen is None else seen[0]
        while head != live.newest.head and not await self._catching_up.take(live, await self._read(live.id)):
            pass
        self._catching_up.catch_up(live)
        return True

    async def _read(self, room_id: RoomId) -> Snapshot:
        snapshot = await self._store.read(room_id)
        if snapshot is None:
            self._is_gone(room_id)
            raise refusal("ROOM_NOT_FOUND")
        return snapshot

    def _is_gone(self, room_id: RoomId) -> None:
        """The store does not have the room any more: nothing would ever come on the streams that follow it here."""
        live = self._live.pop(room_id, None)
        if live is not None:
            end(live)

    def _remember(self, snapshot: Snapshot) -> LiveRoom:
        known = self._live.get(snapshot.room)
        if known is not None:
            return known
        newest = Newest(_understood(snapshot), snapshot.head, snapshot.clock)
        live = self._live[snapshot.room] = LiveRoom(snapshot.room, newest, time.monotonic())
        return live

    def dismiss(self) -> None:
        """Whoever waits for a version waits no longer: the process is about to stop."""
        self.delivery.dismissals += 1
        for live in self._live.values():
            live.wake()

    def forget_idle(self) -> None:
        """Drops rooms that nobody has watched or used for a while."""
        oldest = time.monotonic() - IDLE_SECONDS
        for live in [live for live in self._live.values() if live.used < oldest]:
            if not live.viewers and not live.lock.locked():
                del self._live[live.id]

    async def created_ms(self, live: LiveRoom) -> int:
        """When the room was made, by Redis time; 0 if nobody knows any more."""
        if not live.created_ms:
            live.created_ms = await self._store.created_ms(live.id)
        return live.created_ms

    # Acting.

    async def create(self, action: CreateRoom, actor: Actor, request_id: bytes | None = None) -> LiveRoom:
        """Makes the room; where the id is known already, the room that there is."""
        room_id = RoomId(action.room_id)
        attempt = Attempt(actor, action, request_id)
        schema, revision = await self._releases.for_a_new_room()
        made = msgspec.structs.replace(self._context(attempt), schema=schema, revision=revision)
        step = apply(None, actor, action, made)
        for person in action.people:
            await self._store.add_player_room(PlayerId(person.player), room_id)
        commit = commit_of(room_id, None, step, attempt, round(time.time() * 1000))
        result = await self._send(commit)
        if isinstance(result, Conflict):
            return self._remember(result.newest)
        assert isinstance(result, Committed)
        live = self._remember(Snapshot(room_id, result.head, commit.state, result.clock))
        self._committed(live, step, result, actor)
        return live

    async def attempt(self, room_id: RoomId, attempt: Attempt) -> Done:
        """Carries out one action. Its events are with the viewers of this process when this returns. Raises also
        `NotDue`, `NotYet`, `OutageFirst` for the clock's attempts."""
        if isinstance(attempt.action, TakeSeat) and isinstance(attempt.actor, Player):
            await self.live(room_id)  # a room that there is
            await self._store.add_player_room(PlayerId(attempt.actor.id), room_id)
        for _ in range(ATTEMPTS):
            live = await self.live(room_id)
            absent = await self._absent(live) if attempt.absent is None else attempt.absent
            async with live.lock:
                done = await self._try(live, attempt, absent)
            if done is not None:
                await self._delivery.reached(live, done.version)
                return done
        raise RuntimeError(f"an action lost {ATTEMPTS} races in one room")

    async def carry_out(self, room_id: RoomId, attempt: Attempt) -> Done:
        """`attempt`, to its end even if the caller is cancelled: a client that hangs up takes nothing back, and what
        it did still gets its timer, its result and its place in the lists."""
        work = asyncio.create_task(self.attempt(room_id, attempt))
        self._working.add(work)
        work.add_done_callback(self._worked)
        return await asyncio.shield(work)

    def _worked(self, work: asyncio.Task[Done]) -> None:
        self._working.discard(work)
        if not work.cancelled():
            work.exception()  # its caller may be gone: that nobody asks is no fault

    async def _try(self, live: LiveRoom, attempt: Attempt, absent: frozenset[int]) -> Done | None:
        """One judgement and commit; None: judge again, the state was old."""
        if attempt.version is not None and attempt.version > live.version and await self.refresh(live):
            return None
        try:
            step = apply(live.newest.room, attempt.actor, attempt.action, self._context(attempt, absent))
        except AlreadyDone as done:
            return None if await self.refresh(live) else Done(done.version, repeated=True)
        except (*_REFUSALS, NotDue):
            if await self.refresh(live):
                return None
            raise
        after = live.newest.head  # the channel may bring newer versions before the commit is answered
        created_ms = await self.created_ms(live) if step.relist else 0
        if isinstance(attempt.action, RotateInvite):
            await self._index_invite(step.room)  # before the room has it, so that no answered code is ever unknown
        commit = commit_of(live.id, after, step, attempt, created_ms)
        made = Made(commit.mark, attempt.actor, attempt.action, step.events, step.room, attempt.asked)
        live.committing = made
        try:
            result = await self._send(commit, live)
            if isinstance(result, Committed):
                if live.newest.head == after:
                    live.newest = Newest(step.room, result.head, result.clock)
                self._delivery.committed(live, made, result.head, after.mark, result.clock)
        finally:
            live.committing = None
            self._delivery.take_echo(live)
        return await self._settle(live, after, step, attempt, result)

    async def _settle(
        self, live: LiveRoom, after: records.Head, step: RoomStep, attempt: Attempt, result: records.CommitResult
    ) -> Done | None:
        match result:
            case Committed():
                self._committed(live, step, result, attempt.actor)
                if isinstance(attempt.action, LeaveSeat) and isinstance(attempt.actor, Player):
                    with contextlib.suppress(StoreUnavailable):  # it is left all the same; lists look at the room
                        await self._store.remove_player_room(PlayerId(attempt.actor.id), live.id)
                return Done(result.head.version)
            case Conflict(newest):
                if newest.head == after:
                    raise NotDue  # nobody was faster: the deadline is of another kind by now
                metrics.commit_conflicts.inc()
                await self._catching_up.take(live, newest)
                self._catching_up.catch_up(live)
                return None
            case Early(left_ms):
                raise NotYet(left_ms)
            case Uncredited():
                raise OutageFirst
            case Missing():
                self._is_gone(live.id)
                raise refusal("ROOM_NOT_FOUND")

    async def _send(self, commit: Commit, live: LiveRoom | None = None) -> records.CommitResult:
        """Sends a commit until its outcome is known, a few times at most. `live` is told what came back of it by the
        channel as soon as an answer is missing."""
        began = time.perf_counter()
        unknown = False
        for resend in range(RESENDS + 1):
            try:
                with traces().commit(commit.mark):
                    result = await self._store.commit(commit)
            except StoreUnavailable as error:
                if live is not None:
                    self._delivery.take_echo(live)
                unknown = unknown or error.maybe_applied
                if resend == RESENDS or not unknown:
                    raise refusal("OUTCOME_UNKNOWN" if unknown else "STORE_UNAVAILABLE", retry_after=1) from error
                continue
            metrics.commit_seconds.observe(time.perf_counter() - began)
            if unknown and isinstance(result, Conflict) and result.newest.head.mark == commit.mark:
                return Committed(result.newest.head, result.newest.clock)
            return result
        raise AssertionError("the last resend returns or raises")

    def _context(self, attempt: Attempt, absent: frozenset[int] = frozenset()) -> Context:
        prepares = isinstance(attempt.action, (CreateRoom, Rematch))
        return Context(
            request_id=attempt.request_id,
            version=attempt.version,
            match_id=f"m_{secrets.token_hex(12)}" if prepares else "",
            seed=secrets.token_bytes(32) if prepares else b"",
            absent=absent,
            times=self._times,
        )


def _understood(snapshot: Snapshot) -> Room:
    """The room of a snapshot. Raises Refusal (ROOM_NOT_UNDERSTOOD) for one of a newer release: nobody here may touch
    it, and nothing is remembered of it."""
    try:
        return decode(snapshot.state)
    except UnknownReleaseError as error:
        log.warning("a room of a newer release", room=snapshot.room, found=str(error))
        raise refusal("ROOM_NOT_UNDERSTOOD") from error
