"""`maumau.internal.v1.RatingLookupService`: how strong players are, for matchmaking."""

from __future__ import annotations

from typing import Final

from maumau.internal.v1 import ratings_pb2 as pb

from services.runtime.calls import Context
from services.scoring.desk import Desk
from services.scoring.standings import read_standing
from services.store.keys import PlayerId
from services.wire import validate
from services.wire.errors import invalid_field

MOST_PLAYERS: Final = 16


class RatingLookupService:
    """Ratings of several players at once."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def LookUpRatings(self, request: pb.LookUpRatingsRequest, context: Context) -> pb.LookUpRatingsResponse:  # noqa: N802
        """Ratings in a family; who is not known there is left out. Raises Refusal: UNKNOWN_FAMILY, INVALID_FIELD."""
        family = self._desk.family(request.family)
        if not 1 <= len(request.player_ids) <= MOST_PLAYERS:
            raise invalid_field("player_ids", f"{len(request.player_ids)} entries", f"1 to {MOST_PLAYERS}")
        players = [PlayerId(validate.player_id(player, "player_ids")) for player in request.player_ids]
        present = await self._desk.store.look(family, players)
        ratings = [
            pb.PlayerRating(player_id=player, mu=standing.mu, sigma=standing.sigma)
            for player, known in zip(players, present.known, strict=True)
            if known is not None
            for standing in [read_standing(known.standing)]
        ]
        return pb.LookUpRatingsResponse(ratings=ratings)
