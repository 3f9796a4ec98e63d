"""The connection to a server: who one is, which rooms there are, what came of matches."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import grpc

from maumau import replays
from maumau.address import find_place, place_of
from maumau.calls import Calls
from maumau.channel import Channels
from maumau.connection import Mode
from maumau.errors import Unavailable
from maumau.parties import Blocks, Parties
from maumau.replays import Replay
from maumau.room import Room
from maumau.rulesets import PlainValue, make_ruleset
from maumau.scoring import Scoring
from maumau.session import GivenToken, GuestSession, ProvidedTokens, Tokens, TokenSource
from maumau.session_file import SessionFile, default_path
from maumau.tickets import Told, find_match, follow_held, wish
from maumau.v1 import (
    authority_pb2,
    authority_pb2_grpc,
    identity_pb2,
    identity_pb2_grpc,
    matchmaking_pb2,
    matchmaking_pb2_grpc,
    room_pb2,
    rules_pb2,
    scoring_pb2_grpc,
    settings_pb2,
)

_FIRST_CALL_SECONDS: Final = 5.0
_PAGE: Final = 100
_IDENTITY: Final = "maumau.v1.IdentityService"


class Client:
    """One player's connection to a server; made by `connect`, used with `async with`. All methods raise MaumauError."""

    def __init__(self, address: str, channels: Channels, tokens: Tokens, mode: Mode) -> None:
        self.address = address
        self._channels = channels
        self._tokens = tokens
        self._mode: Mode = mode
        self._calls = Calls(tokens)
        self._identity = identity_pb2_grpc.IdentityServiceStub(channels.to(_IDENTITY))
        self._matchmaking = matchmaking_pb2_grpc.MatchmakingServiceStub(channels.to("maumau.v1.MatchmakingService"))
        self._authority = authority_pb2_grpc.GameAuthorityServiceStub(channels.to("maumau.v1.GameAuthorityService"))
        self._rooms: list[Room] = []
        self.parties = Parties(self._calls, self._matchmaking)
        self.blocks = Blocks(self._calls, self._matchmaking)
        self.scoring = Scoring(
            self._calls, scoring_pb2_grpc.ScoringServiceStub(channels.to("maumau.v1.ScoringService"))
        )

    async def open(self) -> Self:
        """Looks whether the server is there (raises Unavailable within seconds if not) and signs in."""
        try:
            await self.server_info(timeout=_FIRST_CALL_SECONDS)
        except Unavailable as error:
            raise Unavailable(f"no server answers at {self.address}", reason=error.reason) from error
        await self._tokens.token()
        return self

    async def close(self) -> None:
        """Closes the rooms that this client opened, then the connection."""
        await asyncio.gather(*(room.close() for room in self._rooms))
        self._calls.closed = True
        await self._channels.close()

    async def __aenter__(self) -> Self:
        try:
            return await self.open()
        except BaseException:
            await self.close()
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    # The server and the player.

    async def server_info(self, *, timeout: float = 20.0) -> matchmaking_pb2.GetServerInfoResponse:
        """Version, features, limits, time and presets. Needs no session."""
        request = matchmaking_pb2.GetServerInfoRequest()
        method = self._matchmaking.GetServerInfo
        return await self._calls.call(method, request, signed_in=False, repeatable=True, timeout=timeout)

    async def player(self, player_id: str = "") -> identity_pb2.Player:
        """A player, by default oneself."""
        request = identity_pb2.GetPlayerRequest(player_id=player_id)
        return (await self._calls.call(self._identity.GetPlayer, request, repeatable=True)).player

    async def set_display_name(self, name: str) -> identity_pb2.Player:
        """2 to 24 characters."""
        request = identity_pb2.SetDisplayNameRequest(display_name=name)
        return (await self._calls.call(self._identity.SetDisplayName, request)).player

    async def sign_out(self) -> None:
        """Ends the session and forgets it."""
        await self._calls.call(self._identity.SignOut, identity_pb2.SignOutRequest())
        if isinstance(self._tokens, GuestSession):
            self._tokens.forget()

    async def rulesets(self, preset: str = "") -> list[rules_pb2.Preset]:
        """Every preset, or one, with its options explained. Needs no session."""
        request = matchmaking_pb2.ListRulesetsRequest(preset=preset)
        method = self._matchmaking.ListRulesets
        return list((await self._calls.call(method, request, signed_in=False, repeatable=True)).presets)

    # Rooms.

    async def create_room(
        self,
        ruleset: str | rules_pb2.Ruleset,
        *,
        options: Mapping[str, PlainValue] | None = None,
        seats: int | None = None,
        settings: settings_pb2.RoomSettings | None = None,
    ) -> Room:
        """A new room with oneself as host on seat 0, not opened yet. `ruleset` is a preset's name, changed by
        `options`, or a ruleset as it is; `seats` overrides that of `settings`."""
        chosen = settings_pb2.RoomSettings()
        if settings is not None:
            chosen.CopyFrom(settings)
        if seats is not None:
            chosen.seats = seats
        request = matchmaking_pb2.CreateRoomRequest(
            ruleset=make_ruleset(ruleset, options) if isinstance(ruleset, str) else ruleset,
            settings=chosen,
            request_id=os.urandom(16),
        )
        answer = await self._calls.call(self._matchmaking.CreateRoom, request, repeatable=True)
        return self.room(answer.room_id)

    async def join_room(self, room_id: str = "", *, invite_code: str = "", seat: int | None = None) -> Room:
        """A seat in a room, by its id or invite code; the room is not opened yet. For one who has a seat in it, the
        room with that seat."""
        request = matchmaking_pb2.JoinRoomRequest(seat=seat)
        if invite_code:
            request.invite_code = invite_code
        else:
            request.room_id = room_id
        # Who is seated already is answered with that seat, so that joining twice is joining once.
        answer = await self._calls.call(self._matchmaking.JoinRoom, request, repeatable=True)
        return self.room(answer.room_id)

    async def quick_play(
        self,
        ruleset: str | rules_pb2.Ruleset,
        *,
        seats: int = 0,
        patience_seconds: float = 8.0,
        party_id: str = "",
        as_partners: bool = False,
        told: Told | None = None,
    ) -> Room:
        """A room with others who want the same, or with bots once `patience_seconds` (0 to 600) are over; not opened
        yet. A ready check runs in it; where somebody does not come, the room is closed and `follow_ticket` goes on.
        `seats` 0: as the ruleset likes best. `party_id`: with the party that one leads, in a game of partnerships
        `as_partners`. `told` hears of the ticket while it waits."""
        wanted = make_ruleset(ruleset) if isinstance(ruleset, str) else ruleset
        request = wish(wanted, seats, patience_seconds, party_id, as_partners=as_partners)
        return self.room((await find_match(self._calls, self._matchmaking, request, told)).room_id)

    async def follow_ticket(self, *, told: Told | None = None) -> Room:
        """The room of the ticket that one holds: by the leader of one's party, or since a match did not begin. Raises
        Refused with TICKET_NOT_FOUND."""
        return self.room((await follow_held(self._calls, self._matchmaking, told)).room_id)

    async def queues(self) -> list[matchmaking_pb2.Queue]:
        """What people wait for now, most people first."""
        request = matchmaking_pb2.ListQueuesRequest()
        return list((await self._calls.call(self._matchmaking.ListQueues, request, repeatable=True)).queues)

    def room(self, room_id: str, *, mode: Mode | None = None) -> Room:
        """A room by its id, not opened yet. `mode` overrides that of the client; `watch` for spectators."""
        room = Room(self._calls, self._authority, room_id, mode or self._mode)
        self._rooms = [known for known in self._rooms if not known.over]
        self._rooms.append(room)
        return room

    async def rooms(self, *, preset: str = "", joinable: bool = False) -> AsyncIterator[room_pb2.RoomSummary]:
        """The open public rooms, newest first."""
        request = matchmaking_pb2.ListRoomsRequest(preset=preset, joinable=joinable, page_size=_PAGE)
        while True:
            answer = await self._calls.call(self._matchmaking.ListRooms, request, repeatable=True)
            for room in answer.rooms:
                yield room
            if not answer.next_page_token:
                return
            request.page_token = answer.next_page_token

    async def my_rooms(self) -> AsyncIterator[room_pb2.RoomSummary]:
        """The rooms where one has a seat, newest first."""
        request = authority_pb2.ListMyRoomsRequest(page_size=_PAGE)
        while True:
            answer = await self._calls.call(self._authority.ListMyRooms, request, repeatable=True)
            for room in answer.rooms:
                yield room
            if not answer.next_page_token:
                return
            request.page_token = answer.next_page_token

    async def get_room(self, room_id: str) -> room_pb2.RoomView:
        """A room as it is now, without following it."""
        request = authority_pb2.GetRoomRequest(room_id=room_id)
        answer = await self._calls.call(self._authority.GetRoom, request, room_id=room_id, repeatable=True)
        return answer.snapshot.room

    async def replay(self, room_id: str, match_id: str = "") -> Replay:
        """The whole log of a match that ended, of the room's last one without an id. Raises Refused with MATCH_RUNNING,
        MATCH_NOT_FOUND (also for the moment until scoring has it) or ROOM_NOT_FOUND."""
        return await replays.fetch(self._calls, self._authority, room_id, match_id)

    async def send_chat(self, room_id: str, text: str) -> None:
        """1 to 300 characters to those in the room."""
        request = authority_pb2.SendChatRequest(room_id=room_id, text=text, request_id=os.urandom(16))
        await self._calls.call(self._authority.SendChat, request, room_id=room_id, repeatable=True)

    async def report_player(
        self, room_id: str, player_id: str, reason: authority_pb2.ReportReason.ValueType, text: str = ""
    ) -> str:
        """Tells the operator of another player's conduct in a room; the report's id. `text` has up to 300
        characters."""
        request = authority_pb2.ReportPlayerRequest(
            room_id=room_id, player_id=player_id, reason=reason, text=text, request_id=os.urandom(16)
        )
        answer = await self._calls.call(self._authority.ReportPlayer, request, room_id=room_id, repeatable=True)
        return answer.report_id


def connect(
    address: str | None = None,
    *,
    name: str = "",
    token: str | TokenSource | None = None,
    remember: bool | Path = False,
    tls: bool = False,
    mode: Mode = "play",
) -> Client:
    """A client for the server at `address` (default: see `address.find_place`), to be used with `async with`, inside
    the event loop that it will live in.

    Without `token` one signs in as a guest called `name` (2 to 24 characters; empty: the server chooses), with
    `remember` as the guest of last time, from the session file. `token` is a session token, or an async function that
    returns a fresh one. `mode` is how rooms are followed: `play`, or `unary` for `Act` and `Watch`."""
    asyncio.get_running_loop()  # a connection belongs to one event loop; without one this says so
    place = place_of(address) if address else find_place()
    channels = Channels(place, tls=tls or place.tls)
    tokens = _tokens(place.address, channels.to(_IDENTITY), name, token, remember)
    return Client(place.address, channels, tokens, mode)


def _tokens(
    address: str, channel: grpc.aio.Channel, name: str, token: str | TokenSource | None, remember: bool | Path
) -> Tokens:
    if isinstance(token, str):
        return GivenToken(token)
    if token is not None:
        return ProvidedTokens(token)
    if not remember:  # nor ask where: a process without a home has no place for it
        return GuestSession(channel, name, None)
    return GuestSession(channel, name, SessionFile(remember if isinstance(remember, Path) else default_path(), address))
