"""`maumau.internal.v1.OperatorService`, as far as players are concerned. On the internal port, for the operator."""

from __future__ import annotations

from typing import Final

from maumau.internal.v1 import operator_pb2 as pb

from services.runtime.calls import Context
from services.runtime.operators import audit
from services.runtime.revocations import Revocations
from services.store.keys import PlayerId
from services.wire import validate
from services.wire.errors import invalid_field
from services.wire.sanctions import sanction_message

LONGEST_BAN_SECONDS: Final = 100 * 366 * 24 * 3_600


class OperatorService:
    """Bans."""

    def __init__(self, revocations: Revocations) -> None:
        self._revocations = revocations

    async def BanPlayer(self, request: pb.BanPlayerRequest, context: Context) -> pb.BanPlayerResponse:  # noqa: N802
        """Keeps a player away from the whole server, known here or not; streams end within 2 s. Raises Refusal
        (INVALID_FIELD)."""
        player, why = PlayerId(validate.player_id(request.player_id)), validate.operator_reason(request.why)
        if not 0 <= request.seconds <= LONGEST_BAN_SECONDS:
            raise invalid_field("seconds", request.seconds, f"0 to {LONGEST_BAN_SECONDS}")
        await self._revocations.ban(player, request.seconds, why)
        audit("ban" if request.seconds else "unban", why=why, player=player, seconds=request.seconds)
        return pb.BanPlayerResponse()

    async def ListBans(self, request: pb.ListBansRequest, context: Context) -> pb.ListBansResponse:  # noqa: N802
        return pb.ListBansResponse(bans=[sanction_message(*each) for each in await self._revocations.bans()])
