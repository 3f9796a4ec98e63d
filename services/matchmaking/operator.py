"""`maumau.internal.v1.OperatorService`, as far as players are concerned. On the internal port, for the operator."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from maumau.internal.v1 import operator_pb2 as pb

from services.matchmaking.belongings import Belongings
from services.runtime.calls import Context
from services.runtime.operators import audit
from services.runtime.paging import PageTokens, page_size
from services.runtime.revocations import Revocations
from services.store.keys import PlayerId
from services.store.sanctions import READ_AT_ONCE, Place, place
from services.wire import validate
from services.wire.errors import invalid_field
from services.wire.sanctions import sanction_message

LONGEST_BAN_SECONDS: Final = 100 * 366 * 24 * 3_600

_PAGES: Final = PageTokens("bans", Place)


class OperatorService:
    """Bans, and what is kept of a player."""

    def __init__(self, revocations: Revocations, belongings: Belongings) -> None:
        self._revocations = revocations
        self._belongings = belongings

    async def ExportPlayer(  # noqa: N802
        self, request: pb.ExportPlayerRequest, context: Context
    ) -> AsyncIterator[pb.ExportPlayerResponse]:
        """Raises Refusal: INVALID_FIELD."""
        player = PlayerId(validate.player_id(request.player_id))
        audit("export player", player=player)
        async for part in self._belongings.export(player):
            yield part

    async def DeletePlayer(self, request: pb.DeletePlayerRequest, context: Context) -> pb.DeletePlayerResponse:  # noqa: N802
        """Raises Refusal: INVALID_FIELD."""
        player = PlayerId(validate.player_id(request.player_id))
        parts = await self._belongings.forget(player)
        audit("delete player", player=player, parts=", ".join(parts))
        return pb.DeletePlayerResponse(parts=parts)

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
        """Raises Refusal (INVALID_FIELD, BAD_PAGE_TOKEN)."""
        size = page_size(request.page_size, default=READ_AT_ONCE, most=READ_AT_ONCE)
        found = await self._revocations.bans.listed(_PAGES.read(request.page_token), size)
        more = _PAGES.write(place(found[-1])) if len(found) == size else ""
        return pb.ListBansResponse(bans=[sanction_message(*each) for each in found], next_page_token=more)
