"""Parties of players who queue together, and whom players have blocked."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Final, NamedTuple
from urllib.parse import quote, unquote

from services.store import scripts
from services.store.batcher import Pipelines
from services.store.keys import PARTY_MS, PlayerId
from services.store.players import DAY_MS
from services.store.tickets import Member


class Joining(IntEnum):
    """What came of joining."""

    NO_PARTY = 0
    JOINED = 1
    FULL = 2


class Joined(NamedTuple):
    """What came of it, and the other party that the player was in until then and has to leave; empty for none."""

    joining: Joining
    before: str


class PartyStore:
    """A party lives as long as somebody is in it and uses it. A player is in one."""

    def __init__(self, pipelines: Pipelines, most: int) -> None:
        self._keys = pipelines.keys
        self._reads = pipelines.reads
        self._writes = pipelines.writes
        self._most = most

    async def make(self, party: str, code_hash: str, leader: Member) -> Joined:
        """A party with its leader alone, and its code."""
        await self._writes.command("SET", self._keys.party_code(code_hash), party, "PX", PARTY_MS)
        return await self._join(party, leader, is_new=True)

    async def join(self, party: str, member: Member) -> Joined:
        """Put a player into a party; who is in it stays."""
        return await self._join(party, member, is_new=False)

    async def _join(self, party: str, member: Member, *, is_new: bool) -> Joined:
        keys = (self._keys.party(party), self._keys.party_of(member.player))
        args = (party, quote(member.player), member.name, self._most, PARTY_MS, int(is_new))
        joining, before = await self._writes.script(scripts.JOIN_PARTY, keys, args)
        return Joined(Joining(joining), "" if before.decode() == party else before.decode())

    async def leave(self, party: str, player: PlayerId) -> bool:
        """Take a player out; false for one who was not in it."""
        keys = (self._keys.party(party), self._keys.party_of(player))
        return bool(await self._writes.script(scripts.LEAVE_PARTY, keys, (party, quote(player))))

    async def by_code(self, code_hash: str) -> str | None:
        """The party whose code has this hash; it may be over."""
        party = await self._reads.command("GET", self._keys.party_code(code_hash))
        return None if party is None else party.decode()

    async def of(self, player: PlayerId) -> str | None:
        """The party that a player is in."""
        party = await self._reads.command("GET", self._keys.party_of(player))
        return None if party is None else party.decode()

    async def members(self, party: str) -> list[Member]:
        """Who is in it, the leader first; nobody if there is no such party."""
        found = await self._reads.command("LRANGE", self._keys.party(party), 0, -1)
        split = (member.decode().partition("\n") for member in found)
        return [Member(PlayerId(unquote(player)), name) for player, _, name in split]

    async def renew(self, party: str, members: Sequence[Member], code_hash: str) -> None:
        """Let a party that is used live on."""
        for key in (self._keys.party(party), self._keys.party_code(code_hash)):
            await self._writes.command("PEXPIRE", key, PARTY_MS)
        for member in members:
            await self._writes.command("PEXPIRE", self._keys.party_of(member.player), PARTY_MS)


class Block(NamedTuple):
    """Whom somebody blocked, and when."""

    at_ms: int
    player: PlayerId


class BlockStore:
    """Blocks are forgotten with the player: after `guest_days` without a ticket or a change."""

    def __init__(self, pipelines: Pipelines, guest_days: int, most: int) -> None:
        self._keys = pipelines.keys
        self._reads = pipelines.reads
        self._writes = pipelines.writes
        self._lifetime_ms: Final = guest_days * DAY_MS
        self._most = most

    async def block(self, player: PlayerId, other: PlayerId) -> bool:
        """Note it; false, and nothing has changed, if the list is full."""
        args = (other, self._most, self._lifetime_ms)
        return bool(await self._writes.script(scripts.BLOCK, (self._keys.blocked(player),), args))

    async def unblock(self, player: PlayerId, other: PlayerId) -> None:
        """Take it back."""
        await self._writes.command("ZREM", self._keys.blocked(player), other)

    async def forget(self, player: PlayerId) -> bool:
        """Drop the whole list; false if there was none."""
        return bool(await self._writes.command("DEL", self._keys.blocked(player)))

    async def blocked(self, player: PlayerId) -> list[Block]:
        """The latest first. Keeps the list."""
        key = self._keys.blocked(player)
        reply = await self._reads.command("ZRANGE", key, 0, -1, "REV", "WITHSCORES")
        if reply:
            await self._writes.command("PEXPIRE", key, self._lifetime_ms)
        return [Block(int(at), PlayerId(other.decode())) for other, at in zip(reply[::2], reply[1::2], strict=True)]
