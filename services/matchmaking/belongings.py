"""What matchmaking keeps of one player: told when the player asks for it, and forgotten when the player wants that."""

from __future__ import annotations

from collections.abc import AsyncIterator

from maumau.internal.v1 import operator_pb2 as pb
from maumau.v1 import identity_pb2

from services.matchmaking.wishes import ticket_message
from services.runtime.revocations import Revocations
from services.store.keys import PlayerId
from services.store.parties import BlockStore, PartyStore
from services.store.players import PlayerStore
from services.store.tickets import TicketStore
from services.wire.sanctions import sanction_message


class Belongings:
    """See the module. Methods raise `StoreUnavailable`."""

    def __init__(
        self,
        players: PlayerStore,
        tickets: TicketStore,
        parties: PartyStore,
        blocks: BlockStore,
        revocations: Revocations,
    ) -> None:
        self._players = players
        self._tickets = tickets
        self._parties = parties
        self._blocks = blocks
        self._revocations = revocations

    async def export(self, player: PlayerId) -> AsyncIterator[pb.ExportPlayerResponse]:
        """Part by part; nothing for an unknown player."""
        if (profile := await self._players.profile(player)) is not None:
            told = identity_pb2.Player(player_id=player, display_name=profile.name, guest=profile.guest)
            yield pb.ExportPlayerResponse(profile=told)
        for session in await self._players.sessions(player):
            yield pb.ExportPlayerResponse(session_id=session)
        if (ticket := await self._tickets.held(player)) is not None:
            yield pb.ExportPlayerResponse(ticket=ticket_message(ticket))
        if (party := await self._parties.of(player)) is not None:
            yield pb.ExportPlayerResponse(party_id=party)
        for block in await self._blocks.blocked(player):
            yield pb.ExportPlayerResponse(blocked_player_id=block.player)
        if (ban := await self._revocations.bans.of(player)) is not None:
            yield pb.ExportPlayerResponse(ban=sanction_message(*ban))

    async def forget(self, player: PlayerId) -> list[str]:
        """Ends and drops what there is, sessions first; a word for each kind. A ban stays until its end."""
        found = []
        sessions = await self._players.sessions(player)
        for session in sessions:
            await self._revocations.end(player, session)
        if (ticket := await self._tickets.held(player)) is not None:
            await self._tickets.cancel(ticket)
            found.append("ticket")
        if (party := await self._parties.of(player)) is not None and await self._parties.leave(party, player):
            found.append("party")
        if await self._blocks.forget(player):
            found.append("blocks")
        if await self._players.forget(player, sessions):
            found.append("profile")
        return [*found, "session"] if sessions else found
