"""`maumau.v1.GameAuthorityService`: check, call, answer."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final, NamedTuple

from maumau.v1 import authority_pb2 as pb
from maumau.v1 import room_pb2

from services.game_authority.asides import Chat, encode_aside
from services.game_authority.commits import Attempt
from services.game_authority.conduct import Conduct
from services.game_authority.history import point_of
from services.game_authority.live_room import Asked, LiveRoom
from services.game_authority.presence import POLL_SECONDS, Presence
from services.game_authority.reading import Readers
from services.game_authority.replays import Replays
from services.game_authority.rooms import Done, Rooms
from services.game_authority.streams import Stream, Streams, admit
from services.game_authority.versions import is_behind, may_watch
from services.rules import engine
from services.rules.actions import Speak
from services.rules.reasons import IllegalAction
from services.rules.room import actions as room_actions
from services.rules.room.actions import LeaveSeat, Mute, Player, RotateInvite, TakeBack, TakeSeat
from services.rules.room.reasons import RoomReason, RoomRefusal
from services.rules.room.state import Room, RoomPhase
from services.rules.ruleset import RulesetError
from services.runtime import metrics
from services.runtime.auth import caller
from services.runtime.calls import Context
from services.runtime.logs import bind
from services.runtime.paging import PageTokens, page_size
from services.runtime.tokens import Session
from services.store.assembly import Store
from services.store.errors import StoreUnavailable
from services.store.keys import PlayerId, RoomId
from services.wire import validate
from services.wire.actions import read_action
from services.wire.errors import Refusal, invalid_field, refusal, refusal_of
from services.wire.summaries import summary_message

LONGEST_WAIT_MS: Final = 25_000
DEFAULT_WAIT_MS: Final = 20_000
DEFAULT_REPLAY_PAGE: Final = 200
LARGEST_REPLAY_PAGE: Final = 500
ANSWER_SECONDS: Final = 0.5
"""What a long poll leaves of the caller's deadline for its answer."""


CarryOut = Callable[[RoomId, Attempt], Awaitable[Done]]

_ACCEPTED: Final = metrics.actions.labels("accepted", "none")
_REPEATED: Final = metrics.actions.labels("repeated", "none")


_BESIDE_THE_GAME: Final = (TakeSeat, LeaveSeat, TakeBack, RotateInvite, Mute)
"""Allowed at any time, and each a version: at the pace of the game one person could make so many that the match ends by
its limit of versions."""


class _Place(NamedTuple):
    room_id: str


_PAGES: Final = PageTokens("my rooms", _Place)


class GameAuthorityService:
    """Public RPCs; every method raises what `services.wire.errors` turns into a status."""

    def __init__(
        self,
        store: Store,
        rooms: Rooms,
        streams: Streams,
        presence: Presence,
        replays: Replays,
        conduct: Conduct,
        authenticate: Callable[[str], Awaitable[Session]],
        charge_act: Callable[[], Awaitable[None]],
        charge_create: Callable[[], Awaitable[None]],
        name_of: Callable[[Session], Awaitable[str]],
    ) -> None:
        """`authenticate` says whom a token in a stream names; `charge_act` is awaited before each message on one, and
        `charge_create` before an action that is none of the game. All refuse by raising. `name_of` is how a player
        wants to be called now; the name in a token may be older, or another one for good."""
        self._presence = presence
        self._conduct = conduct
        self._store = store
        self._rooms = rooms
        self._streams = streams
        self._replays = replays
        self._charge_create = charge_create
        self._name_of = name_of
        self._readers = Readers(self._act_on_stream, authenticate, charge_act)

    async def Act(self, request: pb.ActRequest, context: Context) -> pb.ActResponse:  # noqa: N802
        player = caller()
        room_id = _room_id(request.room_id)
        with metrics.action_seconds.time():
            version = await self._act(room_id, player, request, self._carry_out_without_stream)
        live = await self._rooms.live(room_id)
        if is_behind(live.newest.room, player.player_id):
            return pb.ActResponse(version=version)
        with contextlib.suppress(StoreUnavailable):  # what was accepted is not answered as if nothing had been
            await self._presence.look(live)
        return pb.ActResponse(version=version, room=self._snapshot(live, player).room)

    async def Watch(self, request: pb.WatchRequest, context: Context) -> AsyncIterator[bytes]:  # noqa: N802
        room_id = _room_id(request.room_id)
        point_of(request.resume_token, room_id)  # a bad one says the same of a hidden room and of none
        stream = await self._streams.open(room_id, caller(), request.resume_token, plays=False)
        try:
            async for message in stream.viewer.outlet:
                yield message
        finally:
            self._streams.close(stream)

    async def Play(self, requests: AsyncIterator[pb.PlayRequest], context: Context) -> AsyncIterator[bytes]:  # noqa: N802
        first = await self._streams.first_of(requests)
        if first is None or first.WhichOneof("message") != "open":
            raise refusal("OPEN_FIRST")
        room_id = _room_id(first.open.room_id)
        point_of(first.open.resume_token, room_id)
        stream = await self._streams.open(room_id, caller(), first.open.resume_token, plays=True)
        reading = self._readers.start(stream, requests)
        try:
            async for message in stream.viewer.outlet:
                yield message
        finally:
            self._streams.close(stream)
            await reading.stop()

    async def GetRoom(self, request: pb.GetRoomRequest, context: Context) -> pb.GetRoomResponse:  # noqa: N802
        player = caller()
        wait_ms = _wait_ms(request, context.time_remaining())
        live = await self._rooms.newest(_room_id(request.room_id))
        admit(live.newest.room, player.player_id)
        await self._presence.polled(live.id, PlayerId(player.player_id))
        self._streams.asked(live, player.player_id)
        since = request.since_version if request.HasField("since_version") else None
        if since is not None and not is_behind(live.newest.room, player.player_id):
            await self._wait_for_news(live, player.player_id, since, wait_ms / 1000)
            admit(live.newest.room, player.player_id)
        if is_behind(live.newest.room, player.player_id):
            above = -1 if since is None else since
            live = await self._streams.pasts.wait_above(live.id, player.player_id, above, wait_ms / 1000)
        else:
            await self._presence.look(live)
        self._streams.refuse_revoked(player)
        rolled_back = since is not None and live.version < since and not live.behind
        reason = room_pb2.SNAPSHOT_REASON_HISTORY_CHANGED if rolled_back else room_pb2.SNAPSHOT_REASON_ASKED
        return pb.GetRoomResponse(snapshot=self._snapshot(live, player, reason))

    async def ListMyRooms(  # noqa: N802
        self, request: pb.ListMyRoomsRequest, context: Context
    ) -> pb.ListMyRoomsResponse:
        player = caller().player_id
        size, place = page_size(request.page_size), _PAGES.read(request.page_token)
        known = await self._store.rooms.player_rooms(PlayerId(player))
        lives = await asyncio.gather(*(self._mine(room_id, player) for room_id in known))
        mine = sorted((live for live in lives if live is not None), key=_by_age, reverse=True)
        start = 0 if place is None else next((n + 1 for n, live in enumerate(mine) if live.id == place.room_id), 0)
        page = mine[start : start + size]
        more = len(mine) > start + size
        return pb.ListMyRoomsResponse(
            rooms=[summary_message(live.newest.room, live.created_ms) for live in page],
            next_page_token=_PAGES.write(_Place(page[-1].id)) if more else "",
        )

    async def SendChat(self, request: pb.SendChatRequest, context: Context) -> pb.SendChatResponse:  # noqa: N802
        player, room_id = caller(), _room_id(request.room_id)
        text, request_id = validate.chat_text(request.text), validate.request_id(request.request_id)
        live = await self._rooms.newest(room_id)
        room = live.newest.room
        admit(room, player.player_id)
        seat = room.seat_of(player.player_id)
        taken = None if seat is None else room.seats[seat]
        if not room.settings.chat:
            raise refusal("CHAT_OFF")
        if taken is not None and taken.muted:
            raise refusal("MUTED")
        await self._conduct.refuse_muted(player.player_id)
        if seat is not None and silence_is_kept(room, seat):
            await self._rooms.carry_out(
                room_id, Attempt(Player(player.player_id), room_actions.Act(Speak()), request_id)
            )
            return pb.SendChatResponse()
        name = await self._name_of(player) if taken is None else taken.name
        chat = Chat(player.player_id, name, seat, text, round(time.time() * 1000), request_id)
        await self._store.rooms.say(room_id, encode_aside(chat))
        return pb.SendChatResponse()

    async def ReportPlayer(self, request: pb.ReportPlayerRequest, context: Context) -> pb.ReportPlayerResponse:  # noqa: N802
        return pb.ReportPlayerResponse(report_id=await self._conduct.report(request, caller()))

    async def GetReplay(self, request: pb.GetReplayRequest, context: Context) -> pb.GetReplayResponse:  # noqa: N802
        size = page_size(request.page_size, default=DEFAULT_REPLAY_PAGE, most=LARGEST_REPLAY_PAGE)
        return await self._replays.page(_room_id(request.room_id), request, caller().player_id, size)

    # What several methods share.

    def _snapshot(
        self,
        live: LiveRoom,
        player: Session,
        reason: room_pb2.SnapshotReason.ValueType = room_pb2.SNAPSHOT_REASON_ASKED,
    ) -> room_pb2.Snapshot:
        return self._rooms.delivery.history.snapshot(live, player.player_id, live.newest, reason)

    async def _wait_for_news(self, live: LiveRoom, player: str, since: int, seconds: float) -> None:
        """Returns once the room is not at that version, after that time, or when the process is about to stop. Whoever
        waits is there all the while."""
        end, delivery = time.monotonic() + seconds, self._rooms.delivery
        dismissals = delivery.dismissals
        while live.version == since and (left := end - time.monotonic()) > 0 and delivery.dismissals == dismissals:
            await self._presence.polled(live.id, PlayerId(player))
            await delivery.wait_above(live, since, min(left, POLL_SECONDS))
            await self._rooms.refresh(live)

    async def _mine(self, room_id: RoomId, player: str) -> LiveRoom | None:
        """The room if the player has a seat in it; the index may name others."""
        live: LiveRoom | None
        try:
            live = await self._rooms.newest(room_id)
        except Refusal as refused:
            if refused.reason != "ROOM_NOT_FOUND":
                return None
            live = None
        if live is None or live.newest.room.seat_of(player) is None or live.newest.room.phase is RoomPhase.CLOSED:
            await self._store.rooms.remove_player_room(PlayerId(player), room_id)
            return None
        await self._rooms.created_ms(live)
        return live

    async def _carry_out_without_stream(self, room_id: RoomId, attempt: Attempt) -> Done:
        """Who has a seat and acts without a stream is there from then on. A stranger who only tries is not."""
        live = await self._rooms.live(room_id)
        await self._acts_there(live, attempt)
        done = await self._rooms.carry_out(room_id, attempt)
        await self._acts_there(live, attempt)
        return done

    async def _acts_there(self, live: LiveRoom, attempt: Attempt) -> None:
        assert isinstance(attempt.actor, Player)
        if live.newest.room.seat_of(attempt.actor.id) is not None:
            await self._presence.polled(live.id, PlayerId(attempt.actor.id))

    async def _act_on_stream(self, stream: Stream, request: pb.PlayRequest.Act, asked: Asked) -> int:
        return await self._act(stream.live.id, stream.session, request, self._rooms.attempt, asked)

    async def _act(
        self,
        room_id: RoomId,
        player: Session,
        request: pb.ActRequest | pb.PlayRequest.Act,
        carry_out: CarryOut,
        asked: Asked | None = None,
    ) -> int:
        try:
            sits_down = request.action.WhichOneof("action") == "take_seat"
            action = read_action(request.action, await self._name_of(player) if sits_down else "")
            if isinstance(action, _BESIDE_THE_GAME):
                await self._charge_create()
            attempt = Attempt(
                actor=Player(player.player_id),
                action=action,
                request_id=validate.request_id(request.request_id),
                version=_version(request.version),
                asked=asked,
            )
            done = await carry_out(room_id, attempt)
        except Exception as error:
            metrics.actions.labels("refused", _class_of(refusal_of(error))).inc()
            if self._tells_of_a_hidden_room(error, room_id, player.player_id):
                raise refusal("ROOM_NOT_FOUND") from None
            raise
        (_REPEATED if done.repeated else _ACCEPTED).inc()
        return done.version

    def _tells_of_a_hidden_room(self, error: Exception, room_id: RoomId, player: str) -> bool:
        """Whether a refusal would tell a stranger that this room exists. Who was banned knows that it does."""
        live = self._rooms.cached(room_id)
        judged = isinstance(error, (RoomRefusal, IllegalAction, RulesetError)) and error.reason is not RoomReason.BANNED
        return judged and live is not None and not may_watch(live.newest.room, player)


def _room_id(text: str) -> RoomId:
    room_id = RoomId(validate.room_id(text))
    bind(room=room_id)
    return room_id


def silence_is_kept(room: Room, seat: int) -> bool:
    """Whether the silence rule is in force, so that talking is an action of the game."""
    if room.phase is not RoomPhase.PLAYING or room.match is None:
        return False
    return Speak() in engine.legal_actions(room.match.state, seat) + engine.penal_actions(room.match.state, seat)


def _version(number: int) -> int:
    if number < 0:
        raise invalid_field("version", number, "0 or more")
    return number


def _wait_ms(request: pb.GetRoomRequest, seconds_left: float | None) -> float:
    """How long to wait: as asked, and so that the answer comes before the caller's deadline."""
    asked = request.wait_milliseconds if request.HasField("wait_milliseconds") else DEFAULT_WAIT_MS
    if not 0 <= asked <= LONGEST_WAIT_MS:
        raise invalid_field("wait_milliseconds", asked, f"0 to {LONGEST_WAIT_MS}")
    return asked if seconds_left is None else max(0.0, min(asked, (seconds_left - ANSWER_SECONDS) * 1000))


def _by_age(live: LiveRoom) -> tuple[int, str]:
    return live.created_ms, live.id


def _class_of(known: Refusal | None) -> str:
    if known is None:
        return "server"
    return {"ABORTED": "stale", "INVALID_ARGUMENT": "input", "FAILED_PRECONDITION": "rule"}.get(
        known.code.name, "server" if known.code.name in ("UNAVAILABLE", "INTERNAL") else "input"
    )
