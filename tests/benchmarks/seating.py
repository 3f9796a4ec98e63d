"""Gets four guests a room onto their seats, over one channel, before anything is measured."""

from __future__ import annotations

import os
from typing import Any, Final, NamedTuple

import grpc
from maumau.v1 import (
    identity_pb2,
    identity_pb2_grpc,
    matchmaking_pb2,
    matchmaking_pb2_grpc,
    rules_pb2,
    settings_pb2,
)

SEATS: Final = 4
PRESET: Final = "mau-mau-32"
CALL_SECONDS: Final = 60.0
UNHURRIED: Final = settings_pb2.RoomSettings(seats=SEATS, turn_seconds=300, bank_seconds=600)
"""So that no clock acts for anybody while the machine is busy."""


class Guests(NamedTuple):
    """A room and the session tokens of its players, by seat."""

    room: str
    tokens: list[str]


class Seating:
    """Signs in and seats; `address` serves identity and matchmaking."""

    def __init__(self, address: str) -> None:
        channel = grpc.aio.insecure_channel(address)
        self._identity = identity_pb2_grpc.IdentityServiceStub(channel)
        self._matchmaking = matchmaking_pb2_grpc.MatchmakingServiceStub(channel)

    async def seat_four(self) -> Guests:
        """A new room, full, with nobody ready."""
        tokens = [await self._sign_in(number) for number in range(SEATS)]
        create = matchmaking_pb2.CreateRoomRequest(
            ruleset=rules_pb2.Ruleset(preset=PRESET), settings=UNHURRIED, request_id=os.urandom(16)
        )
        made = await self._matchmaking.CreateRoom(create, metadata=_session(tokens[0]), timeout=CALL_SECONDS)
        for token in tokens[1:]:
            join = matchmaking_pb2.JoinRoomRequest(invite_code=made.invite_code)
            await self._matchmaking.JoinRoom(join, metadata=_session(token), timeout=CALL_SECONDS)
        return Guests(made.room_id, tokens)

    async def _sign_in(self, number: int) -> str:
        request = identity_pb2.SignInAsGuestRequest(display_name=f"Guest {number}")
        answer = await self._identity.SignInAsGuest(request, timeout=CALL_SECONDS)
        return answer.session.token


def _session(token: str) -> Any:
    return (("authorization", f"Bearer {token}"),)
