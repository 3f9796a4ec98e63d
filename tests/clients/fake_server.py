"""A small server that speaks the contract over a real socket and misbehaves on demand."""

# ruff: noqa: N802 - methods are named as the contract names them
from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import grpc
from google.rpc import code_pb2, error_details_pb2, status_pb2
from grpc_status import rpc_status
from maumau.v1 import (
    actions_pb2,
    authority_pb2,
    authority_pb2_grpc,
    errors_pb2,
    identity_pb2,
    identity_pb2_grpc,
    matchmaking_pb2,
    matchmaking_pb2_grpc,
    room_pb2,
    rules_pb2,
)

from tests.clients.fake_room import FakeRoom, Refusal

Response = authority_pb2.PlayResponse
Context = grpc.aio.ServicerContext[Any, Any]


def status_of(reason: str, retry_after: float = 0.0, **metadata: str) -> status_pb2.Status:
    """The status that the catalogue has for a reason."""
    number = errors_pb2.ErrorReason.Value(f"ERROR_REASON_{reason}")
    described = (
        errors_pb2.ErrorReason.DESCRIPTOR.values_by_number[number].GetOptions().Extensions[errors_pb2.description]
    )
    status = status_pb2.Status(code=code_pb2.Code.Value(described.code), message=described.sentence)
    status.details.add().Pack(error_details_pb2.ErrorInfo(reason=reason, domain="maumau", metadata=metadata))
    if retry_after:
        info = error_details_pb2.RetryInfo()
        info.retry_delay.FromMilliseconds(int(retry_after * 1000))
        status.details.add().Pack(info)
    return status


@dataclass(eq=False)
class OpenStream:
    """A stream of one player: what it will be sent, and how it was opened."""

    player: str
    room: FakeRoom
    resume_token: bytes
    sent: int
    outbox: asyncio.Queue[Response | str] = field(default_factory=asyncio.Queue)
    renewals: list[str] = field(default_factory=list)

    def push_versions(self) -> None:
        while self.sent < self.room.version:
            self.sent += 1
            self.outbox.put_nowait(Response(update=self.room.update(self.sent, self.player)))


@dataclass
class SeenAct:
    """An action as it arrived, however often."""

    request_id: bytes
    version: int
    kind: str


class FakeServer:
    """Rooms, guests and streams. Attributes say what came in; methods say what goes wrong."""

    def __init__(self) -> None:
        self.rooms: dict[str, FakeRoom] = {}
        self.players: dict[str, str] = {}
        self.names: dict[str, str] = {}
        self.streams: list[OpenStream] = []
        self.opened: list[OpenStream] = []
        self.chats: list[str] = []
        self.acts: list[SeenAct] = []
        self.refreshes = 0
        self.fetches = 0
        self.token_seconds = 3600.0
        self.lose_answers = 0
        self.keep_answers = False
        self.refuse_acts: list[status_pb2.Status] = []
        self.refuse_kind = ""
        self.restart_at_act = 0
        self.restarts = 0
        self.refuse_streams: list[status_pb2.Status] = []
        self.refuse_sign_ins: list[status_pb2.Status] = []
        self.refuse_refreshes: list[status_pb2.Status] = []
        self.refuse_creates: list[status_pb2.Status] = []
        self.expired: set[str] = set()
        self.ticket = matchmaking_pb2.Ticket()
        self.party = matchmaking_pb2.Party(party_id="party-1", code="PARTY00001")
        self.polls = 0
        self.silent = False
        self.bots_play = False
        self.title = ""
        self._server: grpc.aio.Server | None = None
        self.port = 0

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    async def start(self) -> None:
        self._server = grpc.aio.server(options=[("grpc.so_reuseport", 0)])
        identity_pb2_grpc.add_IdentityServiceServicer_to_server(_Identity(self), self._server)
        matchmaking_pb2_grpc.add_MatchmakingServiceServicer_to_server(_Matchmaking(self), self._server)
        authority_pb2_grpc.add_GameAuthorityServiceServicer_to_server(_Authority(self), self._server)
        self.port = self._server.add_insecure_port(f"127.0.0.1:{self.port}")
        await self._server.start()

    async def stop(self) -> None:
        """Ends without a word to anybody."""
        if self._server is not None:
            await self._server.stop(None)
            self._server = None
        self.streams.clear()

    # What a test makes happen.

    def room(self, room_id: str = "room-1") -> FakeRoom:
        return self.rooms[room_id]

    def tell(self) -> None:
        """Lets bots play, where they do, and sends every stream the versions that it has not got yet."""
        for room in self.rooms.values() if self.bots_play else ():
            room.let_bots_play()
        for stream in self.streams:
            if not self.silent:
                stream.push_versions()

    def send(self, message: Response) -> None:
        """Sends a message as it is to every stream."""
        for stream in self.streams:
            stream.outbox.put_nowait(message)

    def cut_streams(self, how: str = "UNAVAILABLE") -> None:
        """Ends every stream with this status code, without details, as a proxy or a lost connection does."""
        for stream in self.streams:
            stream.outbox.put_nowait(how)
        self.streams.clear()

    def roll_back(self, room: FakeRoom, version: int) -> None:
        """The room loses what came after `version` and begins another history."""
        del room.log[version:]
        room.mark = b"else"

    # What the services share.

    def see(self, act: authority_pb2.ActRequest | authority_pb2.PlayRequest.Act) -> None:
        self.acts.append(SeenAct(act.request_id, act.version, act.action.WhichOneof("action") or ""))
        if len(self.acts) == self.restart_at_act:
            self._restarting = asyncio.create_task(self._restart())

    async def _restart(self) -> None:
        await self.stop()
        await self.start()
        self.restarts += 1

    def refuses(self, action: actions_pb2.Action) -> bool:
        """Whether a refusal waits for an action of this kind."""
        return bool(self.refuse_acts) and self.refuse_kind in ("", action.WhichOneof("action"))

    def sign_in(self, name: str) -> tuple[identity_pb2.Session, identity_pb2.Player]:
        player = f"player-{len(self.names) + 1}"
        self.names[player] = name or f"Guest {len(self.names) + 1}"
        return self.new_session(player), identity_pb2.Player(player_id=player, display_name=self.names[player])

    def new_session(self, player: str) -> identity_pb2.Session:
        token = f"token-{len(self.players) + 1}"
        self.players[token] = player
        session = identity_pb2.Session(player_id=player, token=token, refresh_token=f"refresh-{token}")
        session.expires.FromMilliseconds(int((time.time() + self.token_seconds) * 1000))
        return session

    async def caller(self, context: Context) -> str:
        metadata = dict(context.invocation_metadata() or ())
        token = str(metadata.get("authorization", "")).removeprefix("Bearer ")
        if token in self.expired:
            await abort(context, status_of("TOKEN_EXPIRED"))
        if token not in self.players:
            await abort(context, status_of("NOT_SIGNED_IN"))
        return self.players[token]

    async def find(self, room_id: str, context: Context) -> FakeRoom:
        if room_id not in self.rooms:
            await abort(context, status_of("ROOM_NOT_FOUND"))
        return self.rooms[room_id]


async def abort(context: Context, status: status_pb2.Status) -> None:
    await context.abort_with_status(rpc_status.to_status(status))


async def unoffered(context: Context) -> None:
    await abort(context, status_of("NOT_AVAILABLE_YET"))


class _Identity(identity_pb2_grpc.IdentityServiceServicer):
    def __init__(self, fake: FakeServer) -> None:
        self._fake = fake

    async def SignInAsGuest(
        self, request: identity_pb2.SignInAsGuestRequest, context: Context
    ) -> identity_pb2.SignInAsGuestResponse:
        if self._fake.refuse_sign_ins:
            await abort(context, self._fake.refuse_sign_ins.pop(0))
        session, player = self._fake.sign_in(request.display_name)
        return identity_pb2.SignInAsGuestResponse(session=session, player=player)

    async def RefreshSession(
        self, request: identity_pb2.RefreshSessionRequest, context: Context
    ) -> identity_pb2.RefreshSessionResponse:
        if self._fake.refuse_refreshes:
            await abort(context, self._fake.refuse_refreshes.pop(0))
        token = request.refresh_token.removeprefix("refresh-")
        if token not in self._fake.players:
            await abort(context, status_of("BAD_REFRESH_TOKEN"))
        self._fake.refreshes += 1
        return identity_pb2.RefreshSessionResponse(session=self._fake.new_session(self._fake.players[token]))

    async def GetPlayer(
        self, request: identity_pb2.GetPlayerRequest, context: Context
    ) -> identity_pb2.GetPlayerResponse:
        player = request.player_id or await self._fake.caller(context)
        return identity_pb2.GetPlayerResponse(
            player=identity_pb2.Player(player_id=player, display_name=self._fake.names[player], guest=True)
        )

    async def SetDisplayName(
        self, request: identity_pb2.SetDisplayNameRequest, context: Context
    ) -> identity_pb2.SetDisplayNameResponse:
        player = await self._fake.caller(context)
        self._fake.names[player] = request.display_name
        return identity_pb2.SetDisplayNameResponse(
            player=identity_pb2.Player(player_id=player, display_name=request.display_name)
        )

    async def SignOut(self, request: identity_pb2.SignOutRequest, context: Context) -> identity_pb2.SignOutResponse:
        await unoffered(context)
        raise AssertionError


class _Matchmaking(matchmaking_pb2_grpc.MatchmakingServiceServicer):
    def __init__(self, fake: FakeServer) -> None:
        self._fake = fake
        self._made: dict[bytes, str] = {}

    async def GetServerInfo(
        self, request: matchmaking_pb2.GetServerInfoRequest, context: Context
    ) -> matchmaking_pb2.GetServerInfoResponse:
        return matchmaking_pb2.GetServerInfoResponse(version="0.1.0", api_revision=1, presets=["mau-mau-32"])

    async def ListRulesets(
        self, request: matchmaking_pb2.ListRulesetsRequest, context: Context
    ) -> matchmaking_pb2.ListRulesetsResponse:
        described = rules_pb2.OptionDescription(
            key="seven.stack",
            sentence="Whether a seven may be answered with a seven.",
            preset_value=rules_pb2.OptionValue(choice="optional"),
        )
        preset = rules_pb2.Preset(
            ruleset=rules_pb2.Ruleset(preset="mau-mau-32", game="mau-mau-32", min_seats=2, max_seats=4),
            title="Mau-Mau with 32 cards",
            options=[described],
        )
        return matchmaking_pb2.ListRulesetsResponse(presets=[preset])

    async def CreateRoom(
        self, request: matchmaking_pb2.CreateRoomRequest, context: Context
    ) -> matchmaking_pb2.CreateRoomResponse:
        player = await self._fake.caller(context)
        if request.request_id not in self._made:
            room_id = f"room-{len(self._fake.rooms) + 1}"
            room = FakeRoom(room_id, request.settings.seats or 4, player)
            self._fake.rooms[room_id] = room
            self._made[request.request_id] = room_id
            room.join(player, self._fake.names[player])
        if self._fake.refuse_creates:
            await abort(context, self._fake.refuse_creates.pop(0))
        return matchmaking_pb2.CreateRoomResponse(room_id=self._made[request.request_id], invite_code="0123456789")

    async def JoinRoom(
        self, request: matchmaking_pb2.JoinRoomRequest, context: Context
    ) -> matchmaking_pb2.JoinRoomResponse:
        player = await self._fake.caller(context)
        room = await self._fake.find(request.room_id, context)
        try:
            seat = room.join(player, self._fake.names[player])
        except Refusal as refusal:
            await abort(context, status_of(refusal.reason, 0.0, **refusal.metadata))
        self._fake.tell()
        return matchmaking_pb2.JoinRoomResponse(room_id=room.id, seat=seat)

    async def ListRooms(
        self, request: matchmaking_pb2.ListRoomsRequest, context: Context
    ) -> matchmaking_pb2.ListRoomsResponse:
        title = self._fake.title
        rooms = [room_pb2.RoomSummary(room_id=room_id, title=title) for room_id in sorted(self._fake.rooms)]
        begin = int(request.page_token or 0)
        token = str(begin + 2) if begin + 2 < len(rooms) else ""
        return matchmaking_pb2.ListRoomsResponse(rooms=rooms[begin : begin + 2], next_page_token=token)

    async def CreateTicket(
        self, request: matchmaking_pb2.CreateTicketRequest, context: Context
    ) -> matchmaking_pb2.CreateTicketResponse:
        self._fake.ticket.CopyFrom(
            matchmaking_pb2.Ticket(
                ticket_id="ticket-1", state=matchmaking_pb2.TICKET_STATE_WAITING, request=request.request
            )
        )
        return matchmaking_pb2.CreateTicketResponse(ticket=self._fake.ticket)

    async def GetTicket(
        self, request: matchmaking_pb2.GetTicketRequest, context: Context
    ) -> matchmaking_pb2.GetTicketResponse:
        await self._fake.caller(context)
        self._fake.polls += 1
        while self._fake.ticket.state == request.known_state:  # noqa: ASYNC110 - tests set the state as it is
            await asyncio.sleep(0.01)
        return matchmaking_pb2.GetTicketResponse(ticket=self._fake.ticket)

    async def CancelTicket(
        self, request: matchmaking_pb2.CancelTicketRequest, context: Context
    ) -> matchmaking_pb2.CancelTicketResponse:
        self._fake.ticket.state = matchmaking_pb2.TICKET_STATE_CANCELLED
        return matchmaking_pb2.CancelTicketResponse(ticket=self._fake.ticket)

    async def CreateParty(
        self, request: matchmaking_pb2.CreatePartyRequest, context: Context
    ) -> matchmaking_pb2.CreatePartyResponse:
        self._fake.party.player_ids.append(await self._fake.caller(context))
        return matchmaking_pb2.CreatePartyResponse(party=self._fake.party)

    async def JoinParty(
        self, request: matchmaking_pb2.JoinPartyRequest, context: Context
    ) -> matchmaking_pb2.JoinPartyResponse:
        self._fake.party.player_ids.append(await self._fake.caller(context))
        return matchmaking_pb2.JoinPartyResponse(party=self._fake.party)

    async def GetParty(
        self, request: matchmaking_pb2.GetPartyRequest, context: Context
    ) -> matchmaking_pb2.GetPartyResponse:
        return matchmaking_pb2.GetPartyResponse(party=self._fake.party)

    async def ListQueues(
        self, request: matchmaking_pb2.ListQueuesRequest, context: Context
    ) -> matchmaking_pb2.ListQueuesResponse:
        await unoffered(context)
        raise AssertionError

    async def LeaveParty(
        self, request: matchmaking_pb2.LeavePartyRequest, context: Context
    ) -> matchmaking_pb2.LeavePartyResponse:
        await unoffered(context)
        raise AssertionError

    async def BlockPlayer(
        self, request: matchmaking_pb2.BlockPlayerRequest, context: Context
    ) -> matchmaking_pb2.BlockPlayerResponse:
        await unoffered(context)
        raise AssertionError

    async def UnblockPlayer(
        self, request: matchmaking_pb2.UnblockPlayerRequest, context: Context
    ) -> matchmaking_pb2.UnblockPlayerResponse:
        await unoffered(context)
        raise AssertionError

    async def ListBlockedPlayers(
        self, request: matchmaking_pb2.ListBlockedPlayersRequest, context: Context
    ) -> matchmaking_pb2.ListBlockedPlayersResponse:
        await unoffered(context)
        raise AssertionError

    async def WatchTicket(
        self, request: matchmaking_pb2.WatchTicketRequest, context: Context
    ) -> AsyncIterator[matchmaking_pb2.WatchTicketResponse]:
        await unoffered(context)
        yield matchmaking_pb2.WatchTicketResponse()


class _Authority(authority_pb2_grpc.GameAuthorityServiceServicer):
    def __init__(self, fake: FakeServer) -> None:
        self._fake = fake

    async def GetRoom(self, request: authority_pb2.GetRoomRequest, context: Context) -> authority_pb2.GetRoomResponse:
        player = await self._fake.caller(context)
        room = await self._fake.find(request.room_id, context)
        self._fake.fetches += 1
        return authority_pb2.GetRoomResponse(snapshot=room.snapshot(player))

    async def ListMyRooms(
        self, request: authority_pb2.ListMyRoomsRequest, context: Context
    ) -> authority_pb2.ListMyRoomsResponse:
        player = await self._fake.caller(context)
        rooms = [
            room_pb2.RoomSummary(
                room_id=room.id, state=room.state, seats=room.seats, people=len(room.taken), ruleset_label="mau-mau-32"
            )
            for room in self._fake.rooms.values()
            if room.seat_of(player) is not None
        ]
        return authority_pb2.ListMyRoomsResponse(rooms=rooms)

    async def SendChat(
        self, request: authority_pb2.SendChatRequest, context: Context
    ) -> authority_pb2.SendChatResponse:
        self._fake.chats.append(request.text)
        return authority_pb2.SendChatResponse()

    async def ReportPlayer(
        self, request: authority_pb2.ReportPlayerRequest, context: Context
    ) -> authority_pb2.ReportPlayerResponse:
        await unoffered(context)
        raise AssertionError

    async def GetReplay(
        self, request: authority_pb2.GetReplayRequest, context: Context
    ) -> authority_pb2.GetReplayResponse:
        await unoffered(context)
        raise AssertionError

    async def Act(self, request: authority_pb2.ActRequest, context: Context) -> authority_pb2.ActResponse:
        player = await self._fake.caller(context)
        room = await self._fake.find(request.room_id, context)
        self._fake.see(request)
        if self._fake.refuses(request.action):
            await abort(context, self._fake.refuse_acts.pop(0))
        try:
            version = room.act(player, request.request_id, request.action)
        except Refusal as refusal:
            await abort(context, status_of(refusal.reason, 0.0, **refusal.metadata))
        self._fake.tell()
        if self._fake.lose_answers:
            self._fake.lose_answers -= 1
            await context.abort(grpc.StatusCode.UNAVAILABLE, "connection reset")
        return authority_pb2.ActResponse(version=version, room=room.view(player))

    async def Watch(
        self, request: authority_pb2.WatchRequest, context: Context
    ) -> AsyncIterator[authority_pb2.WatchResponse]:
        stream = await self._open(request, context)
        async for message in self._drain(stream, context):
            yield authority_pb2.WatchResponse.FromString(message.SerializeToString())

    async def Play(
        self, requests: AsyncIterator[authority_pb2.PlayRequest], context: Context
    ) -> AsyncIterator[Response]:
        first = await anext(aiter(requests))
        stream = await self._open(first.open, context)
        reader = asyncio.create_task(self._read(requests, stream))
        try:
            async for message in self._drain(stream, context):
                yield message
        finally:
            reader.cancel()

    async def _open(
        self, request: authority_pb2.WatchRequest | authority_pb2.PlayRequest.Open, context: Context
    ) -> OpenStream:
        player = await self._fake.caller(context)
        room = await self._fake.find(request.room_id, context)
        if self._fake.refuse_streams:
            await abort(context, self._fake.refuse_streams.pop(0))
        version, _, mark = request.resume_token.partition(b":")
        stream = OpenStream(player, room, request.resume_token, room.version)
        if not request.resume_token:
            stream.outbox.put_nowait(Response(snapshot=room.snapshot(player)))
        elif mark != room.mark.hex().encode():
            changed = room.snapshot(player, room_pb2.SNAPSHOT_REASON_HISTORY_CHANGED)
            stream.outbox.put_nowait(Response(snapshot=changed))
        else:
            stream.sent = int(version)
            stream.push_versions()
            token = room.token(room.version)
            stream.outbox.put_nowait(Response(bookmark=room_pb2.Bookmark(version=room.version, resume_token=token)))
        self._fake.streams.append(stream)
        self._fake.opened.append(stream)
        return stream

    async def _drain(self, stream: OpenStream, context: Context) -> AsyncIterator[Response]:
        try:
            while True:
                message = await stream.outbox.get()
                if isinstance(message, Response):
                    yield message
                elif message == "OK":
                    return
                elif message in grpc.StatusCode.__members__:
                    await context.abort(grpc.StatusCode[message], "cut")
                else:
                    await abort(context, status_of(message))
        finally:
            with contextlib.suppress(ValueError):
                self._fake.streams.remove(stream)

    async def _read(self, requests: AsyncIterator[authority_pb2.PlayRequest], stream: OpenStream) -> None:
        async for request in requests:
            if request.HasField("act"):
                self._act(stream, request.act)
            elif request.HasField("renewal"):
                stream.renewals.append(request.renewal.token)
        stream.outbox.put_nowait("OK")

    def _act(self, stream: OpenStream, act: authority_pb2.PlayRequest.Act) -> None:
        self._fake.see(act)
        answer = Response.Answer(request_id=act.request_id)
        if self._fake.refuses(act.action):
            self._put_refusal(answer, self._fake.refuse_acts.pop(0))
        else:
            try:
                answer.version = stream.room.act(stream.player, act.request_id, act.action)
            except Refusal as refusal:
                self._put_refusal(answer, status_of(refusal.reason, 0.0, **refusal.metadata))
        if self._fake.lose_answers:
            self._fake.lose_answers -= 1
            self._fake.cut_streams()
            return
        if self._fake.keep_answers:
            return
        self._fake.tell()
        stream.outbox.put_nowait(Response(answer=answer))

    @staticmethod
    def _put_refusal(answer: Response.Answer, status: status_pb2.Status) -> None:
        refusal = answer.refusal
        refusal.code, refusal.message = status.code, status.message
        for detail in status.details:
            if detail.Is(error_details_pb2.ErrorInfo.DESCRIPTOR):
                info = error_details_pb2.ErrorInfo.FromString(detail.value)
                refusal.reason = info.reason
                refusal.metadata.update(info.metadata)
            else:
                delay = error_details_pb2.RetryInfo.FromString(detail.value).retry_delay
                refusal.retry_after_milliseconds = delay.ToMilliseconds()
