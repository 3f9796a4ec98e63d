"""What has to be known of players before they are matched."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Protocol

from services.matchmaking.matching.waiting import DEFAULT_RATING
from services.matchmaking.wishes import About
from services.store.encounters import EncounterStore
from services.store.parties import BlockStore
from services.store.tickets import Member


class Ratings(Protocol):
    """Who knows how strong players are."""

    async def ratings(self, family: str, players: Sequence[str]) -> Mapping[str, float]: ...


class Newcomers:
    """Looked up once, when a ticket is opened."""

    def __init__(self, ratings: Ratings, blocks: BlockStore, encounters: EncounterStore) -> None:
        self._ratings = ratings
        self._blocks = blocks
        self._encounters = encounters

    async def about(self, game: str, players: Sequence[Member]) -> About:
        """Of those who open a ticket together; what they think of each other does not count."""
        ids = [member.player for member in players]
        ratings, blocked, lately = await asyncio.gather(
            self._ratings.ratings(game, ids),
            asyncio.gather(*(self._blocks.blocked(player) for player in ids)),
            asyncio.gather(*(self._encounters.lately(player) for player in ids)),
        )
        return About(
            ratings=tuple(ratings.get(player, DEFAULT_RATING) for player in ids),
            blocked=tuple(sorted({block.player for blocks in blocked for block in blocks} - set(ids))),
            met=tuple(sorted({player for past in lately for player in past.players} - set(ids))),
            rooms=tuple(sorted({room for past in lately for room in past.rooms})),
        )
