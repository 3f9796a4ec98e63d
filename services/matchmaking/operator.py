"""`maumau.internal.v1.OperatorService`, as far as players are concerned. On the internal port, for the operator."""

from __future__ import annotations

from typing import Final

from maumau.internal.v1 import operator_pb2 as pb

from services.runtime.calls import Context
from services.runtime.logs import bind, log
from services.runtime.revocations import Revocations
from services.store.keys import PlayerId
from services.wire import validate
from services.wire.errors import invalid_field

LONGEST_BAN_SECONDS: Final = 100 * 366 * 24 * 3_600


class OperatorService:
    """Bans."""

    def __init__(self, revocations: Revocations) -> None:
        self._revocations = revocations

    async def BanPlayer(self, request: pb.BanPlayerRequest, context: Context) -> pb.BanPlayerResponse:  # noqa: N802
        """Keeps a player away from the whole server, known here or not; streams end within 2 s. Raises Refusal
        (INVALID_FIELD)."""
        player = PlayerId(validate.player_id(request.player_id))
        if not 0 <= request.seconds <= LONGEST_BAN_SECONDS:
            raise invalid_field("seconds", request.seconds, f"0 to {LONGEST_BAN_SECONDS}")
        bind(player=player)
        await self._revocations.ban(player, request.seconds)
        log.info("ban", seconds=request.seconds, why=request.why[:200])
        return pb.BanPlayerResponse()
