"""Players who queue together, and those that a player never wants to meet."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from typing import Final

from maumau.v1 import matchmaking_pb2 as pb

from services.matchmaking.wishes import wish_of
from services.runtime.invites import Invites, normal_code
from services.runtime.paging import PageTokens, page_size
from services.runtime.tokens import Session
from services.store.keys import PlayerId
from services.store.parties import Block, BlockStore, Joining, PartyStore
from services.store.players import PlayerStore
from services.store.tickets import Member, Ticket, TicketState, TicketStore
from services.wire import validate
from services.wire.errors import invalid_field, refusal

LONGEST_PARTY_ID: Final = 64


class PartyDesk:
    """Where parties are made and joined. `code_lookup` is awaited before each look at a code and refuses who tries too
    many."""

    def __init__(
        self,
        parties: PartyStore,
        tickets: TicketStore,
        invites: Invites,
        most: int,
        code_lookup: Callable[[], Awaitable[None]],
    ) -> None:
        self._parties = parties
        self._tickets = tickets
        self._invites = invites
        self._most = most
        self._code_lookup = code_lookup

    async def create(self, leader: Member) -> pb.Party:
        """A party of the caller alone, who leaves the one before."""
        before = await self._parties.of(leader.player)
        if before is not None and [m.player for m in await self._parties.members(before)] == [leader.player]:
            return await self._message(before, leader.player)
        party = f"p_{secrets.token_hex(12)}"
        made = await self._parties.make(party, self._code_hash(party), leader)
        await self._leave_before(made.before, leader.player)
        return await self._message(party, leader.player)

    async def join(self, code: str, member: Member) -> pb.Party:
        """The party of this code. Raises Refusal (PARTY_NOT_FOUND, PARTY_FULL, RATE_LIMITED)."""
        await self._code_lookup()
        normal = normal_code(code)
        party = None if normal is None else await self._parties.by_code(self._invites.code_hash(normal))
        if party is None or normal != self._invites.party_code(party):
            raise refusal("PARTY_NOT_FOUND")
        if await self._parties.of(member.player) == party:
            return await self._message(party, member.player)
        match await self._parties.join(party, member):
            case (Joining.NO_PARTY, _):
                raise refusal("PARTY_NOT_FOUND")
            case (Joining.FULL, _):
                raise refusal("PARTY_FULL", limit=self._most)
            case (_, before):
                await self._leave_before(before, member.player)
                await self._take_ticket_back(member.player)
                members = await self._parties.members(party)
                await self._take_tickets_back(party, members)
                await self._parties.renew(party, members, self._code_hash(party))
                return await self._message(party, member.player)

    async def get(self, player: PlayerId) -> pb.Party:
        """The party that the caller is in. Raises Refusal (PARTY_NOT_FOUND)."""
        return await self._message(await self._parties.of(player), player)

    async def leave(self, party: str, player: PlayerId) -> None:
        """Takes the caller out. Raises Refusal (PARTY_NOT_FOUND)."""
        party = party[:LONGEST_PARTY_ID]
        members = await self._parties.members(party)
        if not await self._parties.leave(party, player):
            raise refusal("PARTY_NOT_FOUND")
        await self._take_tickets_back(party, members)

    async def who_ask(self, party: str, caller: Member) -> tuple[Member, ...]:
        """Those for whom the caller opens a ticket: the party, its leader first, or the caller alone. Raises Refusal
        (PARTY_NOT_FOUND, NOT_PARTY_LEADER)."""
        if not party:
            return (caller,)
        members = await self._parties.members(party[:LONGEST_PARTY_ID])
        if caller.player not in [member.player for member in members]:
            raise refusal("PARTY_NOT_FOUND")
        if members[0].player != caller.player:
            raise refusal("NOT_PARTY_LEADER")
        await self._parties.renew(party, members, self._code_hash(party))
        return tuple(members)

    async def _leave_before(self, party: str, player: PlayerId) -> None:
        if party:
            members = await self._parties.members(party)
            await self._parties.leave(party, player)
            await self._take_tickets_back(party, members)

    async def _take_tickets_back(self, party: str, members: list[Member]) -> None:
        """Ends what a party waits for: it would not be for all of them."""
        for member in members:
            await self._take_ticket_back(member.player, party)

    async def _take_ticket_back(self, player: PlayerId, party: str = "") -> None:
        held = await self._tickets.held(player)
        if held is not None and (not party or wish_of(held).party == party):
            await self._tickets.cancel(held)

    async def _message(self, party: str | None, player: PlayerId) -> pb.Party:
        members = [] if party is None else await self._parties.members(party)
        if party is None or player not in [member.player for member in members]:
            raise refusal("PARTY_NOT_FOUND")
        held = await self._tickets.held(player)
        return pb.Party(
            party_id=party,
            player_ids=[member.player for member in members],
            code=self._invites.party_code(party),
            ticket_id=held.id if held is not None and _is_for(party, held) else "",
        )

    def _code_hash(self, party: str) -> str:
        return self._invites.code_hash(self._invites.party_code(party))


def _is_for(party: str, ticket: Ticket) -> bool:
    gone = (TicketState.CANCELLED, TicketState.EXPIRED, TicketState.REPLACED)
    return wish_of(ticket).party == party and ticket.state not in gone


class BlockDesk:
    """Where players say whom they never want to meet. `guests_only`: everybody has a profile here."""

    def __init__(self, blocks: BlockStore, players: PlayerStore, most: int, *, guests_only: bool) -> None:
        self._blocks = blocks
        self._players = players
        self._most = most
        self._guests_only = guests_only
        self._tokens = PageTokens("blocked", Block)

    async def block(self, asked: str, caller: Session) -> None:
        """Raises Refusal (INVALID_FIELD, PLAYER_NOT_FOUND, TOO_MANY_BLOCKED)."""
        other = PlayerId(validate.player_id(asked))
        if other == caller.player_id:
            raise invalid_field("player_id", asked, "another player")
        if self._guests_only and await self._players.profile(other) is None:
            raise refusal("PLAYER_NOT_FOUND")
        if not await self._blocks.block(PlayerId(caller.player_id), other):
            raise refusal("TOO_MANY_BLOCKED", limit=self._most)

    async def unblock(self, asked: str, caller: Session) -> None:
        """Raises Refusal (INVALID_FIELD)."""
        await self._blocks.unblock(PlayerId(caller.player_id), PlayerId(validate.player_id(asked)))

    async def page(self, request: pb.ListBlockedPlayersRequest, caller: Session) -> pb.ListBlockedPlayersResponse:
        """Raises Refusal (INVALID_FIELD, BAD_PAGE_TOKEN)."""
        limit, after = page_size(request.page_size), self._tokens.read(request.page_token)
        found = [
            block for block in await self._blocks.blocked(PlayerId(caller.player_id)) if not after or block < after
        ]
        more = self._tokens.write(found[limit - 1]) if len(found) > limit else ""
        players = [block.player for block in found[:limit]]
        return pb.ListBlockedPlayersResponse(player_ids=players, next_page_token=more)
