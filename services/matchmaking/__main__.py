"""`python -m services.matchmaking`: one matchmaking process, which also signs people in."""

from __future__ import annotations

import time

from maumau.internal.v1.operator_pb2_grpc import add_OperatorServiceServicer_to_server
from maumau.v1.identity_pb2_grpc import add_IdentityServiceServicer_to_server
from maumau.v1.matchmaking_pb2_grpc import add_MatchmakingServiceServicer_to_server

from services.matchmaking.authority import RoomControl
from services.matchmaking.directory import Directory
from services.matchmaking.handlers import MatchmakingService
from services.matchmaking.identity import IdentityService
from services.matchmaking.operator import OperatorService
from services.matchmaking.quick_play import QuickPlay
from services.matchmaking.rooms import RoomDesk
from services.matchmaking.tickets import TicketDesk
from services.runtime.invites import Invites
from services.runtime.lifecycle import Runtime, run_service
from services.runtime.routes import MATCHMAKING
from services.runtime.store_metrics import measure_store
from services.runtime.stores import can_write, open_store
from services.runtime.tokens import TokenSigner
from services.runtime.trust import Trust
from services.runtime.unoffered import offer
from services.store.assembly import Store
from services.store.players import InviteIndex, PlayerStore
from services.store.tickets import TicketStore


class Matchmaking:
    """What the process asks of its service. No call outlives its deadline, so there is nothing to drain."""

    def __init__(self, store: Store, control: RoomControl) -> None:
        self._store = store
        self._control = control

    async def ready(self) -> bool:
        return await can_write(self._store)

    async def drain(self) -> None:
        return None

    async def close(self) -> None:
        await self._control.aclose()
        await self._store.aclose()


async def bind(runtime: Runtime) -> Matchmaking:
    """Opens the store and the way to the authority, and puts the services on the public port."""
    settings = runtime.settings
    store, control = open_store(settings), RoomControl(settings)
    trust = Trust(runtime, store.pipelines)
    players = PlayerStore(store.pipelines, settings.guest_days)
    index, invites = InviteIndex(store.pipelines), Invites(settings)
    alive_ms, lease_ms = round(settings.ticket_seconds * 1000), round(settings.claim_seconds * 1000)
    tickets = TicketStore(store.pipelines, alive_ms, lease_ms)
    quick_play = QuickPlay(tickets, control, index, invites, alive_ms)
    patience_ms = round(settings.quick_play_bots_seconds * 1000)
    counter = TicketDesk(
        *(tickets, store.rooms, control, invites, patience_ms, quick_play.soon, runtime.stopping),
        trust.authenticator.check,
    )
    desk = RoomDesk(control, players, index, invites, trust.limits.code_lookup)
    service = IdentityService(players, TokenSigner(settings), trust.revocations, settings)
    identity = offer("maumau.v1.IdentityService", service)
    runtime.public.add(add_IdentityServiceServicer_to_server, identity)
    operator = offer("maumau.internal.v1.OperatorService", OperatorService(trust.revocations))
    runtime.internal.add(add_OperatorServiceServicer_to_server, operator)
    matchmaking = MatchmakingService(desk, counter, Directory(store.rooms), settings.max_message_bytes, _now_ms)
    runtime.public.add(add_MatchmakingServiceServicer_to_server, offer("maumau.v1.MatchmakingService", matchmaking))
    runtime.spawn(quick_play.run(), "quick play")
    runtime.spawn(measure_store(store), "store metrics")
    return Matchmaking(store, control)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


if __name__ == "__main__":
    run_service(MATCHMAKING, bind)
