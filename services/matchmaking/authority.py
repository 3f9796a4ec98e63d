"""The game authority as matchmaking sees it: rooms and seats, asked for over its internal port."""

from __future__ import annotations

from typing import Final

import grpc
from maumau.internal.v1 import room_control_pb2 as pb
from maumau.internal.v1.room_control_pb2_grpc import RoomControlServiceStub

from services.runtime.channels import internal_channel, passed_on
from services.runtime.routes import GAME_AUTHORITY
from services.runtime.settings import Settings


class RoomControl:
    """Every call may be repeated: the authority lets it take effect once. A call that fails raises what the caller
    shall get: the authority's own refusal, SERVICE_UNAVAILABLE or OUTCOME_UNKNOWN."""

    def __init__(self, settings: Settings) -> None:
        self._channel: Final = internal_channel(settings, settings.game_authority_target)
        self._stub = RoomControlServiceStub(self._channel)
        self._limit_seconds = settings.internal_call_seconds

    async def create_room(self, request: pb.CreateRoomRequest) -> pb.CreateRoomResponse:
        try:
            return await self._stub.CreateRoom(request, timeout=self._limit_seconds)
        except grpc.aio.AioRpcError as error:
            raise passed_on(error, GAME_AUTHORITY) from error

    async def seat_player(self, request: pb.SeatPlayerRequest) -> pb.SeatPlayerResponse:
        try:
            return await self._stub.SeatPlayer(request, timeout=self._limit_seconds)
        except grpc.aio.AioRpcError as error:
            raise passed_on(error, GAME_AUTHORITY) from error

    async def room_summary(self, room_id: str) -> pb.GetRoomSummaryResponse:
        request = pb.GetRoomSummaryRequest(room_id=room_id)
        try:
            return await self._stub.GetRoomSummary(request, timeout=self._limit_seconds)
        except grpc.aio.AioRpcError as error:
            raise passed_on(error, GAME_AUTHORITY) from error

    async def close_room(self, room_id: str, why: str) -> None:
        request = pb.CloseRoomRequest(room_id=room_id, why=why)
        try:
            await self._stub.CloseRoom(request, timeout=self._limit_seconds)
        except grpc.aio.AioRpcError as error:
            raise passed_on(error, GAME_AUTHORITY) from error

    async def aclose(self) -> None:
        await self._channel.close()
