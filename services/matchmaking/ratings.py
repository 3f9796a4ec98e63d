"""How strong players are, asked of scoring. Matchmaking does not stand still because scoring is away."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Final

import grpc
from maumau.internal.v1 import ratings_pb2 as pb
from maumau.internal.v1.ratings_pb2_grpc import RatingLookupServiceStub

from services.runtime.channels import internal_channel
from services.runtime.logs import log
from services.runtime.settings import Settings

LIMIT_SECONDS: Final = 0.5
REST_SECONDS: Final = 5.0
"""After a failure scoring is not asked for this long."""


class RatingLookup:
    """Ratings by player; who is missing has none that is known."""

    def __init__(self, settings: Settings) -> None:
        self._channel: Final = internal_channel(settings, settings.scoring_target)
        self._stub = RatingLookupServiceStub(self._channel)
        self._asks_again = 0.0

    async def ratings(self, family: str, players: Sequence[str]) -> Mapping[str, float]:
        """The mu of those players that scoring knows in a family; nobody's while scoring is away."""
        if time.monotonic() < self._asks_again:
            return {}
        request = pb.LookUpRatingsRequest(family=family, player_ids=players)
        try:
            answer = await self._stub.LookUpRatings(request, timeout=LIMIT_SECONDS)
        except grpc.aio.AioRpcError as error:
            self._asks_again = time.monotonic() + REST_SECONDS
            log.warning("tickets are opened without ratings", code=error.code().name)
            return {}
        return {rating.player_id: rating.mu for rating in answer.ratings}

    async def aclose(self) -> None:
        await self._channel.close()
