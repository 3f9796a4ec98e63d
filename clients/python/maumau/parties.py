"""Friends to queue with, and players that one never wants to meet."""

from __future__ import annotations

from typing import Final

from maumau.calls import Calls
from maumau.v1 import matchmaking_pb2, matchmaking_pb2_grpc

_PAGE: Final = 100


class Parties:
    """A player is in one party at most. Its leader asks for a match, and all of it get seats in one room."""

    def __init__(self, calls: Calls, stub: matchmaking_pb2_grpc.MatchmakingServiceStub) -> None:
        self._calls = calls
        self._stub = stub

    async def create(self) -> matchmaking_pb2.Party:
        """A party with oneself as leader; its `code` is for friends."""
        request = matchmaking_pb2.CreatePartyRequest()
        # Who leads a party alone keeps it, so that a repeat makes no other.
        return (await self._calls.call(self._stub.CreateParty, request, repeatable=True)).party

    async def join(self, code: str) -> matchmaking_pb2.Party:
        """The party of a friend. Raises Refused with PARTY_NOT_FOUND or PARTY_FULL."""
        request = matchmaking_pb2.JoinPartyRequest(code=code)
        return (await self._calls.call(self._stub.JoinParty, request, repeatable=True)).party

    async def current(self) -> matchmaking_pb2.Party:
        """The party that one is in, with the ticket that it waits with. Raises Refused with PARTY_NOT_FOUND."""
        request = matchmaking_pb2.GetPartyRequest()
        return (await self._calls.call(self._stub.GetParty, request, repeatable=True)).party

    async def leave(self, party_id: str) -> None:
        await self._calls.call(self._stub.LeaveParty, matchmaking_pb2.LeavePartyRequest(party_id=party_id))


class Blocks:
    """Whoever is blocked is never matched with one, from the next ticket on."""

    def __init__(self, calls: Calls, stub: matchmaking_pb2_grpc.MatchmakingServiceStub) -> None:
        self._calls = calls
        self._stub = stub

    async def add(self, player_id: str) -> None:
        """Raises Refused with PLAYER_NOT_FOUND or TOO_MANY_BLOCKED."""
        request = matchmaking_pb2.BlockPlayerRequest(player_id=player_id)
        await self._calls.call(self._stub.BlockPlayer, request, repeatable=True)

    async def remove(self, player_id: str) -> None:
        request = matchmaking_pb2.UnblockPlayerRequest(player_id=player_id)
        await self._calls.call(self._stub.UnblockPlayer, request, repeatable=True)

    async def all(self) -> list[str]:
        """Ids of the blocked, the latest first."""
        request, found = matchmaking_pb2.ListBlockedPlayersRequest(page_size=_PAGE), list[str]()
        while True:
            answer = await self._calls.call(self._stub.ListBlockedPlayers, request, repeatable=True)
            found += answer.player_ids
            if not answer.next_page_token:
                return found
            request.page_token = answer.next_page_token
